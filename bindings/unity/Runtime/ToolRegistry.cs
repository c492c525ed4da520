using System;
using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels
{
    /// <summary>The tools of a bridge: what models are told of them, who carries them out, and which calls are open.</summary>
    internal sealed class ToolRegistry
    {
        private readonly Action<Dictionary<string, object>> send;
        private readonly Dictionary<string, Tool> tools = new Dictionary<string, Tool>();
        private readonly Dictionary<string, ToolReply> openCalls = new Dictionary<string, ToolReply>();
        private bool isClosed;

        /// <param name="send">Sends a message; throws if the bridge is disposed or the message has no JSON form.</param>
        public ToolRegistry(Action<Dictionary<string, object>> send)
        {
            this.send = send;
        }

        public void Register(
            string name, string description, object parameters, Action<ToolCall, ToolReply> handler, double? timeoutSeconds)
        {
            if (string.IsNullOrEmpty(name))
            {
                throw new ArgumentException("A tool needs a name.", nameof(name));
            }
            var definition = new Parameters
            {
                { "name", name },
                { "description", description },
                { "parameters", parameters },
                { "timeoutSeconds", timeoutSeconds },
            };
            lock (tools)
            {
                tools[name] = new Tool(definition, handler ?? throw new ArgumentNullException(nameof(handler)));
            }
        }

        /// <summary>The definitions of the named tools, in this order; of all tools if there are no names.</summary>
        public List<object> Definitions(IEnumerable<string> names)
        {
            lock (tools)
            {
                return names.Select(name => Find(name)
                    ?? throw new KeyNotFoundException($"No tool '{name}' is registered: call RegisterTool first."))
                    .Select(tool => (object)tool.Definition)
                    .ToList();
            }
        }

        public List<object> AllDefinitions()
        {
            lock (tools)
            {
                return tools.Values.Select(tool => (object)tool.Definition).ToList();
            }
        }

        /// <summary>Carries a <c>tool/call</c> out. Never throws.</summary>
        /// <param name="id">The id of the request, which the answer repeats.</param>
        /// <param name="parameters">The params of the request.</param>
        public void Handle(object id, Dictionary<string, object> parameters)
        {
            var call = new ToolCall(parameters);
            ToolReply reply = Open(id);
            if (reply.IsCancelled)
            {
                return;
            }
            Tool tool;
            lock (tools)
            {
                tool = Find(call.Name);
            }
            if (tool == null)
            {
                reply.Error($"The game has no tool '{call.Name}'.");
                return;
            }
            try
            {
                tool.Handler(call, reply);
            }
            catch (Exception problem)
            {
                Log.Warning($"The tool '{call.Name}' failed: {problem}");
                reply.Error(ErrorText(problem));
            }
        }

        /// <summary>The call with this id is of no interest any more.</summary>
        public void Cancel(object id) => Take(id)?.Cancel();

        /// <summary>Cancels all calls, and those that may still come.</summary>
        public void Close()
        {
            List<ToolReply> replies;
            lock (openCalls)
            {
                isClosed = true;
                replies = openCalls.Values.ToList();
                openCalls.Clear();
            }
            replies.ForEach(reply => reply.Cancel());
        }

        /// <summary>What the model is told of an exception.</summary>
        public static string ErrorText(Exception problem) =>
            string.IsNullOrEmpty(problem.Message) ? problem.GetType().Name : problem.Message;

        private Tool Find(string name) => name != null && tools.TryGetValue(name, out Tool tool) ? tool : null;

        private ToolReply Open(object id)
        {
            var reply = new ToolReply((output, isError) =>
            {
                Take(id);
                Answer(id, output, isError);
            });
            lock (openCalls)
            {
                if (!isClosed)
                {
                    openCalls[Key(id)] = reply;
                    return reply;
                }
            }
            reply.Cancel();
            return reply;
        }

        private ToolReply Take(object id)
        {
            lock (openCalls)
            {
                if (openCalls.TryGetValue(Key(id), out ToolReply reply))
                {
                    openCalls.Remove(Key(id));
                }
                return reply;
            }
        }

        private void Answer(object id, object output, bool isError)
        {
            try
            {
                send(Response(id, output, isError));
            }
            catch (ObjectDisposedException)
            {
                // Nobody waits for the answer.
            }
            catch (Exception problem) when (!isError)
            {
                Log.Warning($"The output of a tool could not be sent: {problem}");
                Answer(id, "The output could not be written as JSON: " + ErrorText(problem), true);
            }
            catch (Exception problem)
            {
                Log.Exception("The error of a tool could not be sent", problem);
            }
        }

        private static Dictionary<string, object> Response(object id, object output, bool isError)
        {
            var result = new Dictionary<string, object> { { "output", output } };
            if (isError)
            {
                result.Add("isError", true);
            }
            return new Dictionary<string, object> { { "jsonrpc", "2.0" }, { "id", id }, { "result", result } };
        }

        private static string Key(object id) => Json.Serialize(id);

        private sealed class Tool
        {
            public Tool(Dictionary<string, object> definition, Action<ToolCall, ToolReply> handler)
            {
                Definition = definition;
                Handler = handler;
            }

            public Dictionary<string, object> Definition { get; }

            public Action<ToolCall, ToolReply> Handler { get; }
        }
    }
}
