/*
 * A host with few descriptors: few_descriptors OPTIONS
 *
 * With each number of them there is either no bridge, or one that answers. Nothing stays open.
 */
#define _GNU_SOURCE
#include "host.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 40 };

static int next_descriptor(void)
{
    int descriptor = open("/", O_RDONLY | O_CLOEXEC);

    EXPECT(descriptor != -1);
    close(descriptor);
    return descriptor;
}

static void ignore(const char *line, void *user_data)
{
    (void)line;
    (void)user_data;
}

int main(int argc, char **argv)
{
    struct rlimit usual, few;
    oam_bridge *bridge;
    int first, count, bridges = 0;

    EXPECT(argc == 2 && getrlimit(RLIMIT_NOFILE, &usual) == 0);
    first = next_descriptor();
    few = usual;
    for (count = 0; count < MOST; count++) {
        few.rlim_cur = first + count;
        EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
        bridge = oam_bridge_create_with_options(ignore, NULL, argv[1]);
        if (bridge != NULL) {
            char *answer = call(bridge, "{\"method\":\"model/availability\"}");
            EXPECT(strstr(answer, "\"result\"") != NULL);
            oam_string_free(answer);
            bridges++;
        }
        oam_bridge_destroy(bridge);
        EXPECT(setrlimit(RLIMIT_NOFILE, &usual) == 0);
        EXPECT(next_descriptor() == first);
    }
    EXPECT(bridges > 0 && bridges < MOST);
    puts("done");
    return 0;
}
