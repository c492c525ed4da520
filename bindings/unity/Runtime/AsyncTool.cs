using System;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <summary>Makes an asynchronous method the handler of a tool.</summary>
    internal static class AsyncTool
    {
        public static Action<ToolCall, ToolReply> Handler(Func<ToolCall, CancellationToken, Task<object>> work)
        {
            if (work == null)
            {
                throw new ArgumentNullException(nameof(work));
            }
            return (call, reply) => Start(call, reply, work);
        }

        /// <summary>The output of a tool that answers at once: it cannot be work that has only begun.</summary>
        public static object Finished(object output) =>
            output is Task
                ? throw new InvalidOperationException("The tool returned a task: register it with RegisterAsyncTool, which waits for its result.")
                : output;

        private static void Start(ToolCall call, ToolReply reply, Func<ToolCall, CancellationToken, Task<object>> work)
        {
            // Not disposed: a token without a timer holds nothing, and the work may look at it after it was cancelled.
            var cancellation = new CancellationTokenSource();
            reply.Cancelled += cancellation.Cancel;
            Task<object> task = work(call, cancellation.Token) ?? throw new InvalidOperationException("The tool returned no task.");
            task.ContinueWith(
                done => Answer(call, reply, done), CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
        }

        private static void Answer(ToolCall call, ToolReply reply, Task<object> done)
        {
            if (done.IsCanceled)
            {
                reply.Error("The tool was cancelled.");
            }
            else if (done.IsFaulted)
            {
                Exception problem = done.Exception.GetBaseException();
                if (!reply.IsCancelled)
                {
                    Log.Warning($"The tool '{call.Name}' failed: {problem}");
                }
                reply.Error(ToolRegistry.ErrorText(problem));
            }
            else
            {
                reply.Ok(done.Result);
            }
        }
    }
}
