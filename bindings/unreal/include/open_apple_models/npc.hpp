/// NPCs: characters of the game.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"

namespace oam {

/// What a character says.
struct NpcReply {
    std::string line;
    std::string emotion;
    std::vector<std::string> player_options;
    bool ends_conversation = false;
    /// How it feels about the player, −100 to 100.
    int relationship = 0;
    /// The model was blocked; `line` is one of the fallback lines.
    bool is_fallback = false;
    /// All that came: tool calls, usage, warnings.
    Json all;

    explicit NpcReply(Json result)
        : line(result["line"].as_string()),
          emotion(result["emotion"].as_string()),
          ends_conversation(result["endsConversation"].as_bool()),
          relationship(static_cast<int>(result["relationship"].as_number())),
          is_fallback(result["isFallback"].as_bool()) {
        for (const Json& option : result["playerOptions"].items()) player_options.push_back(option.as_string());
        all = std::move(result);
    }
};

/// What a turn may be given beside the player's line. Any of the callbacks makes it stream.
struct TalkOptions {
    /// What is happening right now, for this turn alone.
    Json context = nullptr;
    /// "auto", "none", "required", "explicit" or {"tool": name}; null is the NPC's own.
    Json tool_choice = nullptr;
    /// Gets the whole line so far, each time that it changes.
    std::function<void(const std::string& line)> on_line = {};
    /// Gets the emotion, as soon as it is known.
    std::function<void(const std::string& emotion)> on_emotion = {};
    EventHandler on_event = {};
};

/// A handle on an NPC; copies are the same NPC. What is asked of it runs one after another.
class Npc : public detail::Handle {
public:
    Npc() = default;
    Npc(std::weak_ptr<detail::Core> core, std::string id) : Handle(std::move(core), "npc", std::move(id)) {}

    /// Says a line to the character. An empty one lets it speak first.
    void talk(std::string line, std::function<void(Result<NpcReply>)> on_reply, TalkOptions options = {}) const {
        Json params = Json::object({{"line", std::move(line)}});
        if (!options.context.is_null()) params.set("context", std::move(options.context));
        if (!options.tool_choice.is_null()) params.set("toolChoice", std::move(options.tool_choice));
        if (!options.on_line && !options.on_emotion && !options.on_event) {
            request("npc/talk", std::move(params), detail::as(std::move(on_reply)));
            return;
        }
        params.set("stream", true);
        auto shown = std::make_shared<std::string>();
        auto on_event = [options = std::move(options), shown](const Json& event) { tell(options, *shown, event); };
        request("npc/talk", std::move(params), detail::as(std::move(on_reply)), std::move(on_event));
    }

    /// A short line in passing.
    void bark(Json situation, ResultHandler on_line) const {
        request("npc/bark", Json::object({{"situation", std::move(situation)}}), detail::member_of(std::move(on_line), "line"));
    }
    /// The character, to be saved; `restore_npc` makes it again. Without `settle` it does not wait for turns under way.
    void state(ResultHandler on_state, bool settle = true) const {
        request("npc/state", Json::object({{"settle", settle}}), detail::member_of(std::move(on_state), "state"));
    }
    /// Changes `persona`, `memory`, `options`, `tools` from the next turn on; null resets a member. The result are warnings.
    void update(Json changes, ResultHandler on_result = {}) const {
        request("npc/update", std::move(changes), detail::member_of(std::move(on_result), "warnings"));
    }
    /// Forgets the conversation, and the memory if asked to.
    void reset(bool clear_memory = false, ResultHandler on_result = {}) const {
        request("npc/reset", Json::object({{"clearMemory", clear_memory}}), std::move(on_result));
    }
    /// Cancels what runs and what waits; the result is how many.
    void cancel(ResultHandler on_result = {}) const { request("npc/cancel", {}, detail::member_of(std::move(on_result), "cancelled")); }
    void destroy(ResultHandler on_result = {}) const { request("npc/delete", {}, std::move(on_result)); }

private:
    static void tell(const TalkOptions& options, std::string& shown, const Json& event) {
        const std::string& type = event["type"].as_string();
        if (options.on_event) options.on_event(event);
        if (type == "emotion") {
            if (options.on_emotion) options.on_emotion(event["emotion"].as_string());
            return;
        }
        if (type == "lineDelta") {
            shown += event["delta"].as_string();
        } else if (type == "lineReset") {
            shown = event["line"].as_string();
        } else {
            return;
        }
        if (options.on_line) options.on_line(shown);
    }
};

}  // namespace oam
