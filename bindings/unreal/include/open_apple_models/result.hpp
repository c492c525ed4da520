/// Errors, and values that may be one. Nothing here throws: engines are mostly built without exceptions.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "json.hpp"

namespace oam {

/// Why a request failed. Decide by `name`, which is stable; `message` is a sentence for people (docs/PROTOCOL.md, "Errors").
struct Error {
    int code = -32603;
    std::string name = "internal_error";
    std::string message;
    /// Further members, such as `retryAfterSeconds`.
    Json data;

    /// The error of a message.
    static Error from_json(const Json& error) {
        Error made;
        made.code = static_cast<int>(error["code"].as_number(made.code));
        if (error["data"]["code"].is_string()) made.name = error["data"]["code"].as_string();
        made.message = error["message"].is_string() ? error["message"].as_string() : "Unknown error";
        made.data = error["data"];
        return made;
    }

    static Error shut_down() { return {-32023, "shut_down", "The bridge is closed.", {}}; }
    static Error invalid_params(std::string message) { return {-32602, "invalid_params", std::move(message), {}}; }
};

/// A value, or why there is none.
template <class T>
class Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    /// The value; ends the program if there is none.
    T& value() {
        require(ok(), "there is no value");
        return *std::get_if<0>(&state_);
    }
    const T& value() const { return const_cast<Result*>(this)->value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }

    /// The error; ends the program if there is none.
    const Error& error() const {
        require(!ok(), "there is no error");
        return *std::get_if<1>(&state_);
    }

    /// What `convert` makes of the value; an error stays what it is.
    template <class Convert>
    auto map(Convert convert) && -> Result<decltype(convert(std::declval<T&&>()))> {
        if (!ok()) return error();
        return convert(std::move(value()));
    }

private:
    void require(bool holds, const char* what) const {
        if (holds) return;
        const Error* error = std::get_if<1>(&state_);
        std::fprintf(stderr, "open-apple-models: %s: %s\n", what, error ? error->message.c_str() : "it is a value");
        std::abort();
    }

    std::variant<T, Error> state_;
};

}  // namespace oam
