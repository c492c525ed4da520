/// The C library, so that it cannot be used wrongly: a handle that is not used after its end, and an inbox for its messages.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "open_apple_models.h"

namespace oam::detail {

/// Messages that wait for the pump. The library's thread puts them in and goes on.
class Inbox {
public:
    static void receive(const char* line, void* inbox) { static_cast<Inbox*>(inbox)->push(line); }

    std::optional<std::string> pop() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (lines_.empty()) return std::nullopt;
        std::string line = std::move(lines_.front());
        lines_.pop_front();
        return line;
    }

    /// Waits for a message; false if there is none until then.
    bool wait_until(std::chrono::steady_clock::time_point end) {
        std::unique_lock<std::mutex> lock(mutex_);
        return news_.wait_until(lock, end, [this] { return !lines_.empty() || closed_; }) && !lines_.empty();
    }

    /// Forgets what waits, and takes no more.
    void close() {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
        lines_.clear();
        news_.notify_all();
    }

private:
    void push(const char* line) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (closed_) return;
        lines_.emplace_back(line);
        news_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable news_;
    std::deque<std::string> lines_;
    bool closed_ = false;
};

/// A bridge of the library. Any thread may use and close it at any time.
class NativeBridge {
public:
    /// `options_json` may be nullptr.
    explicit NativeBridge(const char* options_json)
        : handle_(oam_bridge_create_with_options(&Inbox::receive, &inbox_, options_json)) {}

    NativeBridge(const NativeBridge&) = delete;
    NativeBridge& operator=(const NativeBridge&) = delete;
    ~NativeBridge() { close(); }

    Inbox& inbox() { return inbox_; }

    bool is_open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return handle_ && !closing_;
    }

    /// OAM_OK, an error of the library, or OAM_ERROR_INVALID_ARGUMENT if the bridge is closed.
    int send(const std::string& line) {
        const Call call(*this);
        return call ? oam_bridge_send(call.handle(), line.c_str()) : OAM_ERROR_INVALID_ARGUMENT;
    }

    /// The response; nothing if the bridge is closed.
    std::optional<std::string> call_blocking(const std::string& request, int timeout_ms) {
        const Call call(*this);
        if (!call) return std::nullopt;
        char* response = oam_call_blocking(call.handle(), request.c_str(), timeout_ms);
        if (!response) return std::nullopt;
        std::string line = response;
        oam_string_free(response);
        return line;
    }

    /// Ends blocking calls of other threads, waits for them and destroys the bridge. No message comes afterwards.
    void close() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!handle_) return;
        if (!closing_) {
            closing_ = true;
            if (calls_ > 0) oam_bridge_send(handle_, R"({"jsonrpc":"2.0","method":"shutdown"})");
            changed_.wait(lock, [this] { return calls_ == 0; });
            lock.unlock();
            oam_bridge_destroy(handle_);
            inbox_.close();
            lock.lock();
            handle_ = nullptr;
            changed_.notify_all();
        }
        changed_.wait(lock, [this] { return !handle_; });
    }

private:
    /// Keeps the handle valid while a thread is inside the library.
    class Call {
    public:
        explicit Call(NativeBridge& bridge) : bridge_(bridge) {
            const std::lock_guard<std::mutex> lock(bridge.mutex_);
            if (!bridge.handle_ || bridge.closing_) return;
            handle_ = bridge.handle_;
            ++bridge.calls_;
        }
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        ~Call() {
            if (!handle_) return;
            const std::lock_guard<std::mutex> lock(bridge_.mutex_);
            --bridge_.calls_;
            bridge_.changed_.notify_all();
        }

        explicit operator bool() const { return handle_ != nullptr; }
        oam_bridge* handle() const { return handle_; }

    private:
        NativeBridge& bridge_;
        oam_bridge* handle_ = nullptr;
    };

    Inbox inbox_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int calls_ = 0;
    bool closing_ = false;
    oam_bridge* handle_;
};

}  // namespace oam::detail
