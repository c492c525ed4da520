/*
 * The end of a host with several threads: blocking calls are in flight, the notification `shutdown` ends them, they are
 * waited for, and then the bridge is destroyed. Prints what the calls returned.
 */
#include "host.h"

enum { THREADS = 3 };

static void *respond(void *bridge)
{
    return oam_call_blocking(bridge, "{" RESPOND "}", 0);
}

int main(void)
{
    struct host host;
    pthread_t threads[THREADS];
    void *answer;
    char *late;
    int thread;

    host_open(&host, NULL, NULL);
    create_session(&host, "[{\"text\":\"Too late.\",\"delayMs\":3600000}]");
    for (thread = 0; thread < THREADS; thread++)
        EXPECT(pthread_create(&threads[thread], NULL, respond, host.bridge) == 0);
    for (;;) {
        char *list = call(host.bridge, "{\"method\":\"session/list\"}");
        int are_all_waiting = strstr(list, "\"pendingOperations\":3") != NULL;
        oam_string_free(list);
        if (are_all_waiting)
            break;
    }
    EXPECT(oam_bridge_send(host.bridge, "{\"jsonrpc\":\"2.0\",\"method\":\"shutdown\"}") == OAM_OK);
    for (thread = 0; thread < THREADS; thread++) {
        pthread_join(threads[thread], &answer);
        printf("%s\n", (char *)answer);
        oam_string_free(answer);
    }
    late = call(host.bridge, "{\"method\":\"ping\"}");
    printf("%s\n", late);
    oam_string_free(late);
    host_close(&host);
    return 0;
}
