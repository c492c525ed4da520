/// What is behind a bridge and its handles: sends requests, and gives each message that the pump takes to whoever waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json.hpp"
#include "json_text.hpp"
#include "native.hpp"
#include "result.hpp"
#include "tools.hpp"

namespace oam {

/// Gets the result of a request, in the pump; or at once if it could not be sent.
using ResultHandler = std::function<void(Result<Json>)>;
/// Gets an event or the params of a notification, in the pump.
using EventHandler = std::function<void(const Json&)>;
/// Gets what nobody else can be told of.
using ProblemHandler = std::function<void(const std::string&)>;

namespace detail {

class Core : public std::enable_shared_from_this<Core> {
public:
    explicit Core(const Json& options) {
        const Result<std::string> text = to_json(options, "options");
        // Options that are no JSON are no reason to have none: the library answers requests with what is wrong.
        native_ = std::make_unique<NativeBridge>(options.is_null() ? nullptr : text ? text->c_str() : text.error().message.c_str());
    }

    bool is_open() { return native_->is_open(); }

    // -- requests

    std::string request(std::string_view method, Json params, ResultHandler on_result, EventHandler on_event = {}) {
        const std::string id = new_request_id();
        const Result<std::string> line = request_line(id, method, std::move(params));
        if (!line) {
            deliver(on_result, line.error());
            return id;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            pending_[id] = Pending{std::move(on_result), std::make_shared<EventHandler>(std::move(on_event))};
        }
        if (native_->send(*line) != OAM_OK) settle(id, Error::shut_down());
        return id;
    }

    /// The same, for params whose `tools` may be names.
    void request_with_tools(std::string_view method, Json params, ResultHandler on_result, EventHandler on_event = {}) {
        Result<Json> resolved = with_tools(std::move(params));
        if (resolved) {
            request(method, std::move(*resolved), std::move(on_result), std::move(on_event));
        } else {
            deliver(on_result, resolved.error());
        }
    }

    Result<bool> notify(std::string_view method, Json params) {
        const Result<std::string> line = request_line(Json(), method, std::move(params));
        if (!line) return line.error();
        if (native_->send(*line) != OAM_OK) return Error::shut_down();
        return true;
    }

    Result<Json> call_blocking(std::string_view method, Json params, int timeout_ms) {
        const Result<std::string> line = request_line(new_request_id(), method, std::move(params));
        if (!line) return line.error();
        const std::optional<std::string> response = native_->call_blocking(*line, timeout_ms);
        if (!response) return Error::shut_down();
        Result<Json> parsed = parse_json(*response);
        if (!parsed) return parsed.error();
        if (const Json* error = parsed->find("error")) return Error::from_json(*error);
        return parsed->take("result");
    }

    /// An id for an object that is made without one, so that it can be used before oam has answered.
    std::string new_object_id(std::string_view kind) { return std::string(kind) + "-cpp-" + std::to_string(++last_object_); }

    // -- what may happen

    void on_notification(std::string method, EventHandler handler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        notification_handlers_[std::move(method)].push_back(std::make_shared<EventHandler>(std::move(handler)));
    }

    void on_problem(ProblemHandler handler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        on_problem_ = std::make_shared<ProblemHandler>(std::move(handler));
    }

    void subscribe(const std::string& subscription, std::string world, EventHandler handler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        subscribers_[subscription] = Subscriber{std::move(world), std::make_shared<EventHandler>(std::move(handler))};
    }

    void unsubscribe(const std::string& subscription) {
        const std::lock_guard<std::mutex> lock(mutex_);
        subscribers_.erase(subscription);
    }

    void forget_world(const std::string& world) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto each = subscribers_.begin(); each != subscribers_.end();) {
            each = each->second.world == world ? subscribers_.erase(each) : std::next(each);
        }
    }

    // -- tools

    void register_tool(Tool tool, LaterToolHandler handler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const std::string name = tool.name;
        tools_[name] = RegisteredTool{tool.to_json(), std::make_shared<LaterToolHandler>(std::move(handler))};
    }

    /// `params` with definitions in the place of the names in its `tools`. An error names a tool that is not registered.
    Result<Json> with_tools(Json params) {
        const Json* tools = params.find("tools");
        if (!tools || !tools->is_array()) return params;
        Json definitions = Json::array();
        for (const Json& tool : tools->items()) {
            if (!tool.is_string()) {
                definitions.push(tool);
                continue;
            }
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto registered = tools_.find(tool.as_string());
            if (registered == tools_.end()) {
                return Error::invalid_params("No tool '" + tool.as_string() + "' is registered: call register_tool first.");
            }
            definitions.push(registered->second.definition);
        }
        params.set("tools", std::move(definitions));
        return params;
    }

    // -- the pump

    std::size_t pump(std::size_t max_messages) {
        const std::shared_ptr<Core> alive = shared_from_this();
        if (pumping_.exchange(true)) return 0;
        std::size_t count = 0;
        for (; count < max_messages; ++count) {
            const std::optional<std::string> line = native_->inbox().pop();
            if (!line) break;
            dispatch(*line);
        }
        pumping_ = false;
        return count;
    }

    bool is_pumping() const { return pumping_; }

    bool has_pending() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return !pending_.empty();
    }

    bool wait_until(std::chrono::steady_clock::time_point end) { return native_->inbox().wait_until(end); }

    void close() {
        native_->close();
        std::map<std::string, Pending> pending;
        std::map<std::string, std::weak_ptr<OpenCall>> calls;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            pending.swap(pending_);
            calls.swap(calls_);
            subscribers_.clear();
        }
        for (const auto& entry : calls) {
            if (const auto call = entry.second.lock()) guarded([&] { call->cancel(); });
        }
        for (auto& entry : pending) deliver(entry.second.on_result, Error::shut_down());
    }

    void deliver(const ResultHandler& handler, Result<Json> result) {
        if (handler) guarded([&] { handler(std::move(result)); });
    }

    /// Calls what the user gave; what it throws is a problem, not the end.
    template <class Action>
    void guarded(Action action) {
#if defined(__cpp_exceptions)
        try {
            action();
        } catch (const std::exception& problem) {
            tell(std::string("A handler failed: ") + problem.what());
        } catch (...) {
            tell("A handler failed.");
        }
#else
        action();
#endif
    }

private:
    struct Pending {
        ResultHandler on_result;
        std::shared_ptr<EventHandler> on_event;
    };
    struct RegisteredTool {
        Json definition;
        std::shared_ptr<LaterToolHandler> handler;
    };
    struct Subscriber {
        std::string world;
        std::shared_ptr<EventHandler> handler;
    };

    std::string new_request_id() { return "cpp-" + std::to_string(++last_id_); }

    /// A request, or without an id a notification, as oam reads it.
    static Result<std::string> request_line(Json id, std::string_view method, Json params) {
        Json message = Json::object({{"jsonrpc", "2.0"}});
        if (!id.is_null()) message.set("id", std::move(id));
        message.set("method", method);
        if (!params.is_null()) message.set("params", std::move(params));
        return encode(message);
    }

    /// oam answers what it cannot read to nobody, and whoever waits for an answer would wait forever.
    static Result<std::string> encode(const Json& message) {
        Result<std::string> line = to_json(message, "");
        if (line && line->size() > max_message_bytes) return Error::invalid_params("The message is longer than 64 MiB, which oam does not read.");
        return line;
    }

    void dispatch(const std::string& line) {
        Result<Json> parsed = parse_json(line);
        if (!parsed) {
            tell("A message of the bridge cannot be read: " + parsed.error().message);
            return;
        }
        Json& received = *parsed;
        const std::string& method = received["method"].as_string();
        const std::string& id = received["id"].as_string();
        if (method.empty()) {
            if (id.empty()) {
                tell("oam cannot read a message: " + received["error"]["message"].as_string());
            } else if (const Json* error = received.find("error")) {
                settle(id, Error::from_json(*error));
            } else {
                settle(id, received.take("result"));
            }
        } else if (!received.find("id")) {
            notified(method, received["params"]);
        } else if (method == "tool/call") {
            call_tool(id, received["params"]);
        } else {
            refuse(id, "The client does not serve '" + method + "'.");
        }
    }

    void settle(const std::string& id, Result<Json> result) {
        Pending pending;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = pending_.find(id);
            if (found == pending_.end()) return;
            pending = std::move(found->second);
            pending_.erase(found);
        }
        deliver(pending.on_result, std::move(result));
    }

    void notified(const std::string& method, const Json& params) {
        if (method == "tool/cancel") cancel_call(params["id"].as_string());
        if (const auto handler = event_handler(method, params)) {
            const bool is_change = method == "world/changed";
            guarded([&] { (*handler)(is_change ? params : params["event"]); });
        }
        std::vector<std::shared_ptr<EventHandler>> handlers;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = notification_handlers_.find(method);
            if (found != notification_handlers_.end()) handlers = found->second;
        }
        for (const auto& handler : handlers) guarded([&] { (*handler)(params); });
    }

    /// Who waits for this very event or change.
    std::shared_ptr<EventHandler> event_handler(const std::string& method, const Json& params) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::shared_ptr<EventHandler> handler;
        if (method == "session/event" || method == "npc/event") {
            const auto found = pending_.find(params["requestId"].as_string());
            if (found != pending_.end()) handler = found->second.on_event;
        } else if (method == "world/changed") {
            const auto found = subscribers_.find(params["subscription"].as_string());
            if (found != subscribers_.end()) handler = found->second.handler;
        }
        return handler && *handler ? handler : nullptr;
    }

    void call_tool(const std::string& id, const Json& params) {
        const Json& call = params["call"];
        ToolCall asked{call["id"].as_string(),        call["name"].as_string(), call["arguments"],
                       params["session"].as_string(), params["npc"].as_string(), params["requestId"].as_string()};
        std::shared_ptr<LaterToolHandler> handler;
        auto open = std::make_shared<OpenCall>([core = weak_from_this(), id](const ToolOutput& output) {
            if (const auto alive = core.lock()) alive->answer(id, output);
        });
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = tools_.find(asked.name);
            if (found != tools_.end()) handler = found->second.handler;
            if (handler) calls_[id] = open;
        }
        if (!handler) {
            open->cancel();
            refuse(id, "No tool '" + asked.name + "' is registered.");
            return;
        }
        const ToolReply reply(std::move(open));
#if defined(__cpp_exceptions)
        try {
            (*handler)(asked, reply);
        } catch (const std::exception& problem) {
            reply.error(problem.what());
        } catch (...) {
            reply.error("The tool failed.");
        }
#else
        (*handler)(asked, reply);
#endif
    }

    void answer(const std::string& id, const ToolOutput& output) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            calls_.erase(id);
        }
        const Result<bool> sent = respond(id, output);
        if (sent) return;
        const std::string problem = "The tool's output is no JSON: " + sent.error().message;
        // The names in an output may be no UTF-8, and so what is wrong with it.
        if (!respond(id, ToolOutput::failure(problem))) respond(id, ToolOutput::failure("The tool's output is no JSON."));
    }

    Result<bool> respond(const std::string& id, const ToolOutput& output) {
        Json result = Json::object({{"output", output.output.is_null() ? Json("") : output.output}});
        if (output.is_error) result.set("isError", true);
        return respond(id, "result", std::move(result));
    }

    void cancel_call(const std::string& id) {
        std::shared_ptr<OpenCall> call;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = calls_.find(id);
            if (found == calls_.end()) return;
            call = found->second.lock();
            calls_.erase(found);
        }
        if (call) guarded([&] { call->cancel(); });
    }

    void refuse(const std::string& id, const std::string& message_text) {
        respond(id, "error", Json::object({{"code", -32601}, {"message", message_text}}));
    }

    /// False where the bridge is closed and nobody waits; an error if it cannot be said.
    Result<bool> respond(const std::string& id, std::string_view kind, Json body) {
        Json message = Json::object({{"jsonrpc", "2.0"}, {"id", id}});
        message.set(kind, std::move(body));
        const Result<std::string> line = encode(message);
        if (!line) return line.error();
        return native_->send(*line) == OAM_OK;
    }

    void tell(const std::string& problem) {
        std::shared_ptr<ProblemHandler> handler;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            handler = on_problem_;
        }
        if (handler && *handler) {
            (*handler)(problem);
        } else {
            std::fprintf(stderr, "open-apple-models: %s\n", problem.c_str());
        }
    }

    std::unique_ptr<NativeBridge> native_;
    std::atomic<std::uint64_t> last_id_{0};
    std::atomic<std::uint64_t> last_object_{0};
    std::atomic<bool> pumping_{false};

    /// Guards what follows; never held while anything of the user's runs.
    std::mutex mutex_;
    std::map<std::string, Pending> pending_;
    std::map<std::string, RegisteredTool> tools_;
    std::map<std::string, std::weak_ptr<OpenCall>> calls_;
    std::map<std::string, Subscriber> subscribers_;
    std::map<std::string, std::vector<std::shared_ptr<EventHandler>>> notification_handlers_;
    std::shared_ptr<ProblemHandler> on_problem_;
};

/// What handles have in common: an object of oam, and the core, which they do not keep alive.
class Handle {
public:
    const std::string& id() const { return id_; }

protected:
    Handle() = default;
    Handle(std::weak_ptr<Core> core, const char* kind, std::string id) : core_(std::move(core)), kind_(kind), id_(std::move(id)) {}

    void request(std::string_view method, Json params, ResultHandler on_result, EventHandler on_event = {}) const {
        params.set(kind_, id_);
        if (const auto core = core_.lock()) {
            core->request_with_tools(method, std::move(params), std::move(on_result), std::move(on_event));
        } else if (on_result) {
            on_result(Error::shut_down());
        }
    }

    std::weak_ptr<Core> core_;

private:
    const char* kind_ = "";
    std::string id_;
};

/// A handler of results that gets one member of them.
inline ResultHandler member_of(std::function<void(Result<Json>)> handler, const char* member) {
    if (!handler) return {};
    return [handler = std::move(handler), member](Result<Json> result) {
        handler(std::move(result).map([&](Json&& all) { return all.take(member); }));
    };
}

/// A handler of results that gets them as `T`, which is made from JSON.
template <class T>
ResultHandler as(std::function<void(Result<T>)> handler) {
    if (!handler) return {};
    return [handler = std::move(handler)](Result<Json> result) {
        handler(std::move(result).map([](Json&& all) { return T(std::move(all)); }));
    };
}

}  // namespace detail
}  // namespace oam
