/* Prints the status of its workers while one of them is busy, and waits to be killed: victim OPTIONS */
#include "host.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    struct host host;
    char *status;
    int is_busy;

    EXPECT(argc == 2);
    host_open(&host, argv[1], NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\"}}"));
    EXPECT(oam_bridge_send(host.bridge, TURN) == OAM_OK);
    do {
        status = call(host.bridge, "{\"method\":\"supervisor/status\"}");
        is_busy = strstr(status, "\"busy\"") != NULL && strstr(status, "\"pid\":null") == NULL;
        if (is_busy)
            puts(status);
        oam_string_free(status);
    } while (!is_busy);
    fflush(stdout);
    for (;;)
        pause();
}
