//! A client that does not read costs bounded memory and holds up nothing.

use oam_tests::{
    Oam, procfs,
    script::{endless, text},
};
use serde_json::json;

/// Far more than the program needs, far less than what piles up where nothing is merged or limited.
const BOUND_KIB: u64 = 384 * 1024;

fn peak(oam: &Oam) -> Option<u64> {
    procfs::usage(oam.pid()).ok().map(|usage| usage.peak_rss_kib)
}

#[test]
fn requests_are_taken_while_nobody_reads_and_deltas_add_up_afterwards() {
    let mut oam = Oam::builder().unread().start();
    let watchdog = oam.watchdog();
    let long = "0123456789abcde\n".repeat(64 * 1024);
    let chatty = json!({"type": "scripted", "steps": [{"text": long, "chunks": 20_000}]});
    let stuck = json!({"type": "scripted", "steps": [endless()]});
    oam.request("session/create", json!({"session": "chatty", "model": chatty}));
    oam.request("session/create", json!({"session": "stuck", "model": stuck}));
    let streamed = oam.start_turn_with("chatty", "x", json!({"stream": true}));
    let cancelled = oam.start_turn_with("stuck", "x", json!({"stream": true}));
    // Much more than the pipe holds: it is taken only if the reading goes on while the writing is stuck.
    let pings: Vec<_> = (0..20_000).map(|_| oam.request("ping", json!({}))).collect();
    let cancel = oam.request("session/cancel", json!({"session": "stuck"}));
    let last = oam.request("ping", json!({"pad": "x".repeat(256 * 1024)}));
    drop(watchdog);
    oam.read_output();
    assert_eq!(oam.wait_ok(&cancel)["cancelled"], 1);
    assert_eq!(oam.wait_fails(&cancelled).name, "cancelled");
    assert_eq!(oam.wait_ok(&streamed)["text"], long);
    oam.wait_ok(&last);
    assert_eq!(pings.into_iter().filter(|ping| oam.wait(ping).is_ok()).count(), 20_000);
    assert_eq!(oam.open_requests(), 0);
    // Every piece sent with the whole text so far would be ten gigabytes.
    if let Some(peak) = peak(&oam) {
        assert!(peak < BOUND_KIB, "{peak} KiB");
    }
}

#[test]
fn answers_that_nobody_reads_do_not_pile_up_without_bound() {
    let mut oam = Oam::builder().unread().start();
    let watchdog = oam.watchdog();
    let create = json!({"session": "a", "model": "scripted", "instructions": "x".repeat(1 << 20)});
    oam.request("session/create", create);
    let ask = json!({"jsonrpc": "2.0", "id": 2, "method": "session/list", "params": {}});
    let mut highest = 0;
    for _ in 0..600 {
        // More than half a gigabyte in all. The program may end the connection, but not take the memory.
        if oam.try_send_bytes(format!("{ask}\n").as_bytes()).is_err() {
            break;
        }
        highest = highest.max(peak(&oam).unwrap_or(0));
    }
    drop(watchdog);
    assert!(highest < BOUND_KIB, "{highest} KiB");
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_service_goes_on() {
    let mut oam = Oam::start();
    let chunk = vec![b'x'; 1 << 20];
    oam.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""#);
    for _ in 0..65 {
        oam.send_bytes(&chunk);
    }
    oam.send_bytes(b"\"}}\n");
    let error = oam.unaddressed_error();
    assert_eq!(error.code, -32700, "{error:?}");
    assert_eq!(oam.ok("ping", json!({})), json!({}));
    // And again, without any newline before the end.
    for _ in 0..80 {
        oam.send_bytes(&chunk);
    }
    oam.close_input();
    assert_eq!(oam.unaddressed_error().code, -32700);
    assert_eq!(oam.wait_exit().code(), Some(0));
}

#[test]
fn a_line_below_the_limit_is_served() {
    let mut oam = Oam::start();
    oam.session("a", [text("heard")]);
    assert_eq!(oam.turn("a", &"x".repeat(60 << 20))["text"], "heard");
}
