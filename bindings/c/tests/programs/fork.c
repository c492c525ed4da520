/*
 * A host that is forked while its bridge is in use: fork OPTIONS
 *
 * The children use and destroy the bridge, one while its callback runs; none of them may hang. Nothing that they do
 * reaches the parent's bridge. Prints what a child's blocking call returned.
 */
#define _GNU_SOURCE
#include "host.h"

#include <sys/wait.h>
#include <unistd.h>

static struct host host;

static void use_and_exit(void)
{
    char *answer;

    /* Ends a child that hangs. */
    alarm(60);
    EXPECT(oam_bridge_send(host.bridge, TURN) == OAM_ERROR_GIVEN_UP);
    answer = oam_call_blocking(host.bridge, "{" RESPOND "}", 0);
    printf("%s\n", answer);
    oam_string_free(answer);
    oam_bridge_destroy(host.bridge);
    exit(0);
}

static void fork_and_wait(void)
{
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    EXPECT(child != -1);
    if (child == 0)
        use_and_exit();
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
}

static void fork_in_callback(struct host *unused, const char *line)
{
    (void)unused;
    if (strstr(line, "\"id\":\"fork\"") != NULL)
        fork_and_wait();
}

int main(int argc, char **argv)
{
    char *answer;

    EXPECT(argc == 2);
    host_open(&host, argv[1], fork_in_callback);
    oam_string_free(call(host.bridge, "{\"method\":\"session/create\",\"params\":{\"session\":\"s\"}}"));
    fork_and_wait();
    host_wait_for(&host, "\"id\":\"fork\"", "{\"jsonrpc\":\"2.0\",\"id\":\"fork\",\"method\":\"ping\"}");
    answer = call(host.bridge, "{" RESPOND "}");
    EXPECT(strstr(answer, "\"result\"") != NULL);
    oam_string_free(answer);
    EXPECT(host.messages == 1);
    host_close(&host);
    return 0;
}
