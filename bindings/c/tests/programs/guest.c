/*
 * What a library may leave behind in its host's process: guest OPTIONS
 *
 * Uses workers, looks at itself, and exits without destroying its bridge. Prints nothing: whatever is on standard output
 * comes from the library.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

extern char **environ;

static size_t environment_size(void)
{
    size_t size = 0;
    char **variable;

    for (variable = environ; *variable != NULL; variable++)
        size += strlen(*variable) + 1;
    return size;
}

enum { DESCRIPTORS = 1024 };

/* Those that whoever started the program has left open. */
static char is_inherited[DESCRIPTORS];

static void look_at_inherited(void)
{
    int descriptor;

    for (descriptor = 0; descriptor < DESCRIPTORS; descriptor++)
        is_inherited[descriptor] = fcntl(descriptor, F_GETFD) != -1;
}

static void expect_close_on_exec(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int descriptor;

    EXPECT(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        descriptor = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && descriptor < DESCRIPTORS && !is_inherited[descriptor])
            EXPECT(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    static struct host host;
    char before[4096], after[4096];
    char **environment = environ;
    size_t size = environment_size();

    look_at_inherited();
    EXPECT(argc == 2 && getcwd(before, sizeof before) != NULL);
    host_open(&host, argv[1], NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\"}}"));
    oam_string_free(call(host.bridge, "{" RESPOND "}"));
    expect_close_on_exec();
    EXPECT(environ == environment && environment_size() == size);
    EXPECT(getcwd(after, sizeof after) != NULL && strcmp(before, after) == 0);
    exit(0);
}
