/*
 * A thread with the stack that the header asks for sends what is nested most deeply; the answer is what is wrong with it.
 */
#include "host.h"

enum { STACK_BYTES = 512 << 10, LEVELS = 90 };

#define SCHEMA_BEGIN "{\"type\":\"array\",\"items\":"

static char request[(sizeof SCHEMA_BEGIN + 1) * LEVELS + 512];

static void write_request(void)
{
    int level;

    strcpy(request, "{\"jsonrpc\":\"2.0\",\"id\":\"deep\",\"method\":\"session/create\",\"params\":{\"tools\":[{\"name\":\"dig\","
                    "\"description\":\"Digs.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"hole\":");
    for (level = 0; level < LEVELS; level++)
        strcat(request, SCHEMA_BEGIN);
    strcat(request, "{\"type\":\"string\"}");
    for (level = 0; level < LEVELS; level++)
        strcat(request, "}");
    strcat(request, "}}}]}}");
}

static void *dig(void *user_data)
{
    struct host *host = user_data;

    EXPECT(oam_bridge_send(host->bridge, request) == OAM_OK);
    return call(host->bridge, request);
}

int main(void)
{
    struct host host;
    pthread_attr_t attributes;
    pthread_t thread;
    void *answer;

    write_request();
    host_open(&host, NULL, NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"ping\"}"));
    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    EXPECT(pthread_create(&thread, &attributes, dig, &host) == 0);
    pthread_join(thread, &answer);
    EXPECT(strstr(answer, "\"id\":\"deep\"") != NULL);
    oam_string_free(answer);
    host_close(&host);
    return 0;
}
