using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <summary>
    /// Agents on on-device language models, for your game: sessions, NPCs, worlds, decisions, and tools that your game carries out.
    /// </summary>
    /// <remarks>
    /// The library's messages wait until <see cref="Pump"/> is called, once a frame on the main thread; there tasks complete, events
    /// are raised and tools run, so they may use the engine. Everything else may be called from any thread. A bridge lives until
    /// <see cref="Dispose"/>, or until its domain ends.
    /// </remarks>
    public sealed partial class OamBridge : IDisposable
    {
        private readonly NativeBridge native;
        private readonly bool dispatchOnCallbackThread;
        private readonly ConcurrentQueue<string> lines = new ConcurrentQueue<string>();
        private readonly PendingRequests pending = new PendingRequests();
        private readonly Subscriptions subscriptions = new Subscriptions();
        private readonly ToolRegistry tools;
        private long lastRequest;
        private int disposed;

        /// <summary>Starts a bridge with the library's defaults.</summary>
        /// <param name="dispatchOnCallbackThread">Do without <see cref="Pump"/>: everything happens on the bridge's own thread, as it
        /// comes. For programs without frames; what runs there must be short and must not wait for the bridge.</param>
        /// <exception cref="DllNotFoundException">The native library is not where the system looks for it.</exception>
        /// <exception cref="OamException">The system has no more threads or descriptors.</exception>
        public OamBridge(bool dispatchOnCallbackThread = false)
            : this(null, dispatchOnCallbackThread)
        {
        }

        /// <summary>Starts a bridge that is told which worker program to run, and how.</summary>
        /// <param name="options">What differs from the defaults.</param>
        /// <param name="dispatchOnCallbackThread">As in the other constructor.</param>
        /// <exception cref="DllNotFoundException">The native library is not where the system looks for it.</exception>
        /// <exception cref="OamException">The system has no more threads or descriptors.</exception>
        public OamBridge(OamOptions options, bool dispatchOnCallbackThread = false)
        {
            this.dispatchOnCallbackThread = dispatchOnCallbackThread;
            tools = new ToolRegistry(SendMessage);
            native = new NativeBridge(options, Receive, () => OpenBridges.Remove(this));
            OpenBridges.Add(this);
        }

        /// <summary>
        /// Raised for every notification, with its method and params: <c>session/event</c>, <c>npc/event</c>, <c>world/changed</c>,
        /// <c>tool/cancel</c>, <c>supervisor/event</c>.
        /// </summary>
        public event Action<string, Dictionary<string, object>> NotificationReceived;

        /// <summary>The version of the native library.</summary>
        public static string Version => NativeBridge.Version;

        /// <summary>Whether <see cref="Dispose"/> was called.</summary>
        public bool IsDisposed => Volatile.Read(ref disposed) != 0;

        /// <summary>
        /// Handles the messages that have come: call it once a frame on the main thread. Does nothing with
        /// <c>dispatchOnCallbackThread</c>, and when the bridge is disposed.
        /// </summary>
        /// <param name="maxMessages">How many messages to handle at most; the rest waits for the next call.</param>
        /// <returns>How many messages were handled.</returns>
        public int Pump(int maxMessages = int.MaxValue)
        {
            // What comes while these are handled has time until the next frame.
            int limit = Math.Min(maxMessages, lines.Count);
            int handled = 0;
            while (handled < limit && lines.TryDequeue(out string line))
            {
                Dispatch(line);
                handled++;
            }
            return handled;
        }

        /// <summary>Sends a request.</summary>
        /// <param name="method">A method of the protocol.</param>
        /// <param name="parameters">Its params, a dictionary.</param>
        /// <param name="onEvent">Called with the params of each notification that belongs to the request.</param>
        /// <returns>The result. The task fails with an <see cref="OamException"/> when the bridge answers with an error or is disposed
        /// meanwhile, with <see cref="ObjectDisposedException"/> when it was disposed before, and with
        /// <see cref="ArgumentException"/> when the params have no JSON form or more than 64 MiB of it.</returns>
        public Task<object> RequestAsync(
            string method, object parameters = null, Action<Dictionary<string, object>> onEvent = null) =>
            CallAsync(method, parameters, result => result, onEvent);

        /// <summary>
        /// Sends a request without a task. One of the callbacks is called by <see cref="Pump"/>; if the request cannot be sent,
        /// <paramref name="onError"/> is called at once.
        /// </summary>
        public void Request(string method, object parameters, Action<object> onResult, Action<OamException> onError = null)
        {
            if (onError == null)
            {
                onError = problem => Log.Error($"The request '{method}' failed: {problem.Message} ({problem.Name ?? problem.Code.ToString()})");
            }
            Start(method, parameters, new PendingRequest(
                result => Guard("onResult of a Request", () => onResult?.Invoke(result)),
                problem => Guard("onError of a Request", () => onError(OamException.NotSent(problem))),
                null));
        }

        /// <summary>Sends a notification: a request that is not answered, not even if it fails.</summary>
        /// <exception cref="ObjectDisposedException">The bridge is disposed.</exception>
        /// <exception cref="ArgumentException">The params have no JSON form, or more than 64 MiB of it.</exception>
        public void Notify(string method, object parameters = null) =>
            SendMessage(new Parameters { { "jsonrpc", "2.0" }, { "method", method }, { "params", parameters } });

        /// <summary>
        /// Runs a request and waits for its result, on any thread but the bridge's own. Its events and tool calls still come by
        /// <see cref="Pump"/>: what needs tools must not be called from the thread that pumps, as nobody would answer them.
        /// </summary>
        /// <param name="method">A method of the protocol.</param>
        /// <param name="parameters">Its params, a dictionary.</param>
        /// <param name="timeoutMs">Milliseconds after which the request is cancelled; 0 or less is no limit.</param>
        /// <exception cref="OamException">The request failed; <c>timeout</c> after the time limit, <c>cancelled</c> or
        /// <c>shut_down</c> when the bridge is disposed meanwhile.</exception>
        /// <exception cref="ObjectDisposedException">The bridge is disposed.</exception>
        /// <exception cref="ArgumentException">The params have no JSON form, or more than 64 MiB of it.</exception>
        /// <exception cref="InvalidOperationException">This is the bridge's own thread.</exception>
        public object CallBlocking(string method, object parameters = null, int timeoutMs = 30000)
        {
            string request = Json.Serialize(RequestMessage(NextId(), method, parameters));
            var response = (Dictionary<string, object>)Json.Parse(native.Call(request, timeoutMs));
            return response.TryGetValue("error", out object error) ? throw OamException.FromJson(error) : response.Member("result");
        }

        /// <summary>Sends one message of the protocol as it is. Responses to ids of your own are not passed on.</summary>
        /// <exception cref="ObjectDisposedException">The bridge is disposed.</exception>
        /// <exception cref="ArgumentException">The message has no JSON form, or more than 64 MiB of it.</exception>
        public void SendMessage(Dictionary<string, object> message) => native.Send(Json.Serialize(message));

        /// <summary>
        /// Ends the bridge: cancels what runs, waits for calls of other threads, and fails the requests that are left with
        /// <c>shut_down</c>. When it returns, the library calls nothing any more. May be called from any thread, by callbacks too, and
        /// more than once.
        /// </summary>
        public void Dispose()
        {
            bool isFirst = Interlocked.Exchange(ref disposed, 1) == 0;
            native.Close();
            if (!isFirst)
            {
                return;
            }
            while (lines.TryDequeue(out _))
            {
                // What was not handled by now is not handled any more.
            }
            tools.Close();
            subscriptions.Clear();
            foreach (PendingRequest request in pending.TakeAll())
            {
                request.OnError(OamException.ShutDown());
            }
        }

        /// <summary>A request whose result is read where it arrives, before the next message is looked at.</summary>
        internal Task<T> CallAsync<T>(
            string method, object parameters, Func<object, T> read, Action<Dictionary<string, object>> onEvent = null)
        {
            var completion = new TaskCompletionSource<T>();
            Start(method, parameters, new PendingRequest(
                result =>
                {
                    if (Try(() => read(result), out T value, out Exception problem))
                    {
                        completion.TrySetResult(value);
                    }
                    else
                    {
                        completion.TrySetException(problem);
                    }
                },
                problem => completion.TrySetException(problem),
                onEvent));
            return completion.Task;
        }

        internal Subscriptions WorldSubscriptions => subscriptions;

        private static bool Try<T>(Func<T> compute, out T value, out Exception problem)
        {
            try
            {
                value = compute();
                problem = null;
                return true;
            }
            catch (Exception caught)
            {
                value = default(T);
                problem = caught;
                return false;
            }
        }

        private static Dictionary<string, object> RequestMessage(string id, string method, object parameters) =>
            new Parameters { { "jsonrpc", "2.0" }, { "id", id }, { "method", method }, { "params", parameters } };

        private string NextId() => "cs-" + Interlocked.Increment(ref lastRequest);

        /// <summary>Sends a request. Whatever comes of it, one of its two callbacks is called once.</summary>
        private void Start(string method, object parameters, PendingRequest request)
        {
            string id = NextId();
            if (!Try(() => Json.Serialize(RequestMessage(id, method, parameters)), out string line, out Exception problem))
            {
                request.OnError(problem);
                return;
            }
            pending.Add(id, request);
            try
            {
                native.Send(line);
            }
            catch (Exception notSent)
            {
                pending.Take(id)?.OnError(notSent);
            }
        }
    }
}
