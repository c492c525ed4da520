/// Sessions: conversations with a model.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core.hpp"

namespace oam {

/// The answer of a turn.
struct Reply {
    std::string text;
    /// The answer as JSON, if a schema was given.
    Json structured;
    Json tool_calls;
    /// All that came: usage, steps, warnings.
    Json all;

    explicit Reply(Json result)
        : text(result["text"].as_string()), structured(result["structured"]), tool_calls(result["toolCalls"]), all(std::move(result)) {}
};

/// What a turn may be given beside its prompt. Any of the callbacks makes it stream.
struct RespondOptions {
    /// Further params of `session/respond`: `schema`, `toolChoice`, `maxToolRounds`, `maxToolCalls`, `enabledTools`.
    Json params = Json::object();
    /// Gets the whole text so far, each time that it changes.
    std::function<void(const std::string& text)> on_text = {};
    EventHandler on_event = {};
};

/// A handle on a session; copies are the same session. What is asked of it runs one after another.
class Session : public detail::Handle {
public:
    Session() = default;
    Session(std::weak_ptr<detail::Core> core, std::string id) : Handle(std::move(core), "session", std::move(id)) {}

    /// Runs one turn.
    void respond(std::string prompt, std::function<void(Result<Reply>)> on_reply, RespondOptions options = {}) const {
        Json params = std::move(options.params);
        params.set("prompt", std::move(prompt));
        if (!options.on_text && !options.on_event) {
            request("session/respond", std::move(params), detail::as(std::move(on_reply)));
            return;
        }
        params.set("stream", true);
        auto on_event = [options = std::move(options)](const Json& event) {
            if (options.on_event) options.on_event(event);
            if (options.on_text && event["type"].as_string() == "text") options.on_text(event["text"].as_string());
        };
        request("session/respond", std::move(params), detail::as(std::move(on_reply)), std::move(on_event));
    }

    /// Cancels what runs and what waits; the result is how many.
    void cancel(ResultHandler on_result = {}) const { request("session/cancel", {}, detail::member_of(std::move(on_result), "cancelled")); }
    /// Forgets the conversation and the context note.
    void reset(ResultHandler on_result = {}) const { request("session/reset", {}, std::move(on_result)); }
    void destroy(ResultHandler on_result = {}) const { request("session/delete", {}, std::move(on_result)); }
    /// The conversation, to be saved; `create_session` goes on from it as `history`.
    void transcript(ResultHandler on_result) const { request("session/transcript", {}, detail::member_of(std::move(on_result), "transcript")); }
    /// Null clears them.
    void set_instructions(Json instructions, ResultHandler on_result = {}) const {
        request("session/setInstructions", Json::object({{"instructions", std::move(instructions)}}), std::move(on_result));
    }
    /// What the model should know right now; null clears it.
    void set_context_note(Json note, ResultHandler on_result = {}) const {
        request("session/setContextNote", Json::object({{"note", std::move(note)}}), std::move(on_result));
    }
    /// Replaces the tools: names of registered ones, or definitions. The result are warnings.
    void set_tools(Json tools, ResultHandler on_result = {}) const {
        request("session/setTools", Json::object({{"tools", std::move(tools)}}), detail::member_of(std::move(on_result), "warnings"));
    }
    /// Summarizes all turns but the latest; the result is the summary, or null.
    void compact(int keep_recent_turns = 2, ResultHandler on_result = {}) const {
        Json params = Json::object({{"keepRecentTurns", keep_recent_turns}});
        request("session/compact", std::move(params), detail::member_of(std::move(on_result), "summary"));
    }
};

}  // namespace oam
