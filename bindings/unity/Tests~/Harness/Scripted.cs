using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels.Tests
{
    /// <summary>Scripted models, and what else tests write often.</summary>
    public static class Scripted
    {
        public static object Model(params string[] steps) =>
            Json.Parse("{\"type\":\"scripted\",\"steps\":[" + string.Join(",", steps) + "]}");

        public static string Text(string text, int delayMs = 0, int chunks = 1) =>
            $"{{\"text\":{Json.Serialize(text)},\"delayMs\":{delayMs},\"chunks\":{chunks}}}";

        public static string Call(params string[] tools) =>
            "{\"toolCalls\":[" + string.Join(",", tools.Select(tool => $"{{\"name\":\"{tool}\"}}")) + "]}";

        /// <summary>An answer that is what the tools returned.</summary>
        public const string Outputs = "{\"template\":\"{toolOutputs}\"}";

        public static Dictionary<string, object> Object(string json) => (Dictionary<string, object>)Json.Parse(json);

        public static Dictionary<string, object> With(this Dictionary<string, object> members, string name, object value)
        {
            members[name] = value;
            return members;
        }

        public static object Get(this object value, params object[] path)
        {
            foreach (object key in path)
            {
                value = key is int index ? ((List<object>)value)[index] : ((Dictionary<string, object>)value)[(string)key];
            }
            return value;
        }

        /// <summary>A session that calls the tools in one round, and answers with what they returned.</summary>
        public static OamSession Caller(this OamBridge bridge, params string[] tools) =>
            bridge.Await(bridge.CreateSessionAsync(tools: tools, model: Model(Call(tools), Outputs, Call(tools), Outputs)));

        /// <summary>A session whose turns take half a minute, unless somebody cancels them.</summary>
        public static OamSession Sleeper(this OamBridge bridge) =>
            bridge.Await(bridge.CreateSessionAsync(
                session: "sleeper", model: Model(Text("Good morning.", 30000), Text("Good morning.", 30000))));

        public static Dictionary<string, object> SleeperTurn => Object("{\"session\":\"sleeper\",\"prompt\":\"Wake up!\"}");
    }
}
