using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>
    /// How a turn is held to tools. <c>auto</c>, <c>none</c>, <c>required</c> and <c>explicit</c> are the protocol's words; any other
    /// text is the name of the tool that must be called first.
    /// </summary>
    public static class ToolChoice
    {
        /// <summary>The model may call tools.</summary>
        public const string Auto = "auto";

        /// <summary>The model sees no tools.</summary>
        public const string None = "none";

        /// <summary>The first step must call a tool.</summary>
        public const string Required = "required";

        /// <summary>The first step must call a tool or say that it answers directly.</summary>
        public const string Explicit = "explicit";

        /// <summary>No name of a tool has a colon, so this tells a tool from a word of the protocol.</summary>
        private const string ToolPrefix = "tool:";

        /// <summary>
        /// The choice of a tool by its name, also of one that is called like a word of the protocol: <c>ToolChoice.Tool("none")</c>.
        /// </summary>
        public static string Tool(string name) => ToolPrefix + name;

        internal static object ToJson(string choice)
        {
            switch (choice)
            {
                case null:
                case Auto:
                case None:
                case Required:
                case Explicit:
                    return choice;
                default:
                    bool isMarked = choice.StartsWith(ToolPrefix, System.StringComparison.Ordinal);
                    string name = isMarked ? choice.Substring(ToolPrefix.Length) : choice;
                    return new Dictionary<string, object> { { "tool", name } };
            }
        }
    }
}
