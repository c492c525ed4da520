using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading;

namespace UnityEngine
{
    /// <summary>What of Unity's player the package needs: objects with messages, frames, and a main thread that tasks return to.</summary>
    public static class Engine
    {
        private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
        private static readonly List<MonoBehaviour> Behaviours = new List<MonoBehaviour>();
        private static readonly HashSet<MonoBehaviour> Started = new HashSet<MonoBehaviour>();
        private static readonly List<IEnumerator> Coroutines = new List<IEnumerator>();
        private static readonly MainThread Context = new MainThread();

        /// <summary>Everything that was logged as an error or a warning, and exceptions.</summary>
        public static readonly ConcurrentQueue<string> Logged = new ConcurrentQueue<string>();

        /// <summary>Runs what the assemblies want to run when the editor has loaded them.</summary>
        public static void LoadEditor(Assembly assembly) => RunMarked(assembly, typeof(UnityEditor.InitializeOnLoadMethodAttribute));

        /// <summary>Begins to play; this becomes the main thread.</summary>
        public static void Play(params Assembly[] assemblies)
        {
            SynchronizationContext.SetSynchronizationContext(Context);
            Application.isPlaying = true;
            foreach (Assembly assembly in assemblies)
            {
                RunMarked(assembly, typeof(RuntimeInitializeOnLoadMethodAttribute));
            }
        }

        public static void Frame()
        {
            foreach (MonoBehaviour behaviour in Behaviours.ToArray())
            {
                if (Started.Add(behaviour))
                {
                    Send(behaviour, "Start");
                }
                Send(behaviour, "Update");
                Send(behaviour, "OnGUI");
            }
            Coroutines.RemoveAll(coroutine => !coroutine.MoveNext());
            Context.Run();
        }

        /// <summary>Ends the game: tells who asked for it, then destroys all objects.</summary>
        public static void Stop()
        {
            Application.Quit();
            foreach (MonoBehaviour behaviour in Behaviours.ToArray())
            {
                Destroy(behaviour);
            }
            Coroutines.Clear();
            Context.Run();
            SynchronizationContext.SetSynchronizationContext(null);
        }

        internal static void Add(MonoBehaviour behaviour)
        {
            Behaviours.Add(behaviour);
            Send(behaviour, "Awake");
        }

        internal static void Add(IEnumerator coroutine)
        {
            if (coroutine.MoveNext())
            {
                Coroutines.Add(coroutine);
            }
        }

        internal static void Destroy(MonoBehaviour behaviour)
        {
            if (Behaviours.Remove(behaviour))
            {
                Send(behaviour, "OnDestroy");
            }
        }

        private static void Send(MonoBehaviour behaviour, string message)
        {
            try
            {
                behaviour.GetType().GetMethod(message, Hidden)?.Invoke(behaviour, null);
            }
            catch (TargetInvocationException problem)
            {
                Debug.LogException(problem.InnerException);
            }
        }

        private static void RunMarked(Assembly assembly, Type mark)
        {
            IEnumerable<MethodInfo> marked = assembly.GetTypes()
                .SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
                .Where(method => method.GetCustomAttribute(mark) != null);
            foreach (MethodInfo method in marked)
            {
                method.Invoke(null, null);
            }
        }

        private sealed class MainThread : SynchronizationContext
        {
            private readonly ConcurrentQueue<Action> posted = new ConcurrentQueue<Action>();

            public override void Post(SendOrPostCallback callback, object state) => posted.Enqueue(() => callback(state));

            public void Run()
            {
                while (posted.TryDequeue(out Action run))
                {
                    run();
                }
            }
        }
    }
}
