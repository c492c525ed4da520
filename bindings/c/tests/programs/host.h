/* A host for the test programs: it counts what its bridge says, and can wait for a message. */
#ifndef HOST_H
#define HOST_H

#include "open_apple_models.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if the condition does not hold. */
#define EXPECT(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

struct host {
    oam_bridge *bridge;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Runs within the callback, for each message, while nothing is locked. May be NULL. */
    void (*react)(struct host *host, const char *line);
    int messages;
    int responses;
    /* What host_wait_for waits for, and the message that it is. */
    const char *wanted;
    char *found;
    /* Set by whoever destroys the bridge: there may be no callback from then on. */
    int is_over;
};

void host_open(struct host *host, const char *options, void (*react)(struct host *, const char *));
/* The next message that contains the text; it lives until the next call. Sends `line` if it is not NULL. */
const char *host_wait_for(struct host *host, const char *text, const char *line);
void host_wait_for_responses(struct host *host, int count);
void host_close(struct host *host);
/* Answers the line if it is a tool/call. */
void host_answer_tool(struct host *host, const char *line);

/* A blocking call; the result is to be freed with oam_string_free. */
char *call(oam_bridge *bridge, const char *request);

/* A session "s" with one tool whose scripted model plays the steps. */
void create_session(struct host *host, const char *steps);

#define RESPOND "\"method\":\"session/respond\",\"params\":{\"session\":\"s\",\"prompt\":\"Well?\"}"
#define TURN "{\"jsonrpc\":\"2.0\",\"id\":\"turn\"," RESPOND "}"

#endif
