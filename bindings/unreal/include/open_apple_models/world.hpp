/// Worlds: JSON objects that the game and its NPCs share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core.hpp"

namespace oam {

/// Hears of changes until it is ended: by `end`, with its world, or with the bridge. Copies are the same subscription.
class Subscription {
public:
    /// Ends it; harmless when it has ended. No change comes afterwards.
    void end() const {
        if (!state_) return;
        std::string id;
        {
            const std::lock_guard<std::mutex> lock(state_->mutex);
            state_->ended = true;
            id = std::exchange(state_->id, {});
        }
        release(state_->core, id);
    }

private:
    friend class World;

    struct State {
        std::weak_ptr<detail::Core> core;
        std::mutex mutex;
        /// Empty until oam has answered, and once it has ended.
        std::string id;
        bool ended = false;
    };

    explicit Subscription(std::weak_ptr<detail::Core> core) : state_(std::make_shared<State>()) { state_->core = std::move(core); }

    static void release(const std::weak_ptr<detail::Core>& weak_core, const std::string& id) {
        const auto core = weak_core.lock();
        if (!core || id.empty()) return;
        core->unsubscribe(id);
        core->request("world/unsubscribe", Json::object({{"subscription", id}}), {});
    }

    std::shared_ptr<State> state_;
};

/// A handle on a world; copies are the same world. Places in it are paths: keys and list positions joined by dots.
class World : public detail::Handle {
public:
    World() = default;
    World(std::weak_ptr<detail::Core> core, std::string id) : Handle(std::move(core), "world", std::move(id)) {}

    /// What is at `path`; null where there is nothing.
    void get(std::string path, ResultHandler on_value) const {
        request("world/get", at(std::move(path)), detail::member_of(std::move(on_value), "value"));
    }
    /// Writes; the result is the world's version.
    void set(std::string path, Json value, ResultHandler on_version = {}) const {
        Json params = at(std::move(path));
        params.set("value", std::move(value));
        request("world/set", std::move(params), detail::member_of(std::move(on_version), "version"));
    }
    /// Merges a patch (objects merge, null deletes, all else replaces); the result is the world's version.
    void merge(Json patch, std::string path = "", ResultHandler on_version = {}) const {
        Json params = at(std::move(path));
        params.set("patch", std::move(patch));
        request("world/merge", std::move(params), detail::member_of(std::move(on_version), "version"));
    }
    /// Removes what is at `path`; the result is the old value, null where there was none.
    void remove(std::string path, ResultHandler on_old_value = {}) const {
        request("world/remove", at(std::move(path)), detail::member_of(std::move(on_old_value), "oldValue"));
    }
    /// The whole world, to be saved; `create_world` makes it again.
    void snapshot(ResultHandler on_state) const { request("world/snapshot", {}, detail::member_of(std::move(on_state), "state")); }

    /// Tells of each change at, inside or above `path`: `path`, `oldValue`, `newValue`. `on_result` says whether it began.
    Subscription subscribe(std::string path, EventHandler on_change, ResultHandler on_result = {}) const {
        Subscription subscription(core_);
        auto state = subscription.state_;
        auto begin = [state, world = id(), on_change = std::move(on_change), on_result = std::move(on_result)](Result<Json> result) {
            const auto core = state->core.lock();
            if (result && core) {
                const std::string subscribed = (*result)["subscription"].as_string();
                bool ended = false;
                {
                    const std::lock_guard<std::mutex> lock(state->mutex);
                    ended = state->ended;
                    if (!ended) state->id = subscribed;
                }
                // The first change may be the very next message.
                core->subscribe(subscribed, world, on_change);
                if (ended) Subscription::release(state->core, subscribed);
            }
            if (on_result) on_result(std::move(result));
        };
        request("world/subscribe", at(std::move(path)), std::move(begin));
        return subscription;
    }

    /// Deletes the world; its subscriptions end.
    void destroy(ResultHandler on_result = {}) const {
        auto forget = [core = core_, world = id(), on_result = std::move(on_result)](Result<Json> result) {
            const auto alive = core.lock();
            if (result && alive) alive->forget_world(world);
            if (on_result) on_result(std::move(result));
        };
        request("world/delete", {}, std::move(forget));
    }

private:
    static Json at(std::string path) { return Json::object({{"path", std::move(path)}}); }
};

}  // namespace oam
