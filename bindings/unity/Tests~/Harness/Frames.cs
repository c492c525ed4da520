using System;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    /// <summary>The main loop of a game: pumps a bridge once a frame until something has happened.</summary>
    public static class Frames
    {
        private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

        public static T Await<T>(this OamBridge bridge, Task<T> task)
        {
            bridge.Until(() => task.IsCompleted);
            return task.GetAwaiter().GetResult();
        }

        public static void Await(this OamBridge bridge, Task task)
        {
            bridge.Until(() => task.IsCompleted);
            task.GetAwaiter().GetResult();
        }

        /// <summary>The error that a task must end with.</summary>
        public static OamException Failure(this OamBridge bridge, Task task) =>
            Check.Throws<OamException>(() => bridge.Await(task));

        public static void Until(this OamBridge bridge, Func<bool> holds) => Until(() => bridge.Pump(), holds);

        public static void Until(Action frame, Func<bool> holds)
        {
            Stopwatch watch = Stopwatch.StartNew();
            while (!holds())
            {
                if (watch.Elapsed > Limit)
                {
                    throw new CheckFailed("What was waited for did not happen.");
                }
                frame();
                Thread.Sleep(1);
            }
        }
    }
}
