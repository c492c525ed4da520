using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <summary>
    /// A conversation with an agent. What changes it happens in the order of the calls; only <see cref="CancelAsync"/>,
    /// <see cref="DeleteAsync"/> and <see cref="TranscriptAsync"/> do not wait. Tasks fail as those of
    /// <see cref="OamBridge.RequestAsync"/> do.
    /// </summary>
    public sealed class OamSession
    {
        internal OamSession(OamBridge bridge, string id)
        {
            Bridge = bridge;
            Id = id;
            Warnings = new string[0];
        }

        internal OamSession(OamBridge bridge, Dictionary<string, object> created)
        {
            Bridge = bridge;
            Id = created.Text("session");
            Warnings = created.Texts("warnings");
        }

        /// <summary>The bridge that the session lives on.</summary>
        public OamBridge Bridge { get; }

        /// <summary>The id of the session.</summary>
        public string Id { get; }

        /// <summary>What the library found odd when the session was created.</summary>
        public IReadOnlyList<string> Warnings { get; }

        /// <summary>Runs a turn; the result has <c>text</c>, <c>toolCalls</c> and, with a schema, <c>structured</c>.</summary>
        /// <param name="prompt">What is said to the model.</param>
        /// <param name="onText">Gets the answer as it is written: text to append, or all of it when the model rewrote it, which
        /// <paramref name="onEvent"/> tells apart by <c>isReset</c>.</param>
        /// <param name="onEvent">Gets each event of the turn.</param>
        /// <param name="schema">A JSON Schema: the answer is then JSON of this form.</param>
        /// <param name="toolChoice">A word of <see cref="ToolChoice"/> or a tool's name; null is the session's.</param>
        public Task<Dictionary<string, object>> RespondAsync(
            string prompt,
            Action<string> onText = null,
            Action<Dictionary<string, object>> onEvent = null,
            object schema = null,
            string toolChoice = null)
        {
            bool isStreaming = onText != null || onEvent != null;
            var parameters = new Parameters
            {
                { "session", Id },
                { "prompt", prompt },
                { "schema", schema },
                { "stream", isStreaming ? (object)true : null },
                { "toolChoice", ToolChoice.ToJson(toolChoice) },
            };
            Action<Dictionary<string, object>> handler = null;
            if (isStreaming)
            {
                handler = notification => Handle(notification.Object("event"), onText, onEvent);
            }
            return Bridge.CallAsync("session/respond", parameters, result => (Dictionary<string, object>)result, handler);
        }

        /// <summary>Cancels the running turn and all that waits; returns how many. Each of them fails with <c>cancelled</c>.</summary>
        public Task<int> CancelAsync() => CallAsync("session/cancel", result => (int)result.Integer("cancelled"));

        /// <summary>Forgets the conversation and the context note.</summary>
        public Task ResetAsync() => CallAsync("session/reset", result => result);

        /// <summary>Cancels what runs and frees the id.</summary>
        public Task DeleteAsync() => CallAsync("session/delete", result => result);

        /// <summary>The conversation in its saved form: keep it, and pass it as <c>history</c> to
        /// <see cref="OamBridge.CreateSessionAsync"/>.</summary>
        public Task<Dictionary<string, object>> TranscriptAsync() =>
            CallAsync("session/transcript", result => result.Object("transcript"));

        /// <summary>Sets who the model is from the next turn on; null clears it.</summary>
        public Task SetInstructionsAsync(string instructions) =>
            CallAsync("session/setInstructions", result => result, Params().WithNullable("instructions", instructions));

        /// <summary>Sets what the model should know from the next turn on; null clears it.</summary>
        public Task SetContextNoteAsync(string note) =>
            CallAsync("session/setContextNote", result => result, Params().WithNullable("note", note));

        /// <summary>Replaces the tools from the next turn on; returns warnings.</summary>
        /// <param name="tools">Names of registered tools.</param>
        /// <exception cref="KeyNotFoundException">No tool of a name is registered.</exception>
        public Task<List<string>> SetToolsAsync(IEnumerable<string> tools)
        {
            Parameters parameters = Params();
            parameters.Add("tools", Bridge.DefinitionsOf(tools ?? throw new ArgumentNullException(nameof(tools))));
            return CallAsync("session/setTools", result => result.Texts("warnings"), parameters);
        }

        /// <summary>Has all but the last turns summarized, and drops them; returns the summary, null if there was nothing to do.</summary>
        public Task<string> CompactAsync(int keepRecentTurns = 2)
        {
            Parameters parameters = Params();
            parameters.Add("keepRecentTurns", keepRecentTurns);
            return CallAsync("session/compact", result => result.Text("summary"), parameters);
        }

        private static void Handle(
            Dictionary<string, object> happened, Action<string> onText, Action<Dictionary<string, object>> onEvent)
        {
            if (happened.Text("type") == "text")
            {
                onText?.Invoke(happened.Text("delta"));
            }
            onEvent?.Invoke(happened);
        }

        private Parameters Params() => new Parameters { { "session", Id } };

        private Task<T> CallAsync<T>(string method, Func<Dictionary<string, object>, T> read, Parameters parameters = null) =>
            Bridge.CallAsync(method, parameters ?? Params(), result => read((Dictionary<string, object>)result));
    }
}
