//! What each function does with its arguments.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    ptr,
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

unsafe extern "C" fn collect(line: *const c_char, lines: *mut c_void) {
    // SAFETY: `lines` is the sender of a `Host` that outlives its bridge, and `line` a C string.
    let (lines, line) = unsafe { (&*lines.cast::<Sender<String>>(), CStr::from_ptr(line)) };
    let _ = lines.send(line.to_str().unwrap().to_owned());
}

struct Host {
    bridge: *mut oam_bridge,
    lines: Receiver<String>,
    sender: *mut Sender<String>,
}

impl Host {
    fn new(options: Option<&str>) -> Self {
        let (sender, lines) = mpsc::channel();
        let sender = Box::into_raw(Box::new(sender));
        let options = options.map(|options| CString::new(options).unwrap());
        let options = options.as_ref().map_or(ptr::null(), |options| options.as_ptr());
        // SAFETY: the sender is freed behind the bridge, and `options` lives until this has returned.
        let bridge = unsafe { oam_bridge_create_with_options(Some(collect), sender.cast(), options) };
        assert!(!bridge.is_null());
        Self { bridge, lines, sender }
    }

    fn send(&self, line: &[u8]) -> c_int {
        let line = CString::new(line).unwrap();
        // SAFETY: the bridge is destroyed when this is dropped.
        unsafe { oam_bridge_send(self.bridge, line.as_ptr()) }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    fn call(&self, request: &[u8], timeout_ms: c_int) -> String {
        let request = CString::new(request).unwrap();
        // SAFETY: the bridge is destroyed when this is dropped, and the answer is freed once.
        unsafe {
            let answer = oam_call_blocking(self.bridge, request.as_ptr(), timeout_ms);
            let text = CStr::from_ptr(answer).to_str().unwrap().to_owned();
            oam_string_free(answer);
            text
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: both came from here, and nobody uses them any more.
        unsafe {
            oam_bridge_destroy(self.bridge);
            drop(Box::from_raw(self.sender));
        }
    }
}

#[test]
fn null_is_refused_or_ignored() {
    let host = Host::new(None);
    let line = c"{}".as_ptr();
    // SAFETY: NULL is allowed everywhere.
    unsafe {
        assert!(oam_bridge_create(None, ptr::null_mut()).is_null());
        assert_eq!(oam_bridge_send(ptr::null_mut(), line), OAM_ERROR_INVALID_ARGUMENT);
        assert_eq!(oam_bridge_send(host.bridge, ptr::null()), OAM_ERROR_INVALID_ARGUMENT);
        assert!(oam_call_blocking(ptr::null_mut(), line, 1).is_null());
        assert!(oam_call_blocking(host.bridge, ptr::null(), 1).is_null());
        oam_bridge_destroy(ptr::null_mut());
        oam_string_free(ptr::null_mut());
    }
}

#[test]
fn the_version_is_that_of_the_crate() {
    // SAFETY: a static text.
    let version = unsafe { CStr::from_ptr(oam_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_message_may_have_white_space_around_and_in_it() {
    let host = Host::new(None);
    for line in ["", "\n", " \r\n", "\u{feff}"] {
        assert_eq!(host.send(line.as_bytes()), OAM_OK);
    }
    assert_eq!(host.send(b"\n{\"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"method\": \"ping\"}\r\n"), OAM_OK);
    assert_eq!(host.next(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[test]
fn two_messages_in_one_call_are_no_message() {
    let host = Host::new(None);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(host.send(format!("{ping}\n{ping}").as_bytes()), OAM_OK);
    assert!(host.next().starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_when_sent_and_repaired_when_called() {
    let host = Host::new(None);
    assert_eq!(
        host.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xFF\",\"method\":\"ping\"}"),
        OAM_ERROR_INVALID_UTF8
    );
    let answer = host.call(b"{\"id\":\"\xFF\",\"method\":\"ping\"}", 0);
    assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":\"\u{fffd}\",\"result\":{}}");
}

#[test]
fn a_blocking_call_has_its_limit_in_milliseconds_and_none_from_0_down() {
    let host = Host::new(None);
    let ping = br#"{"method":"ping"}"#;
    for limit in [c_int::MIN, -1, 0, 10_000, c_int::MAX] {
        assert_eq!(host.call(ping, limit), r#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
    }
}

#[test]
fn options_that_cannot_be_used_are_told_in_every_answer() {
    let host = Host::new(Some(r#"{"workrs": 1}"#));
    let answer = host.call(br#"{"method":"initialize","id":7}"#, 10_000);
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"#), "{answer}");
    assert!(answer.contains("'options.workrs' is not an option"), "{answer}");
    assert_eq!(host.send(br#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#), OAM_OK);
    assert!(host.next().contains("'options.workrs' is not an option"));
}
