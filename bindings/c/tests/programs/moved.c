/*
 * A host that changes its working directory: moved OPTIONS
 *
 * The options name the worker by a path from the first directory. It dies in the first step, behind the change, and is
 * started again.
 */
#define _GNU_SOURCE
#include "host.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    struct host host;
    char *answer;

    EXPECT(argc == 2);
    host_open(&host, argv[1], NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\"}}"));
    EXPECT(chdir("/") == 0);
    answer = call(host.bridge, "{" RESPOND "}");
    printf("%s\n", answer);
    EXPECT(strstr(answer, "\"result\"") != NULL);
    oam_string_free(answer);
    host_close(&host);
    return 0;
}
