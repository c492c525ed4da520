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
            for (int attempt = 0; attempt < 200 && Now().threads > threads + RuntimeThreads; attempt++)
            {
                Thread.Sleep(10);
            }
            ProcessState now = Now();
            Check.That(now.threads <= threads + RuntimeThreads, $"{now.threads} threads are not much more than {threads}");
            Check.That(now.descriptors <= descriptors + RuntimeDescriptors, $"{now.descriptors} descriptors are not much more than {descriptors}");
        }
    }
}
