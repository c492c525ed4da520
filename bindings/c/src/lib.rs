//! `libOpenAppleModelsFFI`: the C interface of the supervisor (bindings/c/README.md).
//!
//! The comments of the functions are those of the header, which is made of them by `scripts/header`. This is the only
//! place with `unsafe` code: it turns pointers into what `oam-embedded` takes, and nothing else.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![allow(unsafe_code, reason = "pointers come from C; each use says why it is right")]
#![allow(non_snake_case, reason = "the library has the name that every binding looks for")]
#![allow(non_camel_case_types, reason = "the names of types are those of the C header")]

mod callback;
mod library;
#[cfg(test)]
mod tests;

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    time::Duration,
};

use oam_embedded::{EmbeddedBridge, EmbeddedOptions, SendError};

use callback::Callback;

/// The message was taken.
pub const OAM_OK: c_int = 0;
/// The bridge or the message is `NULL`.
pub const OAM_ERROR_INVALID_ARGUMENT: c_int = -1;
/// The message is not UTF-8.
pub const OAM_ERROR_INVALID_UTF8: c_int = -2;
/// The bridge was given up: its callback did not take the messages that waited for it. Or it is not in this process,
/// which was forked from the one that created it.
pub const OAM_ERROR_GIVEN_UP: c_int = -3;

/// A bridge: sessions, NPCs and worlds of one host, and the threads and workers behind them. Several may exist side by
/// side.
#[derive(Debug)]
pub struct oam_bridge(EmbeddedBridge);

/// Gets a message of the bridge: one line of JSON in UTF-8, without a line end.
///
/// It runs on a thread of the bridge, never twice at the same time, in the order in which the messages were produced.
/// `json_line` is valid until it returns, and is not to be freed. It should be short: copy the line and return. While
/// it runs, further messages wait; nothing else does. It may call `oam_bridge_send`, and `oam_bridge_destroy`, but not
/// `oam_call_blocking`, which would wait for itself and fails. It has to return: an exception that leaves it, or
/// `pthread_exit`, ends the process.
pub type oam_message_callback =
    Option<unsafe extern "C" fn(json_line: *const c_char, user_data: *mut c_void)>;

/// Creates a bridge. The model "system" is served by the worker that `OAM_WORKER` names (a command line), or else by the
/// one that is installed beside the library.
///
/// `callback` and `user_data` must stay valid until `oam_bridge_destroy` has returned. `user_data` may be `NULL` and is
/// only handed on. Returns `NULL` if `callback` is `NULL`, or if the system has no more threads or descriptors.
///
/// A bridge belongs to the process that created it. In one that is forked from it every function returns at once:
/// `oam_bridge_send` with `OAM_ERROR_GIVEN_UP`, `oam_call_blocking` with the error `shut_down`.
///
/// # Safety
/// `callback` can be called from another thread, with `user_data`, until the bridge is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_bridge_create(
    callback: oam_message_callback,
    user_data: *mut c_void,
) -> *mut oam_bridge {
    // SAFETY: what the caller promises is the same; there are no options to be read.
    unsafe { oam_bridge_create_with_options(callback, user_data, ptr::null()) }
}

/// Creates a bridge with options: a JSON object, or `NULL` for the defaults. Its members are described in
/// bindings/c/README.md; for instance `{"worker": ["my-worker", "--fast"], "stepTimeoutSeconds": 30}`.
///
/// Options that cannot be used do not give `NULL`: every request to that bridge is answered with the error
/// `invalid_params`, whose message names the option. So a host learns of them where it learns of everything else. A
/// worker that cannot be started leaves the model "system" unavailable, and the message says why.
///
/// # Safety
/// As for `oam_bridge_create`. `options_json` is `NULL` or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_bridge_create_with_options(
    callback: oam_message_callback,
    user_data: *mut c_void,
    options_json: *const c_char,
) -> *mut oam_bridge {
    guarded(ptr::null_mut(), || {
        let Some(function) = callback else { return ptr::null_mut() };
        // SAFETY: the caller promises that it can be called so until the bridge is destroyed, which ends its callbacks.
        let mut callback = unsafe { Callback::new(function, user_data) };
        // SAFETY: the caller promises NULL or a C string.
        let options = unsafe { text(options_json) }.map(|text| EmbeddedOptions::from_json(&text));
        let on_message = move |line: &str| callback.call(line);
        let bridge = match options.unwrap_or_else(|| Ok(EmbeddedOptions::default())) {
            Ok(options) => {
                EmbeddedBridge::start(EmbeddedOptions { beside: library::folder(), ..options }, on_message)
            }
            Err(error) => EmbeddedBridge::start_refusing(error, on_message),
        };
        match bridge {
            Ok(bridge) => Box::into_raw(Box::new(oam_bridge(bridge))),
            Err(_) => ptr::null_mut(),
        }
    })
}

/// Takes in one message: a request, a notification, or the response to a `tool/call`. Never waits for model work;
/// messages are handled in the order in which they were sent. Any thread may call it, also the callback.
///
/// `json_line` is only read during the call. White space around the message, a line end too, is ignored, and so is a
/// blank line. What is wrong with a message is told through the callback.
///
/// The message is read on the calling thread. One that is deeply nested takes up to 512 KiB of its stack; messages of that
/// kind are not for fibers, or threads that were made with less.
///
/// Returns `OAM_OK` or one of the errors above. After `OAM_ERROR_GIVEN_UP` there will be no more messages; all that is
/// left to do is `oam_bridge_destroy`.
///
/// # Safety
/// `bridge` is `NULL` or one that has not been destroyed. `json_line` is `NULL` or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_bridge_send(bridge: *mut oam_bridge, json_line: *const c_char) -> c_int {
    guarded(OAM_ERROR_INVALID_ARGUMENT, || {
        // SAFETY: the caller promises NULL or a bridge that nobody destroys meanwhile.
        let bridge = unsafe { bridge.as_ref() };
        let (Some(oam_bridge(bridge)), false) = (bridge, json_line.is_null()) else {
            return OAM_ERROR_INVALID_ARGUMENT;
        };
        // SAFETY: it is not NULL, so the caller promises a C string.
        let Ok(line) = unsafe { CStr::from_ptr(json_line) }.to_str() else {
            return OAM_ERROR_INVALID_UTF8;
        };
        match bridge.send(line) {
            Ok(()) => OAM_OK,
            Err(SendError::GivenUp | SendError::Forked) => OAM_ERROR_GIVEN_UP,
            Err(SendError::Closed) => OAM_ERROR_INVALID_ARGUMENT,
        }
    })
}

/// Destroys a bridge: cancels its turns and tool calls, waits for a callback in progress, and ends its workers and
/// threads, which takes half a second at most unless the callback takes longer. Requests in flight get no response, and
/// there is no callback afterwards.
///
/// Called within the callback it does not wait: that callback is the last one, and the threads end by themselves.
///
/// `NULL` is ignored. Afterwards the handle must not be used; nor may it be destroyed while another thread is inside
/// `oam_bridge_send` or `oam_call_blocking`. Hosts with several threads count the calls in flight, send the notification
/// `shutdown`, which ends blocking calls, wait for them, and then destroy the bridge.
///
/// # Safety
/// `bridge` is `NULL` or one that has not been destroyed and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_bridge_destroy(bridge: *mut oam_bridge) {
    guarded((), || {
        if !bridge.is_null() {
            // SAFETY: the caller promises a bridge, which came from `Box::into_raw`, and that this is its last use.
            drop(unsafe { Box::from_raw(bridge) });
        }
    });
}

/// The version of the library, for instance `0.1.0`. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn oam_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version holds no zero"),
        };
    VERSION.as_ptr()
}

/// Makes one request and waits for its response, for `timeout_ms` at most (0 or less: without limit), and returns it.
/// After that time the request is cancelled, a turn leaves no trace, and the result is the error `timeout`.
///
/// The response does not go to the callback; its events and tool calls do, before this returns. They name the `id` of
/// the request, or a private one, `local-<n>`, if it has none. Neither `id` nor `jsonrpc` is needed. Tool calls have to
/// be answered by another thread, or by the callback.
///
/// The result is never `NULL` unless `bridge` or `request_json` is. It is to be freed with `oam_string_free`. Bytes that
/// are not UTF-8 are read as U+FFFD.
///
/// # Safety
/// `bridge` is `NULL` or one that has not been destroyed. `request_json` is `NULL` or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_call_blocking(
    bridge: *mut oam_bridge,
    request_json: *const c_char,
    timeout_ms: c_int,
) -> *mut c_char {
    guarded(ptr::null_mut(), || {
        // SAFETY: the caller promises NULL or a bridge that nobody destroys meanwhile.
        let bridge = unsafe { bridge.as_ref() };
        // SAFETY: the caller promises NULL or a C string.
        let request = unsafe { text(request_json) };
        let (Some(oam_bridge(bridge)), Some(request)) = (bridge, request) else { return ptr::null_mut() };
        let limit = u64::try_from(timeout_ms).ok().filter(|limit| *limit > 0).map(Duration::from_millis);
        let answer = bridge.call(&request, limit);
        // JSON text holds no zero.
        CString::new(answer).map_or(ptr::null_mut(), CString::into_raw)
    })
}

/// Frees a result of `oam_call_blocking`. `NULL` is ignored.
///
/// # Safety
/// `string` is `NULL` or such a result that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oam_string_free(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: the caller promises a result of `CString::into_raw`, and that this is its last use.
        drop(unsafe { CString::from_raw(string) });
    }
}

/// The text of a C string, bytes that are not UTF-8 replaced; `None` for NULL.
///
/// # Safety
/// `string` is NULL or a C string.
unsafe fn text(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: it is not NULL, so the caller promises a C string.
    Some(unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

/// Does `work`. A panic, which would be a bug, must not get into C: then the result is `otherwise`.
fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}
