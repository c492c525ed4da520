/// A JSON value: what messages are made of. Numbers are doubles, as in the protocol; integers are exact up to 2^53.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace oam {

/// A null, boolean, number, text (UTF-8), array or object. Objects keep the order of their members.
///
/// Reading never fails: what is not there, or of another kind, reads as null, false, 0, "" or empty.
class Json {
public:
    struct Member;
    using Array = std::vector<Json>;
    using Object = std::vector<Member>;

    Json() noexcept : value_(nullptr) {}
    Json(std::nullptr_t) noexcept : value_(nullptr) {}
    template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
    Json(T value) noexcept : value_(value) {}
    template <class T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Json(T value) noexcept : value_(static_cast<double>(value)) {}
    Json(const char* text) : value_(std::string(text)) {}
    Json(std::string text) noexcept : value_(std::move(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(Array items) noexcept : value_(std::move(items)) {}
    Json(Object members) noexcept;

    /// An array: `Json::array({1, "two", nullptr})`.
    static Json array(std::initializer_list<Json> items = {}) { return Json(Array(items)); }
    /// An object: `Json::object({{"name", "Gorm"}, {"gold", 45}})`.
    static Json object(std::initializer_list<Member> members = {});

    bool is_null() const noexcept { return std::holds_alternative<std::nullptr_t>(value_); }
    bool is_bool() const noexcept { return std::holds_alternative<bool>(value_); }
    bool is_number() const noexcept { return std::holds_alternative<double>(value_); }
    bool is_string() const noexcept { return std::holds_alternative<std::string>(value_); }
    bool is_array() const noexcept { return std::holds_alternative<Array>(value_); }
    bool is_object() const noexcept { return std::holds_alternative<Object>(value_); }

    bool as_bool(bool otherwise = false) const noexcept;
    double as_number(double otherwise = 0) const noexcept;
    const std::string& as_string() const noexcept;
    /// The items of an array.
    const Array& items() const noexcept;
    /// The members of an object, in their order.
    const Object& members() const noexcept;

    /// A member of an object; nullptr where there is none. Of members with the same name the last counts.
    const Json* find(std::string_view name) const noexcept;
    /// A member of an object; null where there is none.
    const Json& operator[](std::string_view name) const noexcept;
    /// An item of an array; null where there is none.
    const Json& operator[](std::size_t index) const noexcept;

    /// Sets a member, in its place or at the end. What is no object becomes one.
    Json& set(std::string_view name, Json value);
    /// Removes a member and returns it; null where there was none.
    Json take(std::string_view name);
    /// Appends an item. What is no array becomes one.
    Json& push(Json item);

    friend bool operator==(const Json& left, const Json& right);
    friend bool operator!=(const Json& left, const Json& right) { return !(left == right); }

private:
    template <class T>
    const T& get_or_empty() const noexcept {
        static const T empty{};
        const T* value = std::get_if<T>(&value_);
        return value ? *value : empty;
    }

    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value_;
};

struct Json::Member {
    std::string name;
    Json value;

    friend bool operator==(const Member& left, const Member& right) {
        return left.name == right.name && left.value == right.value;
    }
};

inline Json::Json(Object members) noexcept : value_(std::move(members)) {}

inline Json Json::object(std::initializer_list<Member> members) { return Json(Object(members)); }

inline bool Json::as_bool(bool otherwise) const noexcept {
    const bool* value = std::get_if<bool>(&value_);
    return value ? *value : otherwise;
}

inline double Json::as_number(double otherwise) const noexcept {
    const double* value = std::get_if<double>(&value_);
    return value ? *value : otherwise;
}

inline const std::string& Json::as_string() const noexcept { return get_or_empty<std::string>(); }
inline const Json::Array& Json::items() const noexcept { return get_or_empty<Array>(); }
inline const Json::Object& Json::members() const noexcept { return get_or_empty<Object>(); }

inline const Json* Json::find(std::string_view name) const noexcept {
    const Object& all = members();
    for (auto member = all.rbegin(); member != all.rend(); ++member) {
        if (member->name == name) return &member->value;
    }
    return nullptr;
}

inline const Json& Json::operator[](std::string_view name) const noexcept {
    static const Json null;
    const Json* member = find(name);
    return member ? *member : null;
}

inline const Json& Json::operator[](std::size_t index) const noexcept {
    static const Json null;
    return index < items().size() ? items()[index] : null;
}

inline Json& Json::set(std::string_view name, Json value) {
    if (!is_object()) value_ = Object();
    if (const Json* member = find(name)) {
        *const_cast<Json*>(member) = std::move(value);
    } else {
        std::get<Object>(value_).push_back({std::string(name), std::move(value)});
    }
    return *this;
}

inline Json Json::take(std::string_view name) {
    Json taken;
    if (Object* all = std::get_if<Object>(&value_)) {
        for (auto member = all->begin(); member != all->end(); ++member) {
            if (member->name != name) continue;
            taken = std::move(member->value);
            all->erase(member);
            break;
        }
    }
    return taken;
}

inline Json& Json::push(Json item) {
    if (!is_array()) value_ = Array();
    std::get<Array>(value_).push_back(std::move(item));
    return *this;
}

inline bool operator==(const Json& left, const Json& right) { return left.value_ == right.value_; }

}  // namespace oam
