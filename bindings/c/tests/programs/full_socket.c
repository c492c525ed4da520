/* Asks a model for more than a socket holds, while its worker dies: full_socket OPTIONS */
#include "host.h"

#include <signal.h>

int main(int argc, char **argv)
{
    enum { PROMPT = 8 << 20 };
    static const char START[] = "{\"method\":\"session/respond\",\"params\":{\"session\":\"s\",\"prompt\":\"";
    struct host host;
    char *request = malloc(sizeof START + PROMPT + 4);
    char *answer;

    EXPECT(argc == 2 && request != NULL);
    signal(SIGPIPE, SIG_DFL);
    host_open(&host, argv[1], NULL);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\","
                                    "\"instructions\":\"oam-script: [{\\\"text\\\":\\\"All of it.\\\"}]\"}}"));
    strcpy(request, START);
    memset(request + sizeof START - 1, 'x', PROMPT);
    strcpy(request + sizeof START - 1 + PROMPT, "\"}}");
    answer = call(host.bridge, request);
    if (strstr(answer, "\"result\"") == NULL)
        printf("%s\n", answer);
    oam_string_free(answer);
    host_close(&host);
    free(request);
    puts("done");
    return 0;
}
