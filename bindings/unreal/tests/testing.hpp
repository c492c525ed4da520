/// Tests: named functions, and checks that tell what they saw.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "open_apple_models.hpp"

namespace testing {

struct Test {
    std::string name;
    std::function<void()> run;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

inline int& failures() {
    static int count = 0;
    return count;
}

inline void add(std::string name, std::function<void()> run) { tests().push_back({std::move(name), std::move(run)}); }

inline void expect(bool holds, const std::string& what, const char* file, int line) {
    if (holds) return;
    ++failures();
    std::printf("    %s:%d: %s\n", file, line, what.c_str());
}

inline std::string show(const oam::Json& value) {
    const auto text = oam::to_json(value);
    return text ? *text : text.error().message;
}
inline std::string show(const std::string& value) { return value; }
inline std::string show(double value) { return std::to_string(value); }

template <class Actual, class Expected>
void expect_equal(const Actual& actual, const Expected& expected, const char* what, const char* file, int line) {
    expect(actual == expected, std::string(what) + " is " + show(actual) + ", not " + show(expected), file, line);
}

/// Runs all tests, or those with `only` in their names; the program's exit code.
inline int run_all(const std::string& only) {
    int run = 0;
    int failed = 0;
    for (const Test& test : tests()) {
        if (test.name.find(only) == std::string::npos) continue;
        const int before = failures();
        test.run();
        ++run;
        const bool passed = failures() == before;
        failed += passed ? 0 : 1;
        std::printf("%s %s\n", passed ? "ok    " : "FAILED", test.name.c_str());
        std::fflush(stdout);
    }
    std::printf("%d tests, %d failed\n", run, failed);
    return run > 0 && failed == 0 ? 0 : 1;
}

}  // namespace testing

#define EXPECT(condition) testing::expect((condition), #condition, __FILE__, __LINE__)
#define EXPECT_EQ(actual, expected) testing::expect_equal((actual), (expected), #actual, __FILE__, __LINE__)
