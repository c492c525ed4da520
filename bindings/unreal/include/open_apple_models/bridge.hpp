/// The bridge: what a game creates once, pumps in its loop, and closes at its end.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core.hpp"
#include "npc.hpp"
#include "session.hpp"
#include "world.hpp"

namespace oam {

/// What was decided.
struct Decision {
    /// One of the options' ids.
    std::string option_id;
    std::string reasoning;
    /// 0 to 100.
    int confidence = 0;
    /// The model was blocked; this is the fallback option.
    bool is_fallback = false;
    Json all;

    explicit Decision(Json result)
        : option_id(result["optionID"].as_string()),
          reasoning(result["reasoning"].as_string()),
          confidence(static_cast<int>(result["confidence"].as_number())),
          is_fallback(result["isFallback"].as_bool()),
          all(std::move(result)) {}
};

/// Sessions, NPCs and worlds, and the models behind them, in this process.
///
/// Everything may be called from any thread. Handlers run in `pump`, in the order in which things happened: call it in every frame
/// of the game thread, and they may touch the game. Handles outlive the bridge harmlessly; requests then fail with `shut_down`.
///
/// Params are named as in the protocol (docs/PROTOCOL.md). `tools` among them are names of registered tools, or definitions.
class Bridge {
public:
    /// `options` are those of the C library, for instance `{"worker": ["my-worker"], "workers": 2}`; null is none. A mistake in them is
    /// told by every request.
    explicit Bridge(const Json& options = nullptr) : core_(std::make_shared<detail::Core>(options)) {}
    /// What was moved from can only be destroyed or assigned to.
    Bridge(Bridge&&) noexcept = default;
    Bridge& operator=(Bridge&& other) noexcept {
        if (this != &other) {
            close();
            core_ = std::move(other.core_);
        }
        return *this;
    }
    ~Bridge() { close(); }

    /// Version of the library.
    static std::string version() { return oam_version(); }

    /// Whether it takes requests.
    bool is_open() const { return core_ && core_->is_open(); }

    /// Ends all: pending requests fail with `shut_down`, tool calls are cancelled, both before this returns. No handler runs
    /// afterwards. May be called again, and from a handler.
    void close() {
        if (const auto core = core_) core->close();
    }

    /// Dispatches what has arrived, at most `max_messages`; returns how many. Does nothing within a handler.
    std::size_t pump(std::size_t max_messages = std::numeric_limits<std::size_t>::max()) {
        const auto core = core_;
        return core ? core->pump(max_messages) : 0;
    }

    /// Pumps until `done` or the time is over; returns whether it is done. For tools and tests: a game calls `pump`.
    bool pump_until(const std::function<bool()>& done, std::chrono::milliseconds time = std::chrono::seconds(30)) {
        const auto core = core_;
        const auto end = std::chrono::steady_clock::now() + time;
        while (core && !done()) {
            if (core->pump(1) > 0) continue;
            if (core->is_pumping() || !core->wait_until(end)) break;
        }
        return done();
    }

    /// Pumps until nothing is pending or the time is over; returns whether nothing is.
    bool pump_until_idle(std::chrono::milliseconds time = std::chrono::seconds(30)) {
        const auto core = core_;
        return pump_until([&] { return !core || !core->has_pending(); }, time);
    }

    // -- requests

    /// Sends any request; returns its id. `on_event` gets the events of a request that streams.
    std::string request(std::string_view method, Json params = nullptr, ResultHandler on_result = {}, EventHandler on_event = {}) {
        return core_->request(method, std::move(params), std::move(on_result), std::move(on_event));
    }

    /// Sends a request that nobody wants an answer to; an error if it could not be sent.
    Result<bool> notify(std::string_view method, Json params = nullptr) { return core_->notify(method, std::move(params)); }

    /// Makes one request and waits for its response, for `time` at most (0: without limit); then it fails with `timeout` and leaves
    /// no trace. Its events and tool calls go to the pump of another thread.
    Result<Json> call_blocking(std::string_view method, Json params = nullptr, std::chrono::milliseconds time = std::chrono::seconds(30)) {
        const std::chrono::milliseconds longest(std::numeric_limits<int>::max());
        return core_->call_blocking(method, std::move(params), static_cast<int>(std::min(time, longest).count()));
    }

    /// Handles all notifications of a method.
    void on_notification(std::string method, EventHandler handler) { core_->on_notification(std::move(method), std::move(handler)); }

    /// Gets what handlers throw and messages that make no sense; they go to standard error otherwise.
    void on_problem(ProblemHandler handler) { core_->on_problem(std::move(handler)); }

    // -- tools

    /// Registers a tool that answers at once: with text, JSON or `ToolOutput::failure`. What it throws is told to the model.
    void register_tool(Tool tool, ToolHandler handler) {
        core_->register_tool(std::move(tool), [handler = std::move(handler)](const ToolCall& call, const ToolReply& reply) {
            const ToolOutput output = handler(call);
            if (output.is_error) {
                reply.error(output.output.as_string());
            } else {
                reply.ok(output.output);
            }
        });
    }

    /// Registers a tool that answers when it can: when the animation has played.
    void register_later_tool(Tool tool, LaterToolHandler handler) { core_->register_tool(std::move(tool), std::move(handler)); }

    // -- sessions, NPCs and worlds can be used at once: what is asked of them waits until they are made

    Session create_session(Json params = Json::object(), ResultHandler on_result = {}) {
        const std::string id = identify(params, "session");
        core_->request_with_tools("session/create", std::move(params), std::move(on_result));
        return Session(core_, id);
    }
    Session session(std::string id) const { return Session(core_, std::move(id)); }

    Npc create_npc(Json params, ResultHandler on_result = {}) {
        const std::string id = identify(params, "npc");
        core_->request_with_tools("npc/create", std::move(params), std::move(on_result));
        return Npc(core_, id);
    }
    /// Makes an NPC of a saved state. What is in `changes` (`npc`, `tools`, `options`, `world`, `model`), also as null, wins over what is
    /// saved.
    Npc restore_npc(Json state, Json changes = Json::object(), ResultHandler on_result = {}) {
        const Json* given = changes.find("npc");
        if (!given && state["npc"].is_string()) changes.set("npc", state["npc"]);
        const std::string id = identify(changes, "npc");
        changes.set("state", std::move(state));
        core_->request_with_tools("npc/restore", std::move(changes), std::move(on_result));
        return Npc(core_, id);
    }
    Npc npc(std::string id) const { return Npc(core_, std::move(id)); }

    World create_world(Json params = Json::object(), ResultHandler on_result = {}) {
        const std::string id = identify(params, "world");
        core_->request("world/create", std::move(params), std::move(on_result));
        return World(core_, id);
    }
    World world(std::string id) const { return World(core_, std::move(id)); }

    // -- decisions and content

    /// Picks one of `options` for an `actor` in a `situation`.
    void decide(Json params, std::function<void(Result<Decision>)> on_decision) {
        core_->request_with_tools("decision/decide", std::move(params), detail::as(std::move(on_decision)));
    }

    /// Decisions of a crowd: an array of decisions, or of `{"error"}`, in the order of `requests`.
    void decide_many(Json params, ResultHandler on_results) {
        Json requests = Json::array();
        for (const Json& request : params["requests"].items()) {
            Result<Json> resolved = core_->with_tools(request);
            if (!resolved) return core_->deliver(on_results, resolved.error());
            requests.push(std::move(*resolved));
        }
        params.set("requests", std::move(requests));
        core_->request("decision/decideMany", std::move(params), detail::member_of(std::move(on_results), "results"));
    }

    /// Writes one thing in the form of a `schema`.
    void generate(Json params, ResultHandler on_content) {
        core_->request_with_tools("content/generate", std::move(params), detail::member_of(std::move(on_content), "content"));
    }

private:
    /// The id among the params; a new one if there is none.
    std::string identify(Json& params, const char* kind) {
        if (!params[kind].is_string()) params.set(kind, core_->new_object_id(kind));
        return params[kind].as_string();
    }

    std::shared_ptr<detail::Core> core_;
};

}  // namespace oam
