//! `oam stdio --connect`: an engine speaks with the service as with a bridge of its own.

use std::{fs, os::unix::process::ExitStatusExt, sync::mpsc::channel, thread};

use nix::sys::signal::Signal;
use oam_tests::{
    DEADLINE, Oam,
    script::{call, endless, tool},
};
use serde_json::{Value, json};

use crate::home::{Home, Running, ended};

/// A turn with a tool call, answered by the client.
fn exchange(client: &mut Oam, name: &str) {
    client.session_with(
        name,
        [call("look", json!({})), json!({"text": format!("{name} is jammed.")})],
        json!({"tools": [tool("look")]}),
    );
    client.answer_tools_with(json!("jammed"));
    let answer = client.turn(name, "Look!");
    assert_eq!(answer["text"], format!("{name} is jammed."));
    assert_eq!(answer["toolCalls"][0]["output"], "jammed");
}

#[test]
fn two_clients_use_one_service_at_the_same_time() {
    let home = Home::new();
    let service = home.serve([]);
    thread::scope(|scope| {
        let (came, coming) = channel();
        let clients = ["north", "south"].map(|name| {
            let (home, came) = (&home, came.clone());
            let (seen, wait) = channel::<()>();
            scope.spawn(move || {
                let mut client = home.client().arg("--no-start").start();
                client.ok("initialize", json!({"client": {"name": name}}));
                came.send(()).unwrap();
                for _ in 0..5 {
                    exchange(&mut client, name);
                    client.ok("session/delete", json!({"session": name}));
                }
                // Until both have been seen at once.
                let _ = wait.recv();
                client.close_input();
                assert!(client.wait_exit().success());
            });
            seen
        });
        drop(came);
        for _ in &clients {
            coming.recv_timeout(DEADLINE).expect("a client is connected");
        }
        let status = home.status();
        drop(clients);
        assert_eq!(status["service"]["pid"], service.child.id());
        let connections = status["service"]["connections"].as_array().unwrap();
        let mut names: Vec<_> = connections.iter().filter_map(|one| one["client"]["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["north", "south"]);
    });
}

#[test]
fn sessions_of_two_clients_do_not_see_each_other() {
    let home = Home::new();
    let _service = home.serve([]);
    let (mut one, mut other) = (home.client().start(), home.client().start());
    one.session("a", [json!({"text": "of one"})]);
    other.session("a", [json!({"text": "of the other"})]);
    assert_eq!(one.turn("a", "x")["text"], "of one");
    assert_eq!(other.turn("a", "x")["text"], "of the other");
}

#[test]
fn the_first_client_starts_the_service_and_it_outlives_him() {
    let home = Home::new();
    let mut first = home.client().start();
    first.settle();
    let status = home.status();
    assert_eq!((&status["running"], &status["service"]["activation"]), (&json!(true), &Value::Null));
    first.close_input();
    assert!(first.wait_exit().success());
    let mut second = home.client().start();
    second.settle();
    assert_eq!(home.status()["service"]["pid"], status["service"]["pid"]);
}

#[test]
fn clients_that_come_at_once_start_one_service() {
    let home = Home::new();
    let clients: Vec<_> = (0..4).map(|_| home.client().start()).collect();
    let served = clients.into_iter().map(|mut client| client.ok("service/status", json!({}))["pid"].clone());
    let pids: std::collections::BTreeSet<_> = served.map(|pid| pid.as_u64()).collect();
    assert_eq!(pids.len(), 1);
}

#[test]
fn a_service_that_was_started_holds_nothing_of_whoever_started_it() {
    let home = Home::new();
    let mut shell = home.program("sh");
    // A descriptor that nobody closes, as engines leave them.
    shell.args(["-c", "exec 9>&1; exec \"$0\" stdio --connect < /dev/null"]).arg(oam_tests::oam_binary());
    // Its output ends, though the service goes on.
    let told = ended(shell);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), ""), "{told:?}");
    assert_eq!(home.status()["running"], true);
}

#[test]
fn a_client_that_may_not_start_the_service_says_that_none_is_there() {
    let home = Home::new();
    let told = home.run(["stdio", "--connect", "--no-start"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    let socket = home.socket();
    assert!(told.stderr.contains(&format!("no service listens at {}", socket.display())), "{told:?}");
    assert_eq!(home.status()["running"], false);
}

#[test]
fn a_socket_in_a_folder_that_is_not_there_starts_nothing() {
    let home = Home::new();
    let socket = home.path("mis spelt/oam.sock");
    let socket = socket.to_str().unwrap();
    let start = format!("`oam service start --socket '{socket}'`");
    for (arguments, part) in [
        (&["stdio", "--connect", socket][..], "there is no folder "),
        (&["stdio", "--connect", socket, "--no-start"], "no service listens at "),
        (&["service", "delete-realm", "inn", "--socket", socket], "no service listens at "),
    ] {
        let told = home.run(arguments.iter().copied());
        assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
        assert!(told.stderr.contains(part) && told.stderr.contains(&start), "{told:?}");
    }
    let status = home.run(["service", "status", "--socket", socket]);
    assert!(status.stdout.contains(&format!("To do       {}\n", start.trim_matches('`'))), "{status:?}");
    assert!(!home.path("mis spelt").exists() && !home.data().exists());
}

#[test]
fn a_service_that_does_not_start_is_told_with_its_last_words() {
    let home = Home::new();
    let mut client = home.program(oam_tests::oam_binary());
    client.args(["stdio", "--connect"]).env("OAM_WORKER", "/nowhere/worker");
    let told = ended(client);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.stderr.contains("there is no program /nowhere/worker"), "{told:?}");
}

#[test]
fn who_connects_while_a_service_ends_waits_and_starts_the_next() {
    let home = Home::new();
    let mut old = home.serve(["--drain", "60"]);
    let mut client = home.client().start();
    client.session_with(
        "a",
        [call("look", json!({})), json!({"text": "done"})],
        json!({"tools": [tool("look")]}),
    );
    let turn = client.start_turn("a", "x");
    let look = client.tool_call();
    old.signal(Signal::SIGTERM);
    let mut next = home.program(oam_tests::oam_binary());
    next.args(["stdio", "--connect"]);
    while home.socket().exists() {
        thread::yield_now();
    }
    let mut next = Running::start(next, &format!("waiting for process {} to end", old.child.id()));
    let told = home.run(["service", "status"]);
    assert!(told.stdout.contains(&format!("ending: process {}", old.child.id())), "{told:?}");
    client.reply(&look, json!("jammed"));
    assert_eq!(client.wait_ok(&turn)["text"], "done");
    assert!(old.ends().success(), "{}", old.said);
    assert_eq!(next.ends().code(), Some(0), "{}", next.said);
    assert_eq!(home.status()["running"], true);
}

#[test]
fn what_is_wrong_with_a_socket_is_told_with_the_option_that_named_it() {
    let home = Home::new();
    let long = format!("/{}", "d".repeat(200));
    let cases: [(&[&str], &str); 2] = [
        (&["stdio", "--connect", &long], "with --connect"),
        (&["service", "status", "--socket", &long], "with --socket"),
    ];
    for (arguments, option) in cases {
        let told = home.run(arguments.iter().copied());
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains(&format!("name a shorter one {option}")), "{told:?}");
    }
}

#[test]
fn a_named_socket_is_served_beside_the_usual_one() {
    let home = Home::new();
    let socket = home.path("other/a socket");
    let _usual = home.serve([]);
    let other_data = home.path("other/data");
    let _other = home.serve(["--socket", socket.to_str().unwrap(), "--data", other_data.to_str().unwrap()]);
    let mut client = home.client().arg(socket.to_str().unwrap()).arg("--no-start").start();
    let status = client.ok("service/status", json!({}));
    assert_eq!(status["socket"], socket.to_str().unwrap());
}

#[test]
fn a_lost_service_ends_its_clients_with_1_and_says_so() {
    let home = Home::new();
    let mut service = home.serve([]);
    let mut client = home.client().start();
    client.session("a", [endless()]);
    client.start_turn("a", "x");
    client.settle();
    service.signal(Signal::SIGKILL);
    assert_eq!(service.ends().signal(), Some(Signal::SIGKILL as i32));
    assert_eq!(client.wait_exit().code(), Some(1));
    assert!(client.stderr().contains("the service is gone"), "{}", client.stderr());
}

/// Ends a client.
type End = fn(&mut Oam);

#[test]
fn what_ends_a_bridge_of_ones_own_ends_a_client_in_the_same_way() {
    let home = Home::new();
    let _service = home.serve([]);
    let ends: [(&str, End, i32); 4] = [
        ("end of input", |client| client.close_input(), 0),
        ("shutdown", |client| _ = client.ok("shutdown", Value::Null), 0),
        ("SIGTERM", |client| client.signal(Signal::SIGTERM), 0),
        ("SIGINT", |client| client.signal(Signal::SIGINT), 130),
    ];
    for (what, end, code) in ends {
        let mut client = home.client().start();
        client.settle();
        end(&mut client);
        assert_eq!(client.wait_exit().code(), Some(code), "{what}: {}", client.stderr());
        assert_eq!(client.stderr(), "", "{what}");
    }
}

#[test]
fn a_client_nobody_reads_ends() {
    let home = Home::new();
    let _service = home.serve([]);
    let mut client = home.client().unread().start();
    client.close_output();
    assert_eq!(client.wait_exit().code(), Some(0));
}

#[test]
fn answers_that_are_owed_at_the_end_of_input_arrive() {
    let home = Home::new();
    let _service = home.serve([]);
    let mut client = home.client().start();
    client.session("a", [json!({"text": "late"})]);
    let turn = client.start_turn("a", "x");
    client.close_input();
    assert_eq!(client.wait_ok(&turn)["text"], "late");
    assert!(client.wait_exit().success());
}

#[test]
fn what_is_long_arrives_whole() {
    let home = Home::new();
    let _service = home.serve([]);
    let mut client = home.client().start();
    let text = "ü🐉".repeat(1 << 18);
    client.session("a", [json!({"text": text})]);
    assert_eq!(client.turn("a", "x")["text"], text);
}

#[test]
fn a_socket_that_is_no_socket_is_told() {
    let home = Home::new();
    let path = home.path("file");
    fs::write(&path, "").unwrap();
    let told = home.run(["stdio", "--connect", path.to_str().unwrap(), "--no-start"]);
    assert_eq!(told.code, Some(1), "{told:?}");
}
