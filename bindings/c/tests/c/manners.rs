//! What the library does not do in its host's process.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::Path,
    process::Stdio,
    time::Instant,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use oam_tests::oam_binary;
use serde_json::json;

use crate::build::{DEADLINE, json_lines, output, program, worker_options};

#[test]
fn a_host_may_do_with_signals_what_it_wants() {
    let built = program("signals.c").build();
    for mode in ["default", "ignore", "reap", "block"] {
        let fault = format!("segv:once={}", built.fresh_file("died").display());
        let printed = built.run(&[mode, &worker_options(&[&fault])]);
        let status = &json_lines(&printed)[1]["result"];
        let death = status["lastExits"][0]["exit"].as_str().unwrap();
        let is_known = death.contains("was killed by SIGSEGV");
        let is_noticed = is_known || death.contains("ended, it is not known how");
        match mode {
            "ignore" => assert!(is_noticed && !is_known, "{death}"),
            // Whoever is quicker.
            "reap" => assert!(is_noticed, "{death}"),
            _ => assert!(is_known, "{mode}: {death}"),
        }
    }
}

/// A request that does not fit into the socket is being written when its worker dies.
#[test]
fn a_worker_that_dies_with_a_full_socket_does_not_end_its_host() {
    let built = program("full_socket.c").build();
    let fault = format!("kill:at=start+once={}", built.fresh_file("died").display());
    assert_eq!(built.run(&[&worker_options(&[&fault])]), "done\n");
}

#[test]
fn it_leaves_output_environment_folder_and_descriptors_alone() {
    let built = program("guest.c").build();
    let output = output(built.command(&[&worker_options(&["print-stdout", "flood-stderr"])]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
}

#[test]
fn it_stays_out_of_the_places_of_closed_streams() {
    program("closed_streams.c").build().run(&[&worker_options(&[])]);
}

#[test]
fn a_host_may_change_its_working_directory() {
    let built = program("moved.c").build();
    symlink(oam_binary(), built.fresh_file("oam")).unwrap();
    let fault = format!("segv:once={}", built.fresh_file("died").display());
    let worker = ["./oam", "worker", "scripted", "--fault", &fault];
    built.run(&[&json!({"worker": worker, "spare": false}).to_string()]);
}

#[test]
fn too_few_descriptors_are_told_without_noise() {
    let output = output(program("few_descriptors.c").build().command(&[&worker_options(&[])]));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_process_that_is_forked_from_the_host_does_not_hang_and_leaves_the_bridge_alone() {
    let printed = program("fork.c").build().run(&[&worker_options(&[])]);
    let answers = json_lines(&printed);
    assert_eq!(answers.len(), 2, "{printed}");
    for answer in answers {
        assert_eq!(answer["error"]["code"], -32023);
        assert!(answer["error"]["message"].as_str().unwrap().contains("forked"), "{answer}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_idle_bridge_sleeps() {
    assert_eq!(program("idle.c").build().run(&[]), "0\n");
}

#[test]
fn it_logs_what_it_is_asked_for() {
    let built = program("guest.c").build();
    let logged = |level: &str| {
        let fault = format!("segv:once={}", built.fresh_file("died").display());
        let mut command = built.command(&[&worker_options(&[&fault])]);
        command.env("OAM_BRIDGE_LOG", level);
        let output = output(command);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(logged("loud"), "");
    assert_eq!(logged("error"), "");
    let warnings = logged("WARNING");
    assert!(warnings.contains("[open-apple-models] warning: a worker was killed by SIGSEGV"), "{warnings}");
    assert!(!warnings.contains("[open-apple-models] debug: "), "{warnings}");
    let all = logged("debug");
    assert!(all.contains("[open-apple-models] debug: a request arrived"), "{all}");
}

#[test]
fn a_host_whose_log_nobody_reads_goes_on() {
    let built = program("guest.c").build();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = built.command(&[&worker_options(&[])]);
    command.env("OAM_BRIDGE_LOG", "debug").stdout(Stdio::null()).stderr(writer);
    assert!(command.status().unwrap().success());
}

#[test]
fn workers_end_with_a_host_that_is_killed() {
    let built = program("victim.c").build();
    let mut command = built.command(&[&worker_options(&["hang-ignoring-cancel"])]);
    let mut host = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut status = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut status).unwrap();
    let pids: Vec<_> = json_lines(&status)[0]["result"]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| worker["pid"].as_i64().unwrap())
        .collect();
    assert_eq!(pids.len(), 2, "one works, one is spare: {status}");
    kill(Pid::from_raw(host.id().cast_signed()), Signal::SIGKILL).unwrap();
    host.wait().unwrap();
    let begun = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_running(**pid)) {
        assert!(begun.elapsed() < DEADLINE, "worker {pid} is left");
        std::thread::yield_now();
    }
}

/// Whether it is there, and not a zombie that waits for a parent that is none of ours.
fn is_running(pid: i64) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
