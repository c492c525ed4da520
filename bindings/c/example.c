/*
 * A session with one tool of the host: the model rings a bell, and the program says that it has rung.
 *
 * By default a script plays the model. With --live it is the model "system": Apple's, on a Mac that has it, or whatever
 * worker OAM_WORKER names.
 *
 *     cc example.c -lOpenAppleModelsFFI -lpthread -o example && ./example
 */
#include "open_apple_models.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the callback and the main thread share. */
struct host {
    oam_bridge *bridge;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_answered;
};

static const char AVAILABILITY[] = "{\"method\":\"model/availability\"}";

static const char CREATE[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"create\",\"method\":\"session/create\",\"params\":{"
    "\"session\":\"bell\","
    "\"instructions\":\"You are the bell ringer of a small town.\","
    "\"options\":{\"toolChoice\":\"required\"},"
    "\"tools\":[{\"name\":\"ring_bell\",\"description\":\"Rings the bell of the church.\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"times\":{\"type\":\"integer\","
    "\"minimum\":1,\"maximum\":12}},\"required\":[\"times\"]}}],"
    "\"model\":%s}}";

static const char SCRIPT[] =
    "{\"type\":\"scripted\",\"steps\":["
    "{\"toolCalls\":[{\"name\":\"ring_bell\",\"arguments\":{\"times\":3}}]},"
    "{\"template\":\"It is three o'clock. {toolOutput}\",\"chunks\":4}]}";

static const char RESPOND[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"turn\",\"method\":\"session/respond\",\"params\":{"
    "\"session\":\"bell\",\"prompt\":\"It is three o'clock.\",\"stream\":true}}";

static void send_line(oam_bridge *bridge, const char *line)
{
    printf("-> %s\n", line);
    if (oam_bridge_send(bridge, line) != OAM_OK) {
        fprintf(stderr, "The bridge does not take: %s\n", line);
        exit(1);
    }
}

/*
 * The id of a request from the bridge, which always begins {"jsonrpc":"2.0","id":"t-1","method": and so on. A real host reads
 * messages with a JSON library. Returns 0 if the line is something else.
 */
static int tool_call_id(const char *line, char *id, size_t size)
{
    static const char START[] = "{\"jsonrpc\":\"2.0\",\"id\":\"";
    const char *begin, *end;

    if (strncmp(line, START, sizeof START - 1) != 0 || strstr(line, "\"method\":\"tool/call\"") == NULL)
        return 0;
    begin = line + sizeof START - 1;
    end = strchr(begin, '"');
    if (end == NULL || (size_t)(end - begin) >= size)
        return 0;
    memcpy(id, begin, (size_t)(end - begin));
    id[end - begin] = '\0';
    return 1;
}

/* Runs on a thread of the bridge, once for each message. */
static void on_message(const char *line, void *user_data)
{
    struct host *host = user_data;
    char id[32], answer[128];

    printf("<- %s\n", line);
    if (tool_call_id(line, id, sizeof id)) {
        snprintf(answer, sizeof answer,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"output\":{\"rang\":true,\"times\":3}}}", id);
        pthread_mutex_lock(&host->lock);
        send_line(host->bridge, answer);
        pthread_mutex_unlock(&host->lock);
    } else if (strncmp(line, "{\"jsonrpc\":\"2.0\",\"id\":\"turn\"", 28) == 0) {
        pthread_mutex_lock(&host->lock);
        host->is_answered = 1;
        pthread_cond_signal(&host->changed);
        pthread_mutex_unlock(&host->lock);
    }
}

int main(int argc, char **argv)
{
    struct host host = {NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    int is_live = argc > 1 && strcmp(argv[1], "--live") == 0;
    char create[sizeof CREATE + sizeof SCRIPT];
    char *availability;

    printf("version %s\n", oam_version());

    /* The callback uses the handle, too: the lock makes it wait until it is there. */
    pthread_mutex_lock(&host.lock);
    host.bridge = oam_bridge_create(on_message, &host);
    pthread_mutex_unlock(&host.lock);
    if (host.bridge == NULL) {
        fprintf(stderr, "The bridge cannot be created.\n");
        return 1;
    }

    availability = oam_call_blocking(host.bridge, AVAILABILITY, 5000);
    printf("availability %s\n", availability);
    oam_string_free(availability);

    snprintf(create, sizeof create, CREATE, is_live ? "\"system\"" : SCRIPT);
    send_line(host.bridge, create);
    send_line(host.bridge, RESPOND);

    pthread_mutex_lock(&host.lock);
    while (!host.is_answered)
        pthread_cond_wait(&host.changed, &host.lock);
    pthread_mutex_unlock(&host.lock);

    oam_bridge_destroy(host.bridge);
    printf("done\n");
    return 0;
}
