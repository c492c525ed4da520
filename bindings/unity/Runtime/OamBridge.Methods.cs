using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <content>
    /// The methods of the protocol that make something. Parameters that are null are left out and have the protocol's defaults;
    /// <c>tools</c> are names of registered tools, and an unknown one throws <see cref="KeyNotFoundException"/>; <c>model</c> is
    /// <c>"system"</c> or a scripted model. The tasks fail as those of <see cref="RequestAsync"/> do.
    /// </content>
    public sealed partial class OamBridge
    {
        /// <summary>Tells the library who you are; returns what it can do, and whether there is a model.</summary>
        public Task<Dictionary<string, object>> InitializeAsync(string clientName = "unity") =>
            CallAsync(
                "initialize",
                new Parameters { { "client", new Parameters { { "name", clientName } } }, { "protocolVersion", "1.0" } },
                result => (Dictionary<string, object>)result);

        /// <summary>Begins a conversation with an agent.</summary>
        /// <param name="instructions">Who the model is, and the rules it follows.</param>
        /// <param name="tools">What it may do: names of registered tools.</param>
        /// <param name="options">Options by their names in the protocol, a dictionary.</param>
        /// <param name="model">Which model answers.</param>
        /// <param name="history">A saved transcript to go on from.</param>
        /// <param name="session">An id of your choice.</param>
        public Task<OamSession> CreateSessionAsync(
            string instructions = null,
            IEnumerable<string> tools = null,
            object options = null,
            object model = null,
            object history = null,
            string session = null)
        {
            var parameters = new Parameters
            {
                { "session", session },
                { "instructions", instructions },
                { "tools", DefinitionsOf(tools) },
                { "options", options },
                { "history", history },
                { "model", model },
            };
            return CallAsync("session/create", parameters, result => new OamSession(this, (Dictionary<string, object>)result));
        }

        /// <summary>The session with this id. Nothing is sent; whether there is one, the first call tells.</summary>
        public OamSession Session(string id) => new OamSession(this, id);

        /// <summary>Creates a character.</summary>
        /// <param name="persona">Who it is: a dictionary with at least <c>name</c>.</param>
        /// <param name="tools">What it may do: names of registered tools.</param>
        /// <param name="world">The id of the world that it lives in.</param>
        /// <param name="options">Options by their names in the protocol, a dictionary.</param>
        /// <param name="memory">What it remembers: a dictionary with <c>facts</c>, <c>relationship</c> and <c>summary</c>.</param>
        /// <param name="model">Which model answers.</param>
        /// <param name="npc">An id of your choice.</param>
        public Task<OamNpc> CreateNpcAsync(
            object persona,
            IEnumerable<string> tools = null,
            string world = null,
            object options = null,
            object memory = null,
            object model = null,
            string npc = null)
        {
            var parameters = new Parameters
            {
                { "npc", npc },
                { "persona", persona },
                { "tools", DefinitionsOf(tools) },
                { "world", world },
                { "options", options },
                { "memory", memory },
                { "model", model },
            };
            return CallAsync("npc/create", parameters, result => new OamNpc(this, (Dictionary<string, object>)result));
        }

        /// <summary>Brings a character back from what <see cref="OamNpc.StateAsync"/> returned. Its tools must be registered again.</summary>
        /// <param name="state">The saved state.</param>
        /// <param name="npc">An id, if not the saved one.</param>
        /// <param name="model">Which model answers: states do not hold it.</param>
        /// <param name="tools">Names of registered tools, in place of the saved ones, as after an update of the game.</param>
        /// <param name="options">Options by their names in the protocol, in place of all saved ones.</param>
        /// <param name="world">The id of the world it lives in, if not the saved one.</param>
        public Task<OamNpc> RestoreNpcAsync(
            object state,
            string npc = null,
            object model = null,
            IEnumerable<string> tools = null,
            object options = null,
            string world = null)
        {
            var parameters = new Parameters
            {
                { "state", state },
                { "npc", npc },
                { "model", model },
                { "tools", DefinitionsOf(tools) },
                { "options", options },
                { "world", world },
            };
            return CallAsync("npc/restore", parameters, result => new OamNpc(this, (Dictionary<string, object>)result));
        }

        /// <summary>The character with this id. Nothing is sent; whether there is one, the first call tells.</summary>
        public OamNpc Npc(string id) => new OamNpc(this, id);

        /// <summary>Picks one of your options for a character; the result has <c>optionID</c>, <c>reasoning</c> and <c>confidence</c>.</summary>
        /// <param name="situation">What is going on, as the actor sees it.</param>
        /// <param name="options">Ids, or dictionaries with <c>id</c> and <c>description</c>.</param>
        /// <param name="actor">The id of an NPC, or a persona.</param>
        /// <param name="context">Facts of any form.</param>
        /// <param name="tools">What may be looked up: names of registered tools.</param>
        /// <param name="toolChoice">A word of <see cref="ToolChoice"/> or a tool's name.</param>
        /// <param name="fallbackOptionId">What is chosen when the model's safety rules block the decision.</param>
        /// <param name="model">Which model decides.</param>
        public Task<Dictionary<string, object>> DecideAsync(
            object situation,
            IEnumerable<object> options,
            object actor = null,
            object context = null,
            IEnumerable<string> tools = null,
            string toolChoice = null,
            string fallbackOptionId = null,
            object model = null)
        {
            var parameters = new Parameters
            {
                { "situation", situation },
                { "options", options },
                { "actor", actor },
                { "context", context },
                { "tools", DefinitionsOf(tools) },
                { "toolChoice", ToolChoice.ToJson(toolChoice) },
                { "fallbackOptionID", fallbackOptionId },
                { "model", model },
            };
            return CallAsync("decision/decide", parameters, result => (Dictionary<string, object>)result);
        }

        /// <summary>Decides for a crowd. The results are in the order of the requests; one that failed is a dictionary with <c>error</c>.</summary>
        /// <param name="requests">The params of a <c>decision/decide</c> each.</param>
        /// <param name="maxConcurrency">How many decisions are made at a time.</param>
        /// <param name="model">Which model decides.</param>
        public Task<List<object>> DecideManyAsync(IEnumerable<object> requests, int? maxConcurrency = null, object model = null)
        {
            var parameters = new Parameters { { "requests", requests }, { "maxConcurrency", maxConcurrency }, { "model", model } };
            return CallAsync("decision/decideMany", parameters, result => (List<object>)((Dictionary<string, object>)result)["results"]);
        }

        /// <summary>Writes one thing, an item or a quest, in the form of a JSON Schema.</summary>
        /// <param name="prompt">What to write.</param>
        /// <param name="schema">Its form, a dictionary.</param>
        /// <param name="instructions">Rules, in place of the built-in ones.</param>
        /// <param name="context">Facts of any form.</param>
        /// <param name="tools">What may be looked up: names of registered tools.</param>
        /// <param name="model">Which model writes.</param>
        public Task<object> GenerateAsync(
            string prompt,
            object schema,
            string instructions = null,
            object context = null,
            IEnumerable<string> tools = null,
            object model = null)
        {
            var parameters = new Parameters
            {
                { "prompt", prompt },
                { "schema", schema },
                { "instructions", instructions },
                { "context", context },
                { "tools", DefinitionsOf(tools) },
                { "model", model },
            };
            return CallAsync("content/generate", parameters, result => ((Dictionary<string, object>)result).Member("content"));
        }

        /// <summary>Creates a world: values that the game and its characters share.</summary>
        /// <param name="state">What is in it at first, a dictionary.</param>
        /// <param name="world">An id of your choice.</param>
        public Task<OamWorld> CreateWorldAsync(object state = null, string world = null) =>
            CallAsync(
                "world/create",
                new Parameters { { "world", world }, { "state", state } },
                result => World(((Dictionary<string, object>)result).Text("world")));

        /// <summary>The world with this id. Nothing is sent; whether there is one, the first call tells.</summary>
        public OamWorld World(string id) => new OamWorld(this, id);
    }
}
