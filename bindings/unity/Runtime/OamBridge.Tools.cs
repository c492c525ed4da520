using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels
{
    /// <content>Tools: what the game does when a model asks for it.</content>
    public sealed partial class OamBridge
    {
        /// <summary>Registers a tool that answers at once. It takes the place of one with the same name.</summary>
        /// <param name="name">1 to 64 characters of A–Z, a–z, 0–9, <c>_</c>, <c>-</c> and <c>.</c></param>
        /// <param name="description">What it does and returns: the model decides by this.</param>
        /// <param name="parameters">The JSON Schema of its arguments, a dictionary; null means that it takes none.</param>
        /// <param name="handler">Carries the call out and returns its output: text, or anything that has a JSON form. What it throws is
        /// an error for the model, with the exception's message. A method that returns a task belongs to
        /// <see cref="RegisterAsyncTool"/>.</param>
        /// <param name="timeoutSeconds">Time for an answer, 0 to 86400; 0 is no limit, null the session's.</param>
        public void RegisterTool(
            string name, string description, object parameters, Func<ToolCall, object> handler, double? timeoutSeconds = null)
        {
            if (handler == null)
            {
                throw new ArgumentNullException(nameof(handler));
            }
            tools.Register(name, description, parameters, (call, reply) => reply.Ok(AsyncTool.Finished(handler(call))), timeoutSeconds);
        }

        /// <summary>Registers a tool that answers when it is done, for instance when an animation has ended.</summary>
        /// <param name="name">As for a tool that answers at once; so are the next two.</param>
        /// <param name="description">What it does and returns.</param>
        /// <param name="parameters">The JSON Schema of its arguments.</param>
        /// <param name="handler">Begins to carry the call out, and keeps the reply to answer later. Not an <c>async</c> method: nobody could
        /// tell the model what that throws.</param>
        /// <param name="timeoutSeconds">Time for an answer, 0 to 86400; 0 is no limit, null the session's.</param>
        public void RegisterTool(
            string name, string description, object parameters, Action<ToolCall, ToolReply> handler, double? timeoutSeconds = null) =>
            tools.Register(name, description, parameters, handler, timeoutSeconds);

        /// <summary>Registers a tool that is an asynchronous method. Its token is cancelled when nobody waits for the output any more.</summary>
        /// <param name="name">As for a tool that answers at once; so are the next two.</param>
        /// <param name="description">What it does and returns.</param>
        /// <param name="parameters">The JSON Schema of its arguments.</param>
        /// <param name="handler">Carries the call out.</param>
        /// <param name="timeoutSeconds">Time for an answer, 0 to 86400; 0 is no limit, null the session's.</param>
        public void RegisterAsyncTool(
            string name,
            string description,
            object parameters,
            Func<ToolCall, CancellationToken, Task<object>> handler,
            double? timeoutSeconds = null) =>
            tools.Register(name, description, parameters, AsyncTool.Handler(handler), timeoutSeconds);

        /// <summary>The definitions of the named tools for a raw request; of all registered tools if there are no names.</summary>
        /// <exception cref="KeyNotFoundException">No tool of this name is registered.</exception>
        public List<object> ToolDefinitions(params string[] names) =>
            names == null || names.Length == 0 ? tools.AllDefinitions() : tools.Definitions(names);

        /// <summary>The <c>tools</c> of a request; null, which is absent, if none were asked for.</summary>
        internal List<object> DefinitionsOf(IEnumerable<string> names) => names == null ? null : tools.Definitions(names);
    }
}
