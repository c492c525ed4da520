#include "testing.hpp"

void add_json_tests();
void add_bridge_tests();
void add_scene_tests(const std::string& file);

/// `tests SCENES [PART OF A NAME]`
int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: %s bindings/testdata/scenes.json [part of a test's name]\n", arguments[0]);
        return 2;
    }
    add_json_tests();
    add_bridge_tests();
    add_scene_tests(arguments[1]);
    return testing::run_all(count > 2 ? arguments[2] : "");
}
