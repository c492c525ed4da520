using System.IO;
using System.Threading;

namespace OpenAppleModels.Tests
{
    /// <summary>What this process holds, as Linux counts it.</summary>
    public sealed class ProcessState
    {
        private readonly int descriptors;
        private readonly int threads;

        private ProcessState(int descriptors, int threads)
        {
            this.descriptors = descriptors;
            this.threads = threads;
        }

        public static ProcessState Now() =>
            new ProcessState(Directory.GetFileSystemEntries("/proc/self/fd").Length, Directory.GetDirectories("/proc/self/task").Length);

        /// <summary>Waits for threads that are on their way out. The runtime may have started a few of its own meanwhile.</summary>
        public void CheckNothingIsLeft()
        {
            const int RuntimeThreads = 4;
            const int RuntimeDescriptors = 4;
            ProcessState now = Now();
            for (int attempt = 0; attempt < 300; attempt++)
            {
                if (now.threads <= threads + RuntimeThreads && now.descriptors <= descriptors + RuntimeDescriptors)
                {
                    return;
                }
                Thread.Sleep(10);
                now = Now();
            }
            throw new CheckFailed($"{now.threads} threads and {now.descriptors} descriptors are left; before it were {threads} and {descriptors}.");
        }
    }
}
