/*
 * Creates and destroys bridges, most of them in the middle of something: cycles COUNT [OPTIONS]
 *
 * Every second one is destroyed within its callback. Prints what the process holds after a tenth of the rounds, and at the
 * end: descriptors, threads, children, KiB of memory.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <unistd.h>

static const char ENDLESS[] = "[{\"text\":\"Too late.\",\"delayMs\":3600000}]";
static const char RINGING[] = "[{\"toolCalls\":[{\"name\":\"ring_bell\",\"arguments\":{}}]}]";

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    EXPECT(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static int children(void)
{
    char path[64], text[4096];
    FILE *file;
    size_t length, at;
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    struct dirent *thread;

    EXPECT(threads != NULL);
    while ((thread = readdir(threads)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        length = fread(text, 1, sizeof text, file);
        fclose(file);
        for (at = 0; at < length; at++)
            count += text[at] == ' ';
    }
    closedir(threads);
    return count;
}

static long memory(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    EXPECT(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Threads that end by themselves, after a destroy within the callback, have a moment to do so. */
static void print_usage(int threads)
{
    int round;

    for (round = 0; round < 3000 && (entries("/proc/self/task") > threads || children() > 0); round++)
        usleep(10000);
    printf("%d %d %d %ld\n", entries("/proc/self/fd"), entries("/proc/self/task"), children(), memory());
}

struct gone {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    oam_bridge *bridge;
    int is_destroyed;
};

static void destroy_within(const char *line, void *user_data)
{
    struct gone *gone = user_data;

    (void)line;
    pthread_mutex_lock(&gone->lock);
    EXPECT(!gone->is_destroyed);
    oam_bridge_destroy(gone->bridge);
    gone->is_destroyed = 1;
    pthread_cond_signal(&gone->changed);
    pthread_mutex_unlock(&gone->lock);
}

static void destroy_in_callback(const char *options)
{
    struct gone gone = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0};

    pthread_mutex_lock(&gone.lock);
    gone.bridge = oam_bridge_create_with_options(destroy_within, &gone, options);
    EXPECT(gone.bridge != NULL);
    EXPECT(oam_bridge_send(gone.bridge, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}") == OAM_OK);
    while (!gone.is_destroyed)
        pthread_cond_wait(&gone.changed, &gone.lock);
    pthread_mutex_unlock(&gone.lock);
}

static void destroy_mid_turn(const char *options, int round)
{
    struct host host;

    host_open(&host, options, NULL);
    if (round % 4 == 0) {
        create_session(&host, ENDLESS);
        EXPECT(oam_bridge_send(host.bridge, TURN) == OAM_OK);
    } else {
        create_session(&host, RINGING);
        host_wait_for(&host, "\"tool/call\"", TURN);
    }
    host_close(&host);
}

static void *do_nothing(void *nothing)
{
    return nothing;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 10;
    const char *options = argc > 2 ? argv[2] : NULL;
    int round, threads;
    pthread_t first;

    /* A tool that watches this program may have a thread of its own, from the first one on. */
    EXPECT(pthread_create(&first, NULL, do_nothing, NULL) == 0 && pthread_join(first, NULL) == 0);
    threads = entries("/proc/self/task");

    for (round = 0; round < count; round++) {
        if (round % 2 == 1)
            destroy_in_callback(options);
        else
            destroy_mid_turn(options, round);
        if (round == count / 10)
            print_usage(threads);
    }
    print_usage(threads);
    return 0;
}
