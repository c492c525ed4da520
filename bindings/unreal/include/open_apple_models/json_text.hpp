/// JSON text: read strictly, written exactly.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>

#include "json.hpp"
#include "result.hpp"

/// Not every standard library converts doubles with <charconv> yet.
#if !defined(OAM_HAS_CHARCONV)
#if defined(__cpp_lib_to_chars)
#define OAM_HAS_CHARCONV 1
#else
#define OAM_HAS_CHARCONV 0
#endif
#endif

namespace oam {

/// Arrays and objects inside each other that are read and written.
inline constexpr int max_json_depth = 100;
/// What oam reads of a message.
inline constexpr std::size_t max_message_bytes = 64 * 1024 * 1024;

/// Reads JSON text (RFC 8259): one value, nothing before and behind it but white space. The error tells where it is wrong.
Result<Json> parse_json(std::string_view text);

/// Writes a value in one line. NaN, infinities, text that is not UTF-8 and more than 100 levels have no JSON: the error names the
/// place, beginning with `name` if there is one.
Result<std::string> to_json(const Json& value, std::string_view name = "value");

/// Reads a file of JSON.
Result<Json> read_json_file(const std::string& path);

namespace detail {

/// The length of the UTF-8 character at the front of `text`; 0 if there is none.
inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t index) { return index < text.size() ? static_cast<unsigned char>(text[index]) : 0u; };
    const auto follows = [&](std::size_t index, unsigned low = 0x80, unsigned high = 0xbf) {
        return byte(index) >= low && byte(index) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return text.empty() ? 0 : 1;
    if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const bool second = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
        return second && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool second = follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
        return second && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

inline void append_utf8(std::string& text, std::uint32_t code) {
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0 | (code >> 6));
        tail(0);
    } else if (code < 0x10000) {
        text += static_cast<char>(0xe0 | (code >> 12));
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0 | (code >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

/// The number that `text` is, whatever the locale of the program; its form has been checked.
inline double read_number(std::string_view text) {
#if OAM_HAS_CHARCONV
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    (void)end;
    if (problem == std::errc()) return number;
#endif
    std::istringstream stream{std::string(text)};
    stream.imbue(std::locale::classic());
    double read = 0;
    stream >> read;
    // What is too large fails and leaves the greatest number; what is too small is 0.
    return stream.fail() && read != 0 ? std::numeric_limits<double>::infinity() : read;
}

/// The shortest text that reads as `number`, in plain digits for integers.
inline std::string write_number(double number) {
    if (std::floor(number) == number && std::fabs(number) <= 9007199254740992.0) {
        return std::to_string(static_cast<std::int64_t>(number));
    }
#if OAM_HAS_CHARCONV
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, number);
    return std::string(digits, result.ptr);
#else
    for (int precision = 15;; ++precision) {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream.precision(precision);
        stream << number;
        if (precision >= 17 || read_number(stream.str()) == number) return stream.str();
    }
#endif
}

class JsonReader {
public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Result<Json> read() {
        Json value;
        if (!read_value(value, 0)) return problem();
        skip_space();
        if (at_ < text_.size()) {
            fail("there is more behind the value");
            return problem();
        }
        return value;
    }

private:
    bool read_value(Json& value, int depth) {
        skip_space();
        switch (peek()) {
            case '{': return read_object(value, depth + 1);
            case '[': return read_array(value, depth + 1);
            case '"': {
                std::string text;
                if (!read_string(text)) return false;
                value = Json(std::move(text));
                return true;
            }
            case 't': return read_word("true", Json(true), value);
            case 'f': return read_word("false", Json(false), value);
            case 'n': return read_word("null", Json(), value);
            default: return read_number_into(value);
        }
    }

    bool read_object(Json& value, int depth) {
        if (depth > max_json_depth) return fail("it is nested too deep");
        Json::Object members;
        ++at_;
        skip_space();
        while (peek() != '}' || !members.empty()) {
            std::string name;
            skip_space();
            if (!read_string(name)) return false;
            skip_space();
            if (!take(':')) return fail("a ':' is missing");
            Json member;
            if (!read_value(member, depth)) return false;
            members.push_back({std::move(name), std::move(member)});
            skip_space();
            if (take(',')) continue;
            if (peek() != '}') return fail("a ',' or '}' is missing");
            break;
        }
        ++at_;
        value = Json(std::move(members));
        return true;
    }

    bool read_array(Json& value, int depth) {
        if (depth > max_json_depth) return fail("it is nested too deep");
        Json::Array items;
        ++at_;
        skip_space();
        while (peek() != ']' || !items.empty()) {
            items.emplace_back();
            if (!read_value(items.back(), depth)) return false;
            skip_space();
            if (take(',')) continue;
            if (peek() != ']') return fail("a ',' or ']' is missing");
            break;
        }
        ++at_;
        value = Json(std::move(items));
        return true;
    }

    bool read_string(std::string& text) {
        if (!take('"')) return fail("a text is missing");
        for (;;) {
            const std::string_view rest = text_.substr(at_);
            const char next = peek();
            if (rest.empty()) return fail("a text has no end");
            if (next == '"') break;
            if (next == '\\') {
                if (!read_escape(text)) return false;
                continue;
            }
            if (static_cast<unsigned char>(next) < 0x20) return fail("a control character is not escaped");
            const std::size_t length = utf8_length(rest);
            if (length == 0) return fail("a text is not UTF-8");
            text.append(rest.substr(0, length));
            at_ += length;
        }
        ++at_;
        return true;
    }

    bool read_escape(std::string& text) {
        ++at_;
        const char kind = peek();
        ++at_;
        switch (kind) {
            case '"': case '\\': case '/': text += kind; return true;
            case 'b': text += '\b'; return true;
            case 'f': text += '\f'; return true;
            case 'n': text += '\n'; return true;
            case 'r': text += '\r'; return true;
            case 't': text += '\t'; return true;
            case 'u': return read_unicode_escape(text);
            default: return fail("an escape is unknown");
        }
    }

    bool read_unicode_escape(std::string& text) {
        std::uint32_t code = 0;
        if (!read_hex(code)) return false;
        if (code >= 0xd800 && code <= 0xdbff) {
            std::uint32_t low = 0;
            if (!take('\\') || !take('u') || !read_hex(low) || low < 0xdc00 || low > 0xdfff) {
                return fail("half of a surrogate pair is missing");
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code <= 0xdfff) {
            return fail("half of a surrogate pair is missing");
        }
        append_utf8(text, code);
        return true;
    }

    bool read_hex(std::uint32_t& code) {
        code = 0;
        for (int digit = 0; digit < 4; ++digit, ++at_) {
            const char next = peek();
            const bool is_digit = next >= '0' && next <= '9';
            const char letter = static_cast<char>(next | 0x20);
            if (!is_digit && (letter < 'a' || letter > 'f')) return fail("an escape lacks digits");
            code = code * 16 + static_cast<std::uint32_t>(is_digit ? next - '0' : letter - 'a' + 10);
        }
        return true;
    }

    bool read_number_into(Json& value) {
        const std::size_t start = at_;
        take('-');
        if (!take('0') && !take_digits()) return fail("a value is missing");
        if (take('.') && !take_digits()) return fail("a number lacks digits");
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            if (!take_digits()) return fail("a number lacks digits");
        }
        const double number = read_number(text_.substr(start, at_ - start));
        if (!std::isfinite(number)) return fail("a number is too large");
        value = Json(number);
        return true;
    }

    bool read_word(std::string_view word, Json meaning, Json& value) {
        if (text_.substr(at_, word.size()) != word) return fail("a value is missing");
        at_ += word.size();
        value = std::move(meaning);
        return true;
    }

    void skip_space() {
        while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
    }

    bool take_digits() {
        const std::size_t start = at_;
        while (peek() >= '0' && peek() <= '9') ++at_;
        return at_ > start;
    }

    bool take(char expected) {
        if (peek() != expected || at_ >= text_.size()) return false;
        ++at_;
        return true;
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool fail(const char* what) {
        if (!problem_) problem_ = what;
        return false;
    }

    Error problem() const {
        return {-32700, "parse_error", std::string(problem_) + " (at byte " + std::to_string(at_) + ").", {}};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    const char* problem_ = nullptr;
};

class JsonWriter {
public:
    bool write(const Json& value, int depth = 0) {
        if (value.is_null()) {
            text_ += "null";
        } else if (value.is_bool()) {
            text_ += value.as_bool() ? "true" : "false";
        } else if (value.is_number()) {
            if (!std::isfinite(value.as_number())) return fail("is no finite number");
            text_ += write_number(value.as_number());
        } else if (value.is_string()) {
            return write_string(value.as_string()) || fail("is not UTF-8");
        } else {
            if (depth >= max_json_depth) return fail("is nested too deep");
            return value.is_array() ? write_array(value, depth + 1) : write_object(value, depth + 1);
        }
        return true;
    }

    std::string& text() { return text_; }
    /// What is wrong: a place within the value, and why.
    std::string problem(std::string_view name) const {
        const std::string place = std::string(name) + place_;
        return place.substr(place.rfind('.', 0) == 0 ? 1 : 0) + " " + problem_ + ", which JSON cannot carry.";
    }

private:
    bool write_array(const Json& value, int depth) {
        char separator = '[';
        for (std::size_t index = 0; index < value.items().size(); ++index) {
            text_ += separator;
            separator = ',';
            if (!write(value.items()[index], depth)) return at("[" + std::to_string(index) + "]");
        }
        text_ += value.items().empty() ? "[]" : "]";
        return true;
    }

    bool write_object(const Json& value, int depth) {
        char separator = '{';
        for (const Json::Member& member : value.members()) {
            text_ += separator;
            separator = ',';
            if (!write_string(member.name)) return fail("has a name that is not UTF-8");
            text_ += ':';
            if (!write(member.value, depth)) return at("." + member.name);
        }
        text_ += value.members().empty() ? "{}" : "}";
        return true;
    }

    bool write_string(std::string_view value) {
        static const char* const hex = "0123456789abcdef";
        text_ += '"';
        while (!value.empty()) {
            const std::size_t length = utf8_length(value);
            if (length == 0) return false;
            const char first = value.front();
            if (first == '"' || first == '\\') {
                text_ += '\\';
                text_ += first;
            } else if (static_cast<unsigned char>(first) < 0x20) {
                text_ += "\\u00";
                text_ += hex[first >> 4];
                text_ += hex[first & 15];
            } else {
                text_.append(value.substr(0, length));
            }
            value.remove_prefix(length);
        }
        text_ += '"';
        return true;
    }

    bool fail(const char* what) {
        problem_ = what;
        return false;
    }

    bool at(std::string step) {
        place_ = std::move(step) + place_;
        return false;
    }

    std::string text_;
    std::string place_;
    const char* problem_ = "";
};

}  // namespace detail

inline Result<Json> parse_json(std::string_view text) { return detail::JsonReader(text).read(); }

inline Result<Json> read_json_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error::invalid_params("'" + path + "' cannot be read.");
    return parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
}

inline Result<std::string> to_json(const Json& value, std::string_view name) {
    detail::JsonWriter writer;
    if (!writer.write(value)) return Error::invalid_params(writer.problem(name));
    return std::move(writer.text());
}

}  // namespace oam
