using System;

namespace UnityEditor
{
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class InitializeOnLoadMethodAttribute : Attribute
    {
    }

    public static class AssemblyReloadEvents
    {
        public delegate void AssemblyReloadCallback();

        public static event AssemblyReloadCallback beforeAssemblyReload;

        /// <summary>Raises the event, as the editor does before it loads code anew.</summary>
        public static void Reload() => beforeAssemblyReload?.Invoke();
    }

    public static class EditorApplication
    {
        public static event Action quitting;

        /// <summary>Raises the event, as the editor does when it is closed.</summary>
        public static void Quit() => quitting?.Invoke();
    }
}
