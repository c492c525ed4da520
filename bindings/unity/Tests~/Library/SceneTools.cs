using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels.Tests
{
    using Members = Dictionary<string, object>;

    /// <summary>The tools of a scene, with handlers that do as they are told, and what these saw.</summary>
    internal sealed class SceneTools
    {
        private readonly Dictionary<string, Members> definitions = new Dictionary<string, Members>();
        private readonly HashSet<string> registered = new HashSet<string>();
        private readonly ConcurrentQueue<string> cancelled = new ConcurrentQueue<string>();

        public SceneTools(OamBridge bridge, IEnumerable<object> tools)
        {
            foreach (Members tool in tools.Cast<Members>())
            {
                string name = (string)tool["name"];
                definitions[name] = tool.Where(member => member.Key != "answer" && member.Key != "registered")
                    .ToDictionary(member => member.Key, member => member.Value);
                if (!tool.TryGetValue("registered", out object isRegistered) || true.Equals(isRegistered))
                {
                    Register(bridge, name, tool);
                    registered.Add(name);
                }
            }
        }

        public ConcurrentQueue<object> Handled { get; } = new ConcurrentQueue<object>();

        public bool IsRegistered(string name) => registered.Contains(name);

        public object Definition(string name) => definitions[name];

        public int Cancellations(string name) => cancelled.Count(tool => tool == name);

        private void Register(OamBridge bridge, string name, Members tool)
        {
            tool.TryGetValue("timeoutSeconds", out object seconds);
            double? timeoutSeconds = seconds == null ? (double?)null : Convert.ToDouble(seconds);
            tool.TryGetValue("parameters", out object parameters);
            var answer = (Members)tool["answer"];
            if (answer.ContainsKey("never"))
            {
                bridge.RegisterTool(name, (string)tool["description"], parameters, (call, reply) =>
                {
                    reply.Cancelled += () => cancelled.Enqueue(name);
                    Note(call);
                }, timeoutSeconds);
                return;
            }
            bridge.RegisterTool(name, (string)tool["description"], parameters, call =>
            {
                Note(call);
                return answer.TryGetValue("failure", out object message)
                    ? throw new InvalidOperationException((string)message)
                    : answer["output"];
            }, timeoutSeconds);
        }

        private void Note(ToolCall call) => Handled.Enqueue(
            new Members { { "tool", call.Name }, { "arguments", call.Arguments }, { "session", call.Session }, { "npc", call.Npc } });
    }
}
