using System;
using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <content>Where messages of the library go.</content>
    public sealed partial class OamBridge
    {
        private const int MethodNotFoundCode = -32601;

        /// <summary>A line of the library, on the bridge's own thread.</summary>
        private void Receive(string line)
        {
            if (dispatchOnCallbackThread)
            {
                Dispatch(line);
            }
            else
            {
                lines.Enqueue(line);
            }
        }

        private void Dispatch(string line)
        {
            if (IsDisposed)
            {
                return;
            }
            if (!Try(() => Json.Parse(line) as Dictionary<string, object>, out Dictionary<string, object> message, out Exception problem)
                || message == null)
            {
                Log.Error($"The library sent what is no message: {problem?.Message ?? line}");
                return;
            }
            string method = message.Text("method");
            if (method == null)
            {
                DispatchResponse(message);
            }
            else if (message.TryGetValue("id", out object id))
            {
                DispatchRequest(id, method, message.Object("params") ?? new Dictionary<string, object>());
            }
            else
            {
                DispatchNotification(method, message.Object("params") ?? new Dictionary<string, object>());
            }
        }

        private void DispatchResponse(Dictionary<string, object> message)
        {
            bool isError = message.TryGetValue("error", out object error);
            PendingRequest request = pending.Take(message.Text("id"));
            if (request == null)
            {
                if (isError && message.Member("id") == null)
                {
                    Log.Error("The library did not understand a message: " + OamException.FromJson(error).Message);
                }
                return;
            }
            if (isError)
            {
                request.OnError(OamException.FromJson(error));
            }
            else
            {
                request.OnResult(message.Member("result"));
            }
        }

        private void DispatchRequest(object id, string method, Dictionary<string, object> parameters)
        {
            if (method == "tool/call")
            {
                tools.Handle(id, parameters);
                return;
            }
            var error = new Dictionary<string, object>
            {
                { "code", MethodNotFoundCode },
                { "message", $"This client does not serve '{method}'." },
            };
            Guard("An answer to " + method, () =>
                SendMessage(new Dictionary<string, object> { { "jsonrpc", "2.0" }, { "id", id }, { "error", error } }));
        }

        private void DispatchNotification(string method, Dictionary<string, object> parameters)
        {
            if (method == "tool/cancel")
            {
                tools.Cancel(parameters.Member("id"));
            }
            else if (method == "world/changed")
            {
                Tell(subscriptions.Find(parameters.Text("subscription")), parameters, "onChange of a subscription");
            }
            Tell(pending.Find(parameters.Text("requestId"))?.OnEvent, parameters, "onEvent of a request");
            foreach (Delegate handler in NotificationReceived?.GetInvocationList() ?? new Delegate[0])
            {
                Guard("A handler of NotificationReceived", () => ((Action<string, Dictionary<string, object>>)handler)(method, parameters));
            }
        }

        private static void Tell(Action<Dictionary<string, object>> handler, Dictionary<string, object> parameters, string name)
        {
            if (handler != null)
            {
                Guard(name, () => handler(parameters));
            }
        }

        /// <summary>Runs code of the user: what it throws is logged, and the next message is handled all the same.</summary>
        private static void Guard(string name, Action run)
        {
            try
            {
                run();
            }
            catch (Exception problem)
            {
                Log.Exception(name + " failed", problem);
            }
        }
    }
}
