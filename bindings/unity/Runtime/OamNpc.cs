using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <summary>
    /// A character. Turns, updates and saves happen in the order of the calls; barks run beside them. Tasks fail as those of
    /// <see cref="OamBridge.RequestAsync"/> do.
    /// </summary>
    public sealed class OamNpc
    {
        private static readonly string[] Nothing = new string[0];

        internal OamNpc(OamBridge bridge, string id)
        {
            Bridge = bridge;
            Id = id;
            Tools = Nothing;
            Warnings = Nothing;
        }

        internal OamNpc(OamBridge bridge, Dictionary<string, object> created)
        {
            Bridge = bridge;
            Id = created.Text("npc");
            Tools = created.Texts("tools");
            Warnings = created.Texts("warnings");
        }

        /// <summary>The bridge that the character lives on.</summary>
        public OamBridge Bridge { get; }

        /// <summary>The id of the character.</summary>
        public string Id { get; }

        /// <summary>All tools that its model saw when it was created or restored, those of memory and world included.</summary>
        public IReadOnlyList<string> Tools { get; }

        /// <summary>What the library found odd when the character was created or restored.</summary>
        public IReadOnlyList<string> Warnings { get; }

        /// <summary>Says something to the character; the result has <c>line</c>, <c>emotion</c>, <c>playerOptions</c> and more.</summary>
        /// <param name="line">What the player says; empty means that the player is silent.</param>
        /// <param name="context">What is happening right now, for this turn alone: text, or facts of any form.</param>
        /// <param name="onLine">Gets the whole line so far, each time that it changes: show it.</param>
        /// <param name="onEmotion">Gets the emotion as soon as the model has chosen it.</param>
        /// <param name="onEvent">Gets each event of the turn.</param>
        /// <param name="toolChoice">A word of <see cref="ToolChoice"/> or a tool's name; null is the character's.</param>
        public Task<Dictionary<string, object>> TalkAsync(
            string line,
            object context = null,
            Action<string> onLine = null,
            Action<string> onEmotion = null,
            Action<Dictionary<string, object>> onEvent = null,
            string toolChoice = null)
        {
            bool isStreaming = onLine != null || onEmotion != null || onEvent != null;
            var parameters = new Parameters
            {
                { "npc", Id },
                { "line", line },
                { "context", context },
                { "stream", isStreaming ? (object)true : null },
                { "toolChoice", ToolChoice.ToJson(toolChoice) },
            };
            Action<Dictionary<string, object>> handler = null;
            if (isStreaming)
            {
                var stream = new NpcStream(onLine, onEmotion, onEvent);
                handler = notification => stream.Handle(notification.Object("event"));
            }
            return Bridge.CallAsync("npc/talk", parameters, result => (Dictionary<string, object>)result, handler);
        }

        /// <summary>A short line in passing, beside the conversation and without a memory of it.</summary>
        /// <param name="situation">What is going on.</param>
        public Task<string> BarkAsync(string situation = null)
        {
            Parameters parameters = Params();
            parameters.Add("situation", situation);
            return CallAsync("npc/bark", result => result.Text("line"), parameters);
        }

        /// <summary>All of the character, for a saved game; <see cref="OamBridge.RestoreNpcAsync"/> brings it back.</summary>
        /// <param name="settle">Whether to wait for what was asked of it before; else the turns that are complete are saved.</param>
        public Task<Dictionary<string, object>> StateAsync(bool settle = true)
        {
            Parameters parameters = Params();
            parameters.Add("settle", settle);
            return CallAsync("npc/state", result => result.Object("state"), parameters);
        }

        /// <summary>Changes the character from the next turn on, as a whole or not at all; returns warnings.</summary>
        /// <param name="persona">Members to change; one that is null goes back to its default.</param>
        /// <param name="options">Options to change, likewise.</param>
        /// <param name="memory">What it remembers, likewise.</param>
        /// <param name="tools">Names of registered tools, in place of those it has.</param>
        /// <exception cref="KeyNotFoundException">No tool of a name is registered.</exception>
        public Task<List<string>> UpdateAsync(
            object persona = null, object options = null, object memory = null, IEnumerable<string> tools = null)
        {
            var parameters = new Parameters
            {
                { "npc", Id },
                { "persona", persona },
                { "options", options },
                { "memory", memory },
                { "tools", Bridge.DefinitionsOf(tools) },
            };
            return CallAsync("npc/update", result => result.Texts("warnings"), parameters);
        }

        /// <summary>Forgets the conversation.</summary>
        /// <param name="clearMemory">Whether to forget the memory, too.</param>
        public Task ResetAsync(bool clearMemory = false)
        {
            Parameters parameters = Params();
            parameters.Add("clearMemory", clearMemory);
            return CallAsync("npc/reset", result => result, parameters);
        }

        /// <summary>Cancels the running turn and all that waits; returns how many. Each of them fails with <c>cancelled</c>.</summary>
        public Task<int> CancelAsync() => CallAsync("npc/cancel", result => (int)result.Integer("cancelled"));

        /// <summary>Cancels what runs and frees the id.</summary>
        public Task DeleteAsync() => CallAsync("npc/delete", result => result);

        private Parameters Params() => new Parameters { { "npc", Id } };

        private Task<T> CallAsync<T>(string method, Func<Dictionary<string, object>, T> read, Parameters parameters = null) =>
            Bridge.CallAsync(method, parameters ?? Params(), result => read((Dictionary<string, object>)result));
    }
}
