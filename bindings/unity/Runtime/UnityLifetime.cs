#if UNITY_5_3_OR_NEWER
using UnityEngine;

namespace OpenAppleModels
{
    /// <summary>
    /// Ends all bridges when the game stops and, in the editor, before its code is loaded anew: a library that calls into code that is
    /// gone takes the editor down.
    /// </summary>
    internal static class UnityLifetime
    {
        /// <summary>Runs at each start of the game, also where the editor keeps the domain between two of them.</summary>
        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.SubsystemRegistration)]
        private static void WatchGame()
        {
            Application.quitting -= OpenBridges.DisposeAll;
            Application.quitting += OpenBridges.DisposeAll;
        }

#if UNITY_EDITOR
        [UnityEditor.InitializeOnLoadMethod]
        private static void WatchEditor()
        {
            UnityEditor.AssemblyReloadEvents.beforeAssemblyReload += OpenBridges.DisposeAll;
            UnityEditor.EditorApplication.quitting += OpenBridges.DisposeAll;
        }
#endif
    }
}
#endif
