using System;

namespace OpenAppleModels
{
    /// <summary>
    /// The answer to a <see cref="ToolCall"/>: give it from any thread, at any time. The first answer counts; after a cancellation, or
    /// when the bridge is disposed, answers do nothing.
    /// </summary>
    public sealed class ToolReply
    {
        private readonly object gate = new object();
        private readonly Action<object, bool> answer;
        private State state = State.Open;
        private Action cancelled;

        private enum State
        {
            Open,
            Answered,
            Cancelled,
        }

        /// <param name="answer">Sends an output, and whether it is an error. Called at most once.</param>
        internal ToolReply(Action<object, bool> answer)
        {
            this.answer = answer;
        }

        /// <summary>Nobody waits for the answer any more: the call timed out, its turn was cancelled, or the bridge was disposed.</summary>
        public bool IsCancelled
        {
            get
            {
                lock (gate)
                {
                    return state == State.Cancelled;
                }
            }
        }

        /// <summary>Raised once when the call is cancelled: stop what you do for it. A handler that comes too late is called at once.</summary>
        public event Action Cancelled
        {
            add
            {
                lock (gate)
                {
                    if (state != State.Cancelled)
                    {
                        cancelled += value;
                        return;
                    }
                }
                Raise(value);
            }
            remove
            {
                lock (gate)
                {
                    cancelled -= value;
                }
            }
        }

        /// <summary>
        /// The call was carried out. The model sees the output: text as it is, anything else as JSON, null as an empty text. An output
        /// that has no JSON form becomes an error output.
        /// </summary>
        public void Ok(object output) => Answer(output ?? "", false);

        /// <summary>The call failed. The model sees the message and may try something else.</summary>
        public void Error(string message) => Answer(message ?? "", true);

        internal void Cancel()
        {
            Action handlers;
            lock (gate)
            {
                if (state != State.Open)
                {
                    return;
                }
                state = State.Cancelled;
                handlers = cancelled;
                cancelled = null;
            }
            foreach (Delegate handler in handlers?.GetInvocationList() ?? new Delegate[0])
            {
                Raise((Action)handler);
            }
        }

        private void Answer(object output, bool isError)
        {
            lock (gate)
            {
                if (state != State.Open)
                {
                    return;
                }
                state = State.Answered;
                cancelled = null;
            }
            answer(output, isError);
        }

        private static void Raise(Action handler)
        {
            try
            {
                handler();
            }
            catch (Exception problem)
            {
                Log.Exception("A handler of ToolReply.Cancelled failed", problem);
            }
        }
    }
}
