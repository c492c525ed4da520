/*
 * libOpenAppleModelsFFI: agents and game characters on on-device language models.
 *
 * A bridge speaks JSON-RPC 2.0 (docs/PROTOCOL.md) with the host: messages go in through oam_bridge_send and come out
 * through a callback, one line of JSON each. Every function may be called from any thread. How to link it, and what the
 * library does and does not do in its host's process: bindings/c/README.md.
 */

#ifndef OPEN_APPLE_MODELS_H
#define OPEN_APPLE_MODELS_H

/* Made of bindings/c/src/lib.rs by scripts/header. */


/* The message was taken. */
#define OAM_OK 0
/* The bridge or the message is NULL. */
#define OAM_ERROR_INVALID_ARGUMENT (-1)
/* The message is not UTF-8. */
#define OAM_ERROR_INVALID_UTF8 (-2)
/* The bridge was given up: its callback did not take the messages that waited for it. */
#define OAM_ERROR_GIVEN_UP (-3)

#ifdef __cplusplus
extern "C" {
#endif


/**
 * A bridge: sessions, NPCs and worlds of one host, and the threads and workers behind them. Several may exist side by
 * side.
 */
typedef struct oam_bridge oam_bridge;

/**
 * Gets a message of the bridge: one line of JSON in UTF-8, without a line end.
 *
 * It runs on a thread of the bridge, never twice at the same time, in the order in which the messages were produced.
 * `json_line` is valid until it returns, and is not to be freed. It should be short: copy the line and return. While
 * it runs, further messages wait; nothing else does. It may call `oam_bridge_send`, and `oam_bridge_destroy`, but not
 * `oam_call_blocking`, which would wait for itself and fails. It has to return: an exception that leaves it, or
 * `pthread_exit`, ends the process.
 */
typedef void (*oam_message_callback)(const char *json_line, void *user_data);

/**
 * Creates a bridge. The model "system" is served by the worker that `OAM_WORKER` names (a command line), or else by the
 * one that is installed beside the library.
 *
 * `callback` and `user_data` must stay valid until `oam_bridge_destroy` has returned. `user_data` may be `NULL` and is
 * only handed on. Returns `NULL` if `callback` is `NULL`, or if the system has no more threads or descriptors.
 *
 * A bridge belongs to the process that created it. In one that is forked from it every function returns at once:
 * `oam_bridge_send` with `OAM_ERROR_GIVEN_UP`, `oam_call_blocking` with the error `shut_down`.
 */
oam_bridge *oam_bridge_create(oam_message_callback callback, void *user_data);

/**
 * Creates a bridge with options: a JSON object, or `NULL` for the defaults. Its members are described in
 * bindings/c/README.md; for instance `{"worker": ["my-worker", "--fast"], "stepTimeoutSeconds": 30}`.
 *
 * Options that cannot be used do not give `NULL`: every request to that bridge is answered with the error
 * `invalid_params`, whose message names the option. So a host learns of them where it learns of everything else. A
 * worker that cannot be started leaves the model "system" unavailable, and the message says why.
 */
oam_bridge *oam_bridge_create_with_options(oam_message_callback callback, void *user_data, const char *options_json);

/**
 * Takes in one message: a request, a notification, or the response to a `tool/call`. Never waits for model work;
 * messages are handled in the order in which they were sent. Any thread may call it, also the callback.
 *
 * `json_line` is only read during the call. White space around the message, a line end too, is ignored, and so is a
 * blank line. What is wrong with a message is told through the callback.
 *
 * The message is read on the calling thread. One that is deeply nested takes up to 512 KiB of its stack; messages of that
 * kind are not for fibers, or threads that were made with less.
 *
 * Returns `OAM_OK` or one of the errors above. After `OAM_ERROR_GIVEN_UP` there will be no more messages; all that is
 * left to do is `oam_bridge_destroy`.
 */
int oam_bridge_send(oam_bridge *bridge,
                    const char *json_line);

/**
 * Destroys a bridge: cancels its turns and tool calls, waits for a callback in progress, and ends its workers and
 * threads, which takes half a second at most unless the callback takes longer. Requests in flight get no response, and
 * there is no callback afterwards.
 *
 * Called within the callback it does not wait: that callback is the last one, and the threads end by themselves.
 *
 * `NULL` is ignored. Afterwards the handle must not be used; nor may it be destroyed while another thread is inside
 * `oam_bridge_send` or `oam_call_blocking`. Hosts with several threads count the calls in flight, send the notification
 * `shutdown`, which ends blocking calls, wait for them, and then destroy the bridge.
 */
void oam_bridge_destroy(oam_bridge *bridge);

/**
 * The version of the library, for instance `0.1.0`. The text is static.
 */
const char *oam_version(void);

/**
 * Makes one request and waits for its response, for `timeout_ms` at most (0 or less: without limit), and returns it.
 * After that time the request is cancelled, a turn leaves no trace, and the result is the error `timeout`.
 *
 * The response does not go to the callback; its events and tool calls do, before this returns. They name the `id` of
 * the request, or a private one, `local-<n>`, if it has none. Neither `id` nor `jsonrpc` is needed. Tool calls have to
 * be answered by another thread, or by the callback.
 *
 * The result is never `NULL` unless `bridge` or `request_json` is. It is to be freed with `oam_string_free`. Bytes that
 * are not UTF-8 are read as U+FFFD.
 */
char *oam_call_blocking(oam_bridge *bridge, const char *request_json, int timeout_ms);

/**
 * Frees a result of `oam_call_blocking`. `NULL` is ignored.
 */
void oam_string_free(char *string);

#endif  /* OPEN_APPLE_MODELS_H */

#ifdef __cplusplus
}
#endif
