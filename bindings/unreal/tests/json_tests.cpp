/// JSON: read strictly, written exactly, whatever it is.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "testing.hpp"

using oam::Json;
using testing::add;

namespace {

/// Values at random, but the same in every run.
class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    Json value(int depth) {
        switch (below(depth > 0 ? 8 : 6)) {
            case 0: return nullptr;
            case 1: return below(2) == 0;
            case 2: return static_cast<double>(engine_() % 18014398509481984ull) - 9007199254740992.0;
            case 3: return any_double();
            case 4: case 5: return text();
            case 6: {
                Json array = Json::array();
                for (std::uint64_t count = below(5); count > 0; --count) array.push(value(depth - 1));
                return array;
            }
            default: {
                Json object = Json::object();
                for (std::uint64_t count = below(5); count > 0; --count) object.set(text(), value(depth - 1));
                return object;
            }
        }
    }

    std::string text() {
        static const std::uint32_t limits[] = {0x20, 0x7f, 0x800, 0xd800, 0x10000, 0x110000};
        std::string made;
        for (std::uint64_t count = below(12); count > 0; --count) {
            std::uint32_t code = static_cast<std::uint32_t>(below(limits[below(6)]));
            if (code >= 0xd800 && code <= 0xdfff) code = '"';
            oam::detail::append_utf8(made, code);
        }
        return made;
    }

private:
    double any_double() {
        for (;;) {
            const std::uint64_t bits = engine_();
            double number = 0;
            static_assert(sizeof number == sizeof bits, "doubles have 64 bits");
            std::memcpy(&number, &bits, sizeof number);
            if (std::isfinite(number)) return number;
        }
    }

    std::mt19937_64 engine_;
};

std::string nested_text(int depth) { return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']'); }

}  // namespace

void add_json_tests() {
    add("what is written is read as the same", [] {
        Random random(7);
        for (int round = 0; round < 5000; ++round) {
            const Json value = random.value(5);
            const auto text = oam::to_json(value);
            EXPECT(text.ok());
            const auto read = oam::parse_json(*text);
            EXPECT(read.ok());
            EXPECT_EQ(*read, value);
            EXPECT_EQ(*oam::to_json(*read), *text);
            EXPECT(text->find('\n') == std::string::npos);
        }
    });

    add("text that is spoilt is read or refused, and never anything else", [] {
        Random random(11);
        for (int round = 0; round < 20000; ++round) {
            std::string text = *oam::to_json(random.value(4));
            for (std::uint64_t count = 1 + random.below(3); count > 0 && !text.empty(); --count) {
                const std::size_t at = random.below(text.size());
                switch (random.below(3)) {
                    case 0: text.erase(at, 1 + random.below(4)); break;
                    case 1: text[at] = static_cast<char>(random.below(256)); break;
                    default: text.insert(at, 1, "{}[]\",:\\0e-. "[random.below(13)]); break;
                }
            }
            const auto read = oam::parse_json(text);
            if (read) {
                EXPECT_EQ(*oam::parse_json(*oam::to_json(*read)), *read);
            } else {
                EXPECT_EQ(read.error().name, std::string("parse_error"));
            }
        }
    });

    add("what is no JSON is refused", [] {
        const std::string refused[] = {
            "", " ", "{", "[", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\":}", "[1 2]", "1 2", "01", "-", "+1", ".5", "1.", "1e", "1e+",
            "NaN", "Infinity", "nul", "true1", "'a'", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"",
            "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "// a\n1", "1e999", "-1e999", nested_text(101), std::string("1\0", 2),
            std::string("\"\0\"", 3)};
        for (const std::string& text : refused) {
            const auto read = oam::parse_json(text);
            if (read) testing::expect(false, "accepted: " + text, __FILE__, __LINE__);
        }
    });

    add("what is JSON is read", [] {
        EXPECT_EQ(*oam::parse_json(" { \"a\" : [ 1 , -0.5e1 , null , true ] } \r\n"),
                  Json::object({{"a", Json::array({1, -5, nullptr, true})}}));
        EXPECT_EQ(*oam::parse_json(R"("\u00fc \ud83d\udde1 \/\b\f\n\r\t\\\"")"), Json("ü 🗡 /\b\f\n\r\t\\\""));
        EXPECT_EQ(*oam::parse_json("1e-999"), Json(0));
        EXPECT(oam::parse_json(nested_text(100)).ok());
        EXPECT_EQ((*oam::parse_json(R"({"a":1,"b":2,"a":3})"))["a"], Json(3));
    });

    add("numbers are written as briefly as they read back, integers in plain digits", [] {
        const std::pair<double, const char*> numbers[] = {{42, "42"},   {-0.0, "0"},   {0.1, "0.1"},  {1e15, "1000000000000000"}, {9007199254740991.0, "9007199254740991"},
                                                          {2.5, "2.5"}, {1e300, "1e+300"}};
        for (const auto& [number, text] : numbers) EXPECT_EQ(*oam::to_json(number), std::string(text));
    });

    add("what JSON cannot carry is refused by its place", [] {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const Json context = Json::object({{"npcs", Json::array({1, Json::object({{"hp", nan}})})}});
        EXPECT_EQ(oam::to_json(context, "context").error().message, std::string("context.npcs[1].hp is no finite number, which JSON cannot carry."));
        EXPECT_EQ(oam::to_json(Json::array({"\xff"})).error().message, std::string("value[0] is not UTF-8, which JSON cannot carry."));
        Json deep;
        for (int level = 0; level < 101; ++level) deep = Json(Json::Array{std::move(deep)});
        EXPECT(!oam::to_json(deep).ok());
        EXPECT(oam::to_json(deep[std::size_t{0}]).ok());
    });

    add("members keep their order", [] {
        Json object = Json::object({{"z", 1}, {"a", 2}});
        object.set("m", 3).set("z", 4);
        EXPECT_EQ(*oam::to_json(object), std::string(R"({"z":4,"a":2,"m":3})"));
        EXPECT_EQ(object.take("a"), Json(2));
        EXPECT_EQ(*oam::to_json(object), std::string(R"({"z":4,"m":3})"));
    });

    add("reading what is not there gives nothing", [] {
        const Json value = Json::object({{"a", "text"}});
        EXPECT(value["b"]["c"][7]["d"].is_null());
        EXPECT_EQ(value["a"].as_number(), 0.0);
        EXPECT(value["a"].items().empty() && value["a"].members().empty());
    });
}
