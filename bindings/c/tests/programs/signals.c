/*
 * A host with its own mind about signals, whose workers die: signals MODE OPTIONS
 *
 * MODE is `default`, `ignore` (SIGCHLD is ignored), `reap` (a handler reaps every child) or `block` (all signals are
 * blocked). SIGPIPE is at its default in all of them. The model's worker dies in the first step, which is played again.
 * Ends with 0 if the answer came, the dispositions are as they were, and no child is left.
 */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap_all(int signal)
{
    int before = errno;

    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = before;
}

static void expect_same(const struct sigaction *before, int signal)
{
    struct sigaction now;

    EXPECT(sigaction(signal, NULL, &now) == 0);
    EXPECT(now.sa_handler == before->sa_handler && now.sa_flags == before->sa_flags);
}

/* A signal that the host blocks, after its bridge was created, stays for the host, which does not handle it otherwise. */
static void expect_to_wait_for_signals(void)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM};
    sigset_t blocked, before;
    size_t number;
    int taken;

    sigemptyset(&blocked);
    for (number = 0; number < sizeof SIGNALS / sizeof *SIGNALS; number++)
        sigaddset(&blocked, SIGNALS[number]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    for (number = 0; number < sizeof SIGNALS / sizeof *SIGNALS; number++) {
        EXPECT(kill(getpid(), SIGNALS[number]) == 0);
        EXPECT(sigwait(&blocked, &taken) == 0 && taken == SIGNALS[number]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv)
{
    struct sigaction before[NSIG], action;
    struct host host;
    sigset_t all, mask;
    const char *mode;
    char *answer;
    int number;

    EXPECT(argc == 3);
    mode = argv[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = strcmp(mode, "ignore") == 0 ? SIG_IGN : strcmp(mode, "reap") == 0 ? reap_all : SIG_DFL;
    action.sa_flags = SA_RESTART;
    EXPECT(sigaction(SIGCHLD, &action, NULL) == 0);
    signal(SIGPIPE, SIG_DFL);
    sigfillset(&all);
    if (strcmp(mode, "block") == 0)
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &before[number]) != 0)
            before[number].sa_handler = SIG_ERR;

    host_open(&host, argv[2], NULL);
    expect_to_wait_for_signals();
    answer = call(host.bridge,
                  "{\"method\":\"session/create\",\"params\":{\"session\":\"s\","
                  "\"instructions\":\"oam-script: [{\\\"text\\\":\\\"Still here.\\\"}]\"}}");
    oam_string_free(answer);
    answer = call(host.bridge, "{" RESPOND "}");
    printf("%s\n", answer);
    EXPECT(strstr(answer, "\"text\":\"Still here.\"") != NULL);
    oam_string_free(answer);
    answer = call(host.bridge, "{\"method\":\"supervisor/status\"}");
    printf("%s\n", answer);
    EXPECT(strstr(answer, "\"replays\":0") == NULL);
    oam_string_free(answer);
    host_close(&host);

    for (number = 1; number < NSIG; number++)
        if (before[number].sa_handler != SIG_ERR)
            expect_same(&before[number], number);
    pthread_sigmask(SIG_SETMASK, NULL, &all);
    for (number = 1; number < NSIG; number++)
        EXPECT(sigismember(&all, number) == sigismember(&mask, number));
    EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return 0;
}
