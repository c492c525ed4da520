using System;
using System.Runtime.InteropServices;
using System.Threading;
#if UNITY_5_3_OR_NEWER
using AOT;
#endif

namespace OpenAppleModels
{
    /// <summary>
    /// One bridge of the library, and when it may be used: calls are counted, and <see cref="Close"/> waits for those in flight
    /// before it destroys the bridge. After that no callback comes any more.
    /// </summary>
    internal sealed class NativeBridge
    {
        /// <summary>The longest message that the library reads. Of a longer one it could not tell whose it was.</summary>
        private const int MaxMessageBytes = 64 * 1024 * 1024;

        private const string ShutdownNotification = "{\"jsonrpc\":\"2.0\",\"method\":\"shutdown\"}";

        /// <summary>Native code holds its address, so it must live as long as the program.</summary>
        private static readonly NativeMethods.MessageCallback MessageCallback = OnMessage;

        /// <summary>The bridge whose callback runs on this thread.</summary>
        [ThreadStatic]
        private static NativeBridge current;

        private readonly Action<string> onLine;
        private readonly Action onClosed;
        private readonly object gate = new object();
        private readonly IntPtr handle;
        private GCHandle self;
        private int callsInFlight;
        private State state = State.Open;

        private enum State
        {
            Open,
            Closing,
            Closed,
        }

        /// <summary>Makes a bridge.</summary>
        /// <param name="options">What differs from the library's defaults; may be null.</param>
        /// <param name="onLine">Gets each line, on a thread of the bridge, one at a time.</param>
        /// <param name="onClosed">Called once, when the library has let go of the bridge.</param>
        /// <exception cref="OamException">The system has no more threads or descriptors.</exception>
        public NativeBridge(OamOptions options, Action<string> onLine, Action onClosed)
        {
            this.onLine = onLine;
            this.onClosed = onClosed;
            byte[] optionsJson = options == null ? null : NativeMethods.ToUtf8(options.ToJson());
            self = GCHandle.Alloc(this);
            try
            {
                IntPtr userData = GCHandle.ToIntPtr(self);
                handle = NativeMethods.Load(() => optionsJson == null
                    ? NativeMethods.oam_bridge_create(MessageCallback, userData)
                    : NativeMethods.oam_bridge_create_with_options(MessageCallback, userData, optionsJson));
                if (handle == IntPtr.Zero)
                {
                    throw OamException.Named(
                        OamException.InternalErrorCode, "internal_error", "The system has no more threads or descriptors for a bridge.");
                }
            }
            catch
            {
                self.Free();
                throw;
            }
        }

        public static string Version =>
            NativeMethods.FromUtf8(NativeMethods.Load(NativeMethods.oam_version));

        /// <summary>Sends one line. Never waits for the model.</summary>
        /// <exception cref="ObjectDisposedException">The bridge is closed.</exception>
        /// <exception cref="OamException">The library has given the bridge up.</exception>
        /// <exception cref="ArgumentException">The line is too long.</exception>
        public void Send(string line)
        {
            byte[] bytes = Message(line);
            Enter();
            try
            {
                int status = NativeMethods.oam_bridge_send(handle, bytes);
                if (status == NativeMethods.GivenUp)
                {
                    throw OamException.Named(OamException.ShutDownCode, "shut_down",
                        "The bridge was given up, as its callbacks did not return and messages piled up: dispose it and start another.");
                }
                if (status != NativeMethods.Ok)
                {
                    throw OamException.Named(OamException.InternalErrorCode, "internal_error", $"The library refused a message ({status}).");
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Runs one request on this thread and returns its response.</summary>
        /// <exception cref="ObjectDisposedException">The bridge is closed.</exception>
        /// <exception cref="InvalidOperationException">This is the thread that the response would have to come by.</exception>
        /// <exception cref="ArgumentException">The request is too long.</exception>
        public string Call(string request, int timeoutMs)
        {
            if (current == this)
            {
                throw new InvalidOperationException(
                    "CallBlocking would wait for itself on the bridge's own thread: use RequestAsync, or another thread.");
            }
            byte[] bytes = Message(request);
            Enter();
            try
            {
                IntPtr response = NativeMethods.oam_call_blocking(handle, bytes, timeoutMs);
                try
                {
                    return NativeMethods.FromUtf8(response);
                }
                finally
                {
                    NativeMethods.oam_string_free(response);
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>
        /// Refuses further calls, cancels blocking ones, and destroys the bridge when the last call has returned. Returns when that is
        /// done; on the bridge's own thread, which must not wait for calls that need it, the rest is left to another one.
        /// </summary>
        public void Close()
        {
            bool isFirst;
            bool isInUse;
            lock (gate)
            {
                isFirst = state == State.Open;
                isInUse = callsInFlight > 0;
                if (isFirst)
                {
                    state = State.Closing;
                }
            }
            if (isFirst && isInUse)
            {
                NativeMethods.oam_bridge_send(handle, NativeMethods.ToUtf8(ShutdownNotification));
            }
            if (isFirst && isInUse && current == this)
            {
                new Thread(WaitAndDestroy) { IsBackground = true, Name = "open-apple-models close" }.Start();
            }
            else if (isFirst)
            {
                WaitAndDestroy();
            }
            else if (current != this)
            {
                WaitUntilClosed();
            }
        }

        private static byte[] Message(string line)
        {
            byte[] bytes = NativeMethods.ToUtf8(line);
            int length = bytes.Length - 1;
            return length <= MaxMessageBytes
                ? bytes
                : throw new ArgumentException($"A message may have {MaxMessageBytes} bytes; this one has {length}.");
        }

        private void WaitAndDestroy()
        {
            lock (gate)
            {
                while (callsInFlight > 0)
                {
                    Monitor.Wait(gate);
                }
            }
            NativeMethods.oam_bridge_destroy(handle);
            self.Free();
            onClosed();
            lock (gate)
            {
                state = State.Closed;
                Monitor.PulseAll(gate);
            }
        }

        private void WaitUntilClosed()
        {
            lock (gate)
            {
                while (state != State.Closed)
                {
                    Monitor.Wait(gate);
                }
            }
        }

        private void Enter()
        {
            lock (gate)
            {
                if (state != State.Open)
                {
                    throw new ObjectDisposedException(nameof(OamBridge));
                }
                callsInFlight++;
            }
        }

        private void Leave()
        {
            lock (gate)
            {
                callsInFlight--;
                Monitor.PulseAll(gate);
            }
        }

        /// <summary>Nothing may be thrown into native code, whatever goes wrong here.</summary>
        [MonoPInvokeCallback(typeof(NativeMethods.MessageCallback))]
        private static void OnMessage(IntPtr line, IntPtr userData)
        {
            try
            {
                var bridge = (NativeBridge)GCHandle.FromIntPtr(userData).Target;
                current = bridge;
                bridge.onLine(NativeMethods.FromUtf8(line));
            }
            catch (Exception problem)
            {
                Log.Exception("A message of the bridge was not handled", problem);
            }
            finally
            {
                current = null;
            }
        }
    }
}
