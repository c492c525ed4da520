/// Tools: what the model may ask the game for, and how the game answers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "json.hpp"

namespace oam {

/// A tool, as the model is told of it.
struct Tool {
    std::string name;
    /// What it does and what it returns. The model decides by it.
    std::string description;
    /// JSON Schema of the arguments; null means none.
    Json parameters = nullptr;
    /// Time for the answer; negative means the session's, 0 no limit.
    double timeout_seconds = -1;

    Json to_json() const {
        Json definition = Json::object({{"name", name}, {"description", description}});
        definition.set("parameters", parameters.is_null() ? Json::object({{"type", "object"}, {"properties", Json::object()}}) : parameters);
        if (timeout_seconds >= 0) definition.set("timeoutSeconds", timeout_seconds);
        return definition;
    }
};

/// A call that the model makes.
struct ToolCall {
    std::string id;
    std::string name;
    Json arguments;
    /// Whose call it is: one of the two, or neither for decisions and content.
    std::string session;
    std::string npc;
    /// Of the request that led to it.
    std::string request_id;
};

/// What a tool came to: JSON, or a failure that the model is told of.
struct ToolOutput {
    Json output;
    bool is_error = false;

    ToolOutput(Json value) : output(std::move(value)) {}
    template <class T, class = decltype(Json(std::declval<T>()))>
    ToolOutput(T&& value) : output(std::forward<T>(value)) {}

    static ToolOutput failure(std::string message) {
        ToolOutput made{Json(std::move(message))};
        made.is_error = true;
        return made;
    }
};

namespace detail {

/// A call that waits for its answer.
class OpenCall {
public:
    using Send = std::function<void(const ToolOutput&)>;

    explicit OpenCall(Send send) : send_(std::move(send)) {}
    OpenCall(const OpenCall&) = delete;
    OpenCall& operator=(const OpenCall&) = delete;
    /// Nobody can answer any more, so the model is told instead of left waiting.
    ~OpenCall() { answer(ToolOutput::failure("The tool gave no answer.")); }

    void answer(const ToolOutput& output) {
        if (const Send send = take_send()) send(output);
    }

    void cancel() {
        std::function<void()> on_cancel;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!send_) return;
            send_ = nullptr;
            cancelled_ = true;
            on_cancel = std::move(on_cancel_);
        }
        if (on_cancel) on_cancel();
    }

    bool is_cancelled() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return cancelled_;
    }

    void on_cancel(std::function<void()> handler) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!cancelled_) {
                on_cancel_ = std::move(handler);
                return;
            }
        }
        if (handler) handler();
    }

private:
    Send take_send() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::exchange(send_, nullptr);
    }

    std::mutex mutex_;
    Send send_;
    std::function<void()> on_cancel_;
    bool cancelled_ = false;
};

}  // namespace detail

/// Answers a call, once, from any thread and at any time. When the last copy is gone without an answer, the model is told so.
class ToolReply {
public:
    explicit ToolReply(std::shared_ptr<detail::OpenCall> call) : call_(std::move(call)) {}

    /// What the model sees: text or JSON; null is empty text. Does nothing after an answer, a cancellation or the bridge's end.
    void ok(Json output) const { call_->answer(ToolOutput(std::move(output))); }
    /// What the model sees as an error; it may try something else.
    void error(std::string message) const { call_->answer(ToolOutput::failure(std::move(message))); }

    /// Nobody wants the answer any more: out of time, or its turn was cancelled.
    bool is_cancelled() const { return call_->is_cancelled(); }
    /// Hears of the cancellation, in the pump; at once if it has happened.
    void on_cancel(std::function<void()> handler) const { call_->on_cancel(std::move(handler)); }

private:
    std::shared_ptr<detail::OpenCall> call_;
};

/// Answers at once.
using ToolHandler = std::function<ToolOutput(const ToolCall&)>;
/// Answers when it can.
using LaterToolHandler = std::function<void(const ToolCall&, ToolReply)>;

}  // namespace oam
