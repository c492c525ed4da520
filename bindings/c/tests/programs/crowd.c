/*
 * Two bridges, each with four threads that send; their callbacks send, too: crowd MESSAGES
 *
 * A thread waits for its answers now and then, so that the bridge is never given up.
 */
#include "host.h"

enum { THREADS = 4 };

static int messages = 100;

static const char RINGING[] =
    "[{\"toolCalls\":[{\"name\":\"ring_bell\",\"arguments\":{}}]},{\"text\":\"Done.\",\"chunks\":2}]";

static void *send_many(void *argument)
{
    struct host *host = argument;
    char *answer;
    int number;

    for (number = 0; number < messages; number++) {
        EXPECT(oam_bridge_send(host->bridge, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}") == OAM_OK);
        if (number % 50 == 0) {
            answer = call(host->bridge, "{\"id\":\"called\",\"method\":\"ping\"}");
            EXPECT(strcmp(answer, "{\"jsonrpc\":\"2.0\",\"id\":\"called\",\"result\":{}}") == 0);
            oam_string_free(answer);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct host hosts[2];
    pthread_t threads[2][THREADS];
    int number, thread;

    if (argc > 1)
        messages = atoi(argv[1]);
    for (number = 0; number < 2; number++) {
        host_open(&hosts[number], NULL, host_answer_tool);
        create_session(&hosts[number], RINGING);
        EXPECT(oam_bridge_send(hosts[number].bridge, TURN) == OAM_OK);
    }
    for (number = 0; number < 2; number++)
        for (thread = 0; thread < THREADS; thread++)
            EXPECT(pthread_create(&threads[number][thread], NULL, send_many, &hosts[number]) == 0);
    for (number = 0; number < 2; number++)
        for (thread = 0; thread < THREADS; thread++)
            pthread_join(threads[number][thread], NULL);
    for (number = 0; number < 2; number++) {
        host_wait_for_responses(&hosts[number], THREADS * messages + 1);
        host_close(&hosts[number]);
        EXPECT(hosts[number].responses == THREADS * messages + 1);
    }
    printf("done\n");
    return 0;
}
