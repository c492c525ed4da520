using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>What the model wants done.</summary>
    public sealed class ToolCall
    {
        internal ToolCall(Dictionary<string, object> parameters)
        {
            Params = parameters;
            Dictionary<string, object> call = parameters.Object("call");
            Id = call.Text("id");
            Name = call.Text("name") ?? "";
            Arguments = call.Object("arguments") ?? new Dictionary<string, object>();
            Session = parameters.Text("session");
            Npc = parameters.Text("npc");
            RequestId = System.Convert.ToString(parameters.Member("requestId"), System.Globalization.CultureInfo.InvariantCulture);
        }

        /// <summary>The id that the call has in results and events.</summary>
        public string Id { get; }

        /// <summary>The name of the tool.</summary>
        public string Name { get; }

        /// <summary>The arguments, in the form that the tool's parameters ask for.</summary>
        public Dictionary<string, object> Arguments { get; }

        /// <summary>The session whose model calls; null if it is none.</summary>
        public string Session { get; }

        /// <summary>The NPC whose model calls; null if it is none.</summary>
        public string Npc { get; }

        /// <summary>The id of the request that the call belongs to.</summary>
        public string RequestId { get; }

        /// <summary>All params of the <c>tool/call</c>.</summary>
        public Dictionary<string, object> Params { get; }
    }
}
