//! A socket that systemd listens at, for real: `systemd-socket-activate` stands in for its manager.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
};

use nix::sys::signal::Signal;
use oam_tests::oam_binary;
use serde_json::{Value, json};

use crate::home::{Home, Running};

const ACTIVATE: &str = "systemd-socket-activate";

/// Listens at this path, and starts `oam service run` with these arguments when somebody connects. `None`, with a line that says
/// so, where the program does not exist.
fn activated<'a>(
    home: &Home,
    socket: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Option<Running> {
    if Command::new(ACTIVATE).arg("--version").output().is_err() {
        eprintln!("not tested: there is no {ACTIVATE}");
        return None;
    }
    let mut command = home.program(ACTIVATE);
    command.arg(format!("--listen={}", socket.display()));
    for (name, value) in home.variables() {
        command.arg(format!("--setenv={name}={}", value.display()));
    }
    command.arg(oam_binary()).args(["service", "run", "--log-file", "-"]).args(arguments);
    Some(Running::start(command, "Listening on"))
}

#[test]
fn who_connects_starts_the_service_and_is_served() {
    let home = Home::new();
    let socket = home.path("a.sock");
    let Some(mut service) = activated(&home, &socket, []) else { return };
    let mut client = home.client().arg(&socket).arg("--no-start").start();
    client.session("a", [json!({"text": "Here."})]);
    assert_eq!(client.turn("a", "Hello?")["text"], "Here.");
    let status = client.ok("service/status", json!({}));
    assert_eq!((&status["activation"], &status["socket"]), (&json!("systemd"), &json!(socket)));
    assert_eq!(status["pid"], service.child.id());
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ends().code(), Some(0), "{}", service.said);
    assert_eq!(client.wait_exit().code(), Some(1), "it did not ask for the end");
}

#[test]
fn a_service_that_nobody_uses_ends_and_leaves_the_socket_to_its_manager() {
    let home = Home::new();
    let socket = home.path("a.sock");
    let Some(mut service) = activated(&home, &socket, ["--idle-exit", "0.05"]) else { return };
    let mut client = home.client().arg(&socket).start();
    client.settle();
    client.close_input();
    assert!(client.wait_exit().success());
    assert_eq!(service.ends().code(), Some(0), "{}", service.said);
    assert!(socket.exists());
}

#[test]
fn who_waits_for_a_service_that_gave_up_is_told_why() {
    let home = Home::new();
    let arguments = ["service", "run", "--managed", "--log-file", "-", "--worker", "/nowhere/worker"];
    for _ in 0..5 {
        home.run(arguments);
    }
    let socket = home.path("a.sock");
    let Some(mut service) = activated(
        &home,
        &socket,
        arguments[2..].iter().copied().filter(|word| !["--log-file", "-"].contains(word)),
    ) else {
        return;
    };
    let mut client = UnixStream::connect(&socket).unwrap();
    client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let mut line = String::new();
    BufReader::new(client).read_line(&mut line).unwrap();
    let error: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(error["error"]["data"]["code"], "service_gave_up", "{error}");
    assert!(error["error"]["message"].as_str().unwrap().contains("/nowhere/worker"), "{error}");
    assert_eq!(service.ends().code(), Some(0), "{}", service.said);
}
