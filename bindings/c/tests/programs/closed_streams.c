/*
 * A host without standard streams: closed_streams OPTIONS
 *
 * Nothing of the library may take their places, where it would get what the host prints. Ends with 0 if none did.
 */
#define _GNU_SOURCE
#include "host.h"

#include <fcntl.h>
#include <unistd.h>

static int are_closed(void)
{
    int stream;

    for (stream = 0; stream < 3; stream++)
        if (fcntl(stream, F_GETFD) != -1)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    struct host host;
    char *answer;
    int is_right;

    if (argc != 2)
        return 2;
    close(0);
    close(1);
    close(2);
    host_open(&host, argv[1], NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\"}}"));
    answer = call(host.bridge, "{" RESPOND "}");
    is_right = strstr(answer, "\"result\"") != NULL && are_closed();
    oam_string_free(answer);
    host_close(&host);
    return is_right && are_closed() ? 0 : 1;
}
