#include "host.h"

static void on_message(const char *line, void *user_data)
{
    struct host *host = user_data;

    EXPECT(!host->is_over);
    if (host->react != NULL)
        host->react(host, line);
    pthread_mutex_lock(&host->lock);
    host->messages++;
    if (strstr(line, "\"method\"") == NULL)
        host->responses++;
    if (host->wanted != NULL && host->found == NULL && strstr(line, host->wanted) != NULL) {
        host->found = malloc(strlen(line) + 1);
        EXPECT(host->found != NULL);
        strcpy(host->found, line);
    }
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
}

void host_open(struct host *host, const char *options, void (*react)(struct host *, const char *))
{
    memset(host, 0, sizeof *host);
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->changed, NULL);
    host->react = react;
    pthread_mutex_lock(&host->lock);
    host->bridge = oam_bridge_create_with_options(on_message, host, options);
    pthread_mutex_unlock(&host->lock);
    EXPECT(host->bridge != NULL);
}

const char *host_wait_for(struct host *host, const char *text, const char *line)
{
    pthread_mutex_lock(&host->lock);
    free(host->found);
    host->found = NULL;
    host->wanted = text;
    pthread_mutex_unlock(&host->lock);
    if (line != NULL)
        EXPECT(oam_bridge_send(host->bridge, line) == OAM_OK);
    pthread_mutex_lock(&host->lock);
    while (host->found == NULL)
        pthread_cond_wait(&host->changed, &host->lock);
    host->wanted = NULL;
    pthread_mutex_unlock(&host->lock);
    return host->found;
}

void host_wait_for_responses(struct host *host, int count)
{
    pthread_mutex_lock(&host->lock);
    while (host->responses < count)
        pthread_cond_wait(&host->changed, &host->lock);
    pthread_mutex_unlock(&host->lock);
}

void host_close(struct host *host)
{
    oam_bridge_destroy(host->bridge);
    host->is_over = 1;
    free(host->found);
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->lock);
}

void host_answer_tool(struct host *host, const char *line)
{
    static const char START[] = "{\"jsonrpc\":\"2.0\",\"id\":\"t-";
    char answer[128];

    if (strncmp(line, START, sizeof START - 1) == 0 && strstr(line, "\"tool/call\"") != NULL) {
        snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":\"t-%ld\",\"result\":{\"output\":\"rang\"}}",
                 strtol(line + sizeof START - 1, NULL, 10));
        pthread_mutex_lock(&host->lock);
        EXPECT(oam_bridge_send(host->bridge, answer) == OAM_OK);
        pthread_mutex_unlock(&host->lock);
    }
}

char *call(oam_bridge *bridge, const char *request)
{
    char *answer = oam_call_blocking(bridge, request, 60000);

    EXPECT(answer != NULL);
    return answer;
}

void create_session(struct host *host, const char *steps)
{
    static const char CREATE[] =
        "{\"method\":\"session/create\",\"params\":{\"session\":\"s\","
        "\"tools\":[{\"name\":\"ring_bell\",\"description\":\"Rings the bell.\"}],"
        "\"model\":{\"type\":\"scripted\",\"steps\":%s}}}";
    char request[1024];
    char *answer;

    snprintf(request, sizeof request, CREATE, steps);
    answer = call(host->bridge, request);
    EXPECT(strstr(answer, "\"result\"") != NULL);
    oam_string_free(answer);
}
