//! However its client ends, the program ends too.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
    sync::mpsc::channel,
};

use nix::sys::signal::Signal;
use oam_tests::{
    DEADLINE, Oam, oam_binary,
    script::{call, endless, tool},
};
use serde_json::{Value, json};
use wait_timeout::ChildExt;

fn message(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn without_input_it_ends_at_once() {
    let mut child = Command::new(oam_binary())
        .arg("stdio")
        .stdin(File::open("/dev/null").unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = child.wait_timeout(DEADLINE).unwrap().expect("it ends");
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!((status.code(), output.as_str()), (Some(0), ""));
}

#[test]
fn closed_output_ends_it_although_the_input_is_open() {
    let mut oam = Oam::builder().unread().start();
    oam.close_output();
    // The first answer that cannot be written is the latest moment to notice.
    let _may_be_gone = oam.try_send_bytes(format!("{}\n", message(1, "ping", json!({}))).as_bytes());
    let status = oam.wait_exit();
    assert_eq!(status.signal(), None, "not by a signal: {status}");
}

#[test]
fn closed_output_ends_it_although_it_has_nothing_to_write() {
    let mut oam = Oam::builder().unread().start();
    oam.close_output();
    oam.wait_exit();
}

#[test]
fn closed_output_ends_it_while_turns_run_and_calls_wait() {
    let mut oam = Oam::builder().unread().start();
    oam.send_line(&message(1, "session/create", json!({"session": "a", "tools": [tool("look")],
        "options": {"toolTimeoutSeconds": 0}, "model": {"type": "scripted", "steps": [call("look", json!({}))]}})));
    oam.send_line(&message(
        2,
        "session/create",
        json!({"session": "b", "model":
        {"type": "scripted", "steps": [endless()]}}),
    ));
    oam.send_line(&message(3, "session/respond", json!({"session": "a", "prompt": "x"})));
    oam.send_line(&message(4, "session/respond", json!({"session": "b", "prompt": "x"})));
    oam.close_output();
    oam.wait_exit();
}

#[test]
fn output_that_cannot_be_written_ends_it() {
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let mut child = Command::new(oam_binary())
        .arg("stdio")
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", message(1, "ping", json!({}))).unwrap();
    let status = child.wait_timeout(DEADLINE).unwrap();
    let _ = child.kill();
    assert!(status.is_some(), "it ends");
}

#[test]
fn head_gets_its_line_and_ends_the_pipeline() {
    let mut shell = Command::new("sh")
        .args(["-c", "\"$0\" stdio | head -n 1"])
        .arg(oam_binary())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    for id in 1..=2 {
        writeln!(input, "{}", message(id, "ping", json!({}))).unwrap();
    }
    let mut output = BufReader::new(shell.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    // `head` is gone now; the next answer finds nobody.
    let _ = writeln!(input, "{}", message(3, "ping", json!({})));
    assert!(shell.wait_timeout(DEADLINE).unwrap().is_some(), "the shell waits for both");
    drop(input);
}

#[test]
fn signals_end_it_whatever_it_does() {
    for (signal, shell_code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        for busy in [false, true] {
            let mut oam = Oam::start();
            oam.settle();
            if busy {
                oam.session("a", [endless()]);
                oam.session_with("b", [call("look", json!({}))], json!({"tools": [tool("look")]}));
                oam.start_turn("a", "x");
                oam.start_turn("b", "x");
                oam.tool_call();
            }
            oam.signal(signal);
            let status = oam.wait_exit();
            let by_signal = status.signal() == Some(signal as i32);
            assert!(by_signal || [Some(0), Some(shell_code)].contains(&status.code()), "{signal}: {status}");
        }
    }
}

#[test]
fn a_killed_client_leaves_no_process_behind() {
    let create = |id: u64, session: &str, steps: Value| {
        message(
            id,
            "session/create",
            json!({"session": session, "tools": [tool("look")],
            "options": {"toolTimeoutSeconds": 0}, "model": {"type": "scripted", "steps": steps}}),
        )
    };
    let respond = |id: u64, session: &str| {
        message(id, "session/respond", json!({"session": session, "prompt": "x", "stream": true}))
    };
    let cases = [
        ("idle", vec![message(1, "ping", json!({}))]),
        // The first line after the turn's start is its event.
        ("in the middle of a turn", vec![create(1, "a", json!([endless()])), respond(2, "a")]),
        (
            "waiting for a tool without limit",
            vec![create(1, "a", json!([call("look", json!({}))])), respond(2, "a")],
        ),
    ];
    for (what, messages) in cases {
        let mut client = Command::new(env!("CARGO_BIN_EXE_oam-client"))
            .arg(oam_binary())
            .args(messages)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        BufReader::new(client.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        assert!(pid.trim().parse::<u32>().is_ok(), "{what}: the client is ready");
        client.kill().unwrap();
        client.wait().unwrap();
        // Both inherited the error output: its end is the end of the last of them.
        let mut errors = client.stderr.take().unwrap();
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        assert!(ended.recv_timeout(DEADLINE).is_ok(), "oam {} outlived its client ({what})", pid.trim());
    }
}
