/*
 * Prints how often the threads of an idle bridge without workers woke within some seconds.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <unistd.h>

enum { SECONDS = 5 };

static long switches_of(const char *thread)
{
    static const char NAME[] = "voluntary_ctxt_switches:";
    char path[512], line[256];
    FILE *status;
    long switches = -1;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    status = fopen(path, "r");
    EXPECT(status != NULL);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, NAME, sizeof NAME - 1) == 0)
            switches = strtol(line + sizeof NAME - 1, NULL, 10);
    fclose(status);
    EXPECT(switches != -1);
    return switches;
}

/* Of all threads but the main one. */
static long switches(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    long sum = 0;

    EXPECT(folder != NULL);
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != getpid())
            sum += switches_of(entry->d_name);
    closedir(folder);
    return sum;
}

int main(void)
{
    struct host host;
    long before;

    host_open(&host, "{\"worker\":[\"/nowhere\"]}", NULL);
    create_session(&host, "[{\"text\":\"Hello.\"}]");
    host_wait_for(&host, "\"id\":\"turn\"", TURN);
    /* The threads come to rest. */
    sleep(1);
    before = switches();
    sleep(SECONDS);
    printf("%ld\n", switches() - before);
    host_close(&host);
    return 0;
}
