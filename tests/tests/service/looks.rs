//! Looking at the service, and having it changed while it runs.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    process::Stdio,
    thread,
};

use nix::sys::signal::Signal;
use oam_tests::{
    Watchdog, oam_binary,
    script::endless,
    terminal::{Terminal, keys},
};
use serde_json::{Value, json};

use crate::home::{Home, ended};

#[test]
fn names_cannot_pass_for_anything_else_in_the_status() {
    let home = Home::new();
    let _service = home.serve([]);
    let mut client = home.client().start();
    client.ok(
        "initialize",
        json!({"client": {"name": "a, realm hills\u{202e}", "realm": "inn, nothing in it"}}),
    );
    let people = home.run(["service", "status"]).stdout;
    for part in [r#"1 "a, realm hills\u{202e}", process "#, r#", realm "inn, nothing in it", 0 requests"#] {
        assert!(people.contains(part), "{part}: {people}");
    }
    let is_realm = |line: &str| line.trim_start().starts_with(r#""inn, nothing in it", "#);
    assert!(people.lines().any(is_realm), "{people}");
    client.close_input();
    client.wait_exit();
    let deleted = home.run(["service", "delete-realm", "inn, nothing in it"]).stdout;
    assert_eq!(deleted, "The realm \"inn, nothing in it\" was deleted.\n");
}

#[test]
fn the_status_tells_of_connections_realms_and_workers() {
    let home = Home::new();
    let worker = format!("'{}' worker scripted", oam_binary().display());
    let _service = home.serve(["--worker", &worker, "--max-connections", "7"]);
    let mut client = home.client().start();
    client.ok("initialize", json!({"client": {"name": "tavern", "realm": "inn"}}));
    client.ok("world/create", json!({"world": "w", "state": {"gold": 3}}));
    client.session("a", [endless()]);
    client.start_turn("a", "x");
    client.settle();
    let told = home.status();
    let service = &told["service"];
    assert_eq!(service["version"], env!("CARGO_PKG_VERSION"));
    let connections = service["connections"].as_array().unwrap();
    let [connection] = connections.as_slice() else {
        panic!("the one that asks does not count: {connections:?}")
    };
    assert_eq!(connection["client"]["name"], "tavern");
    assert_eq!((&connection["realm"], &connection["busy"]), (&json!("inn"), &json!(1)));
    assert_eq!((&service["realms"][0]["name"], &service["realms"][0]["worlds"]), (&json!("inn"), &json!(1)));
    assert!(service["workers"]["workers"].as_array().is_some_and(|workers| !workers.is_empty()));
    let people = home.run(["service", "status"]).stdout;
    for part in [
        "running: process",
        "Connections 1 of 7",
        "tavern, process",
        "realm inn",
        "1 world",
        "open, ",
        "breaker closed",
    ] {
        assert!(people.contains(part), "{part}: {people}");
    }
    let model = home.run(["status", "--worker", &worker]);
    assert_eq!(model.code, Some(0), "{model:?}");
    assert!(model.stdout.contains("Service     running: process"), "{model:?}");
}

#[test]
fn the_status_tells_how_the_last_worker_ended() {
    let home = Home::new();
    let _service = home.serve(["--worker", "sh -c 'echo no licence >&2; exit 5'"]);
    let people = home.run(["service", "status"]).stdout;
    let exit = people.lines().find(|line| line.starts_with("Last exit   worker w")).unwrap_or(&people);
    for part in [" exited with code 5", "no licence"] {
        assert!(exit.contains(part), "{part}: {people}");
    }
}

#[test]
fn the_status_tells_who_answers_where_no_worker_does() {
    let home = Home::new();
    let script = home.path("script.json");
    fs::write(&script, r#"[{"text": "Hello."}]"#).unwrap();
    for (script, answers) in [
        (Some(&script), "none: a script or a recording answers"),
        (None, "none: turns on the model \"system\" fail; say --worker"),
    ] {
        let mut start = home.program(oam_binary());
        start.args(["service", "restart"]).envs(script.map(|path| ("OAM_SCRIPT", path)));
        let started = ended(start);
        assert_eq!(started.code, Some(0), "{started:?}");
        let people = home.run(["service", "status"]).stdout;
        assert!(people.contains(&format!("Workers     {answers}")), "{people}");
    }
}

#[test]
fn the_status_names_the_folder_that_the_service_has() {
    let home = Home::new();
    let folder = home.path("elsewhere");
    let _service = home.serve(["--data", folder.to_str().unwrap()]);
    assert_eq!(home.status()["data"], folder.to_str().unwrap());
}

#[test]
fn the_status_names_the_log_that_the_service_has_and_it_is_shown() {
    let home = Home::new();
    let service = home.serve([]);
    assert_eq!(home.status()["log"], Value::Null, "it is standard error");
    drop(service);
    let log = home.path("elsewhere.log");
    let mut service = home.program(oam_binary());
    service.args(["service", "run", "--log-file"]).arg(&log);
    let mut service = service.stderr(Stdio::null()).spawn().unwrap();
    let watchdog = Watchdog::over(service.id());
    while home.run(["stdio", "--connect", "--no-start"]).code != Some(0) {}
    assert_eq!(home.status()["log"], log.to_str().unwrap());
    let told = home.run(["service", "logs", "-n", "1000"]);
    assert!(told.stdout.contains("the service listens"), "{told:?}");
    home.run(["service", "stop"]);
    assert!(service.wait().unwrap().success());
    drop(watchdog);
}

#[test]
fn a_service_that_hangs_is_named_and_killed_when_that_is_asked_for() {
    let home = Home::new();
    let mut service = home.serve([]);
    service.signal(Signal::SIGSTOP);
    let process = format!("process {}", service.child.id());
    let (status, stop) = thread::scope(|scope| {
        let status = scope.spawn(|| home.run(["service", "status"]));
        let stop = home.run(["service", "stop"]);
        (status.join().unwrap(), stop)
    });
    assert_eq!((status.code, stop.code), (Some(1), Some(1)), "{status:?} {stop:?}");
    assert!(status.stdout.contains(&format!("{process} says nothing")), "{status:?}");
    assert!(status.stdout.contains("To do       oam service stop --kill"), "{status:?}");
    assert!(stop.stderr.contains(&process[1..]) && stop.stderr.contains("--kill"), "{stop:?}");
    let told = home.run(["service", "stop", "--kill"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "The service was stopped.\n"), "{told:?}");
    assert_eq!(service.ends().signal(), Some(Signal::SIGKILL as i32));
    assert_eq!(home.run(["service", "start"]).code, Some(0));
}

#[test]
fn a_terminal_that_closes_ends_the_service_that_was_started_there() {
    let home = Home::new();
    let mut terminal = Terminal::oam(["service", "run", "--log-file", "-"]).size(24, 400);
    for (name, value) in home.variables() {
        terminal = terminal.env(name, value);
    }
    let terminal = terminal.start();
    terminal.shows("the service listens");
    terminal.signal(Signal::SIGHUP).ends_with(0);
    assert_eq!(home.status()["running"], false);
}

#[test]
fn who_runs_the_service_at_a_terminal_is_told_where_it_is_and_how_it_ends() {
    let home = Home::new();
    let log = home.path("a.log");
    let mut terminal = Terminal::oam(["service", "run", "--log-file", log.to_str().unwrap()]).size(24, 400);
    for (name, value) in home.variables() {
        terminal = terminal.env(name, value);
    }
    let terminal = terminal.start();
    let (socket, log) = (home.socket(), log.display());
    let line = format!("The service listens at {} and logs to {log}. Ctrl-C ends it.", socket.display());
    terminal.shows(&line);
    terminal.press(keys::CTRL_C).ends_with(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_is_stopped_whose_end_nobody_looks_at() {
    let home = Home::new();
    let mut service = home.serve([]);
    let told = home.run(["service", "stop"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "The service was stopped.\n"), "{told:?}");
    assert!(service.ends().success());
}

#[test]
fn a_realm_with_nothing_in_it_is_said_to_be_so_and_its_making_is_in_the_log() {
    let home = Home::new();
    assert_eq!(home.run(["service", "start"]).code, Some(0));
    let mut client = home.client().start();
    client.ok("initialize", json!({"client": {"realm": "inn"}}));
    client.ok("world/create", json!({"world": "w"}));
    let mut misspelt = home.client().start();
    misspelt.ok("initialize", json!({"client": {"realm": "iin"}}));
    let people = home.run(["service", "status"]).stdout;
    for part in ["inn, 1 object on disk", "iin, nothing in it, 1 connection"] {
        assert!(people.contains(part), "{part}: {people}");
    }
    let log = home.run(["service", "logs", "--json"]).stdout;
    let made = log.lines().filter(|line| line.contains("a realm was made"));
    let realms: Vec<Value> =
        made.map(|line| serde_json::from_str::<Value>(line).unwrap()["realm"].take()).collect();
    assert_eq!(realms, ["inn", "iin"], "{log}");
}

#[test]
fn a_realm_is_deleted_when_nobody_is_in_it() {
    let home = Home::new();
    let _service = home.serve([]);
    let mut client = home.client().start();
    client.ok("initialize", json!({"client": {"realm": "inn"}}));
    client.ok("world/create", json!({"world": "w"}));
    let told = home.run(["service", "delete-realm", "inn"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains("in use"), "{told:?}");
    client.close_input();
    client.wait_exit();
    let told = home.run(["service", "delete-realm", "inn"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "The realm inn was deleted.\n"), "{told:?}");
    assert_eq!(home.status()["service"]["realms"], json!([]));
    assert_eq!(home.run(["service", "delete-realm", "inn"]).code, Some(1), "it is gone");
}

#[test]
fn a_hang_up_reads_the_settings_again() {
    let home = Home::new();
    let settings = home.path("config/oam/service.json");
    let settings = if cfg!(target_os = "macos") {
        home.path("Library/Application Support/oam/service.json")
    } else {
        settings
    };
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"max-connections": 3, "drain": 2}"#).unwrap();
    let mut service = home.serve(["--drain", "1"]);
    let of = |home: &Home, member: &str| home.status()["service"][member].clone();
    assert_eq!(of(&home, "maxConnections"), 3);
    assert_eq!(of(&home, "drainSeconds").as_f64(), Some(1.0), "the command line comes first");
    fs::write(&settings, r#"{"max-connections": 4, "drain": 3, "workers": 2, "log-level": "debug"}"#)
        .unwrap();
    service.signal(Signal::SIGHUP);
    service.says("the settings were read again");
    assert!(service.said.contains("workers is what it was until"), "{}", service.said);
    assert_eq!(of(&home, "maxConnections"), 4);
    assert_eq!(
        of(&home, "drainSeconds").as_f64(),
        Some(1.0),
        "what was said by hand is not overruled by a file"
    );
    service.says("debug: a request arrived");
    fs::write(&settings, r#"{"max-connection": 5}"#).unwrap();
    service.signal(Signal::SIGHUP);
    service.says("the settings stay as they are");
    assert_eq!(of(&home, "maxConnections"), 4);
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ends().code(), Some(0), "{}", service.said);

    let told = home.run(["service", "run"]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("did you mean \"max-connections\"?"), "{told:?}");
}

#[test]
fn a_settings_file_does_not_say_where_the_service_is() {
    let home = Home::new();
    let settings = home.path("service.json");
    for place in ["socket", "data", "config", "log-file"] {
        fs::write(&settings, json!({place: "/elsewhere"}).to_string()).unwrap();
        let told = home.run(["service", "run", "--config", settings.to_str().unwrap()]);
        assert_eq!(told.code, Some(2), "{told:?}");
        let reason = format!("service.json: \"{place}\" cannot be set in the file: others would not find");
        assert!(told.stderr.contains(&reason), "{told:?}");
        assert!(told.stderr.contains(&format!("give the flag --{place}")), "{told:?}");
    }
}

#[test]
fn a_restart_hands_over_to_a_new_process() {
    let home = Home::new();
    assert_eq!(home.run(["service", "start"]).code, Some(0));
    let old = home.status()["service"]["pid"].clone();
    let told = home.run(["service", "restart"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let new = home.status()["service"]["pid"].clone();
    assert!(new.is_u64() && new != old, "{old} {new}");
    for expected in ["The service was stopped.\n", "The service does not run.\n"] {
        let told = home.run(["service", "stop"]);
        assert_eq!((told.code, told.stdout.as_str()), (Some(0), expected), "{told:?}");
    }
}

#[test]
fn a_start_tells_whether_the_service_ran_before() {
    let home = Home::new();
    for expected in ["The service runs: process ", "The service runs already: process "] {
        let told = home.run(["service", "start"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stdout.starts_with(expected), "{told:?}");
    }
}

#[test]
fn a_restart_that_fails_tells_who_still_serves() {
    let home = Home::new();
    let service = home.serve([]);
    let mut command = home.program(oam_binary());
    command.args(["service", "restart"]).env("OAM_WORKER", "/nowhere/worker");
    let told = ended(command);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "{told:?}");
    assert!(told.stderr.contains("there is no program /nowhere/worker"), "{told:?}");
    assert!(told.stderr.ends_with(&format!("Process {} still serves.\n", service.child.id())), "{told:?}");
}

#[test]
fn a_second_service_is_refused_with_the_process_of_the_first() {
    let home = Home::new();
    let service = home.serve([]);
    let told = home.run(["service", "run"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains(&format!("process {} serves", service.child.id())), "{told:?}");
}

#[test]
fn the_log_is_shown_and_followed() {
    let home = Home::new();
    let none = home.run(["service", "logs"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert_eq!(home.run(["service", "start"]).code, Some(0));
    let people = home.run(["service", "logs", "-n", "1000"]).stdout;
    assert!(people.lines().any(|line| line.contains(" info: the service listens")), "{people}");
    let machines = home.run(["service", "logs", "--json", "-n", "1000"]).stdout;
    for line in machines.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
    assert_eq!(home.run(["service", "logs", "-n", "1"]).stdout.lines().count(), 1);

    let mut follow = home.program(oam_binary());
    let mut follow =
        follow.args(["service", "logs", "-f", "-n", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let _watchdog = Watchdog::over(follow.id());
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    assert_eq!(home.run(["service", "stop"]).code, Some(0));
    assert!(lines.any(|line| line.unwrap().contains("the service has stopped")));
    follow.kill().unwrap();
    follow.wait().unwrap();
}
