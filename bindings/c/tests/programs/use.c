/* What a program outside this project does first. */
#include <open_apple_models.h>

#include <stdio.h>
#include <string.h>

static void on_message(const char *line, void *user_data)
{
    (void)line;
    (void)user_data;
}

int main(void)
{
    oam_bridge *bridge = oam_bridge_create(on_message, NULL);
    char *answer = oam_call_blocking(bridge, "{\"method\":\"ping\"}", 10000);
    int is_right = answer != NULL && strcmp(answer, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}") == 0;

    oam_string_free(answer);
    oam_bridge_destroy(bridge);
    puts(oam_version());
    return is_right ? 0 : 1;
}
