//! From the start of the process to its end.

use std::{
    fs,
    io::{BufReader, Write},
    os::unix::net::UnixListener,
    process::{Command, Stdio},
};

use oam_ipc::{FromWorker, PROTOCOL_VERSION, StepId, ToWorker, encode, read_message};

use crate::process::{Worker, code_of, step, streamed, text_of};

#[test]
fn a_worker_says_first_what_it_is() {
    let mut worker = Worker::start(&["--parallel", "3"]);
    let ready = worker.hear_ready();
    assert_eq!(ready.protocol, PROTOCOL_VERSION);
    assert_eq!((ready.worker.name.as_str(), ready.worker.pid), ("oam-worker-scripted", worker.id()));
    assert!(ready.capabilities.streaming && !ready.capabilities.images);
    assert_eq!(ready.capabilities.parallel_steps, 3);
    assert!(ready.availability.available);
    assert!(Worker::start(&["--images"]).hear_ready().capabilities.images);
}

#[test]
fn questions_are_answered() {
    let mut worker = Worker::ready(&[]);
    worker.assert_alive();
    worker.say(&ToWorker::Availability { id: StepId(1) });
    let FromWorker::Availability { id: Some(StepId(1)), availability } = worker.hear() else { panic!() };
    assert!(availability.available);
    worker.say(&ToWorker::CountTokens(Box::new(step(2, "eight letters"))));
    assert_eq!(worker.hear(), FromWorker::Tokens { id: StepId(2), count: 4 });
    worker.say(&ToWorker::Prewarm { instructions: None });
    worker.say(&ToWorker::Cancel { id: StepId(99) });
    worker.assert_alive();
    worker.say(&ToWorker::Unknown);
    assert!(matches!(worker.hear(), FromWorker::Log { .. }));
}

#[test]
fn the_end_of_the_connection_ends_the_process_whatever_it_does() {
    for arguments in [
        &[][..],
        &["--ready-delay", "100000"],
        &["--fault", "no-ready"],
        &["--fault", "spin:at=start"],
        &["--fault", "hang-ignoring-cancel"],
        &["--step-delay", "100000"],
    ] {
        let mut worker = Worker::start(arguments);
        if arguments.iter().all(|argument| !argument.contains("ready")) {
            worker.hear_ready();
        }
        for id in 1..=4 {
            worker.ask(step(id, "Hello."));
        }
        worker.hang_up();
        assert_eq!(worker.exit().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn shutdown_cancels_what_runs_and_ends_the_process() {
    let mut worker = Worker::ready(&["--step-delay", "100000", "--parallel", "2"]);
    for id in 1..=3 {
        worker.ask(step(id, "Hello."));
    }
    worker.say(&ToWorker::Shutdown { grace_ms: 1000 });
    let mut codes: Vec<_> = worker.hear_all(3).into_iter().map(code_of).collect();
    codes.dedup();
    assert_eq!(codes, ["cancelled"]);
    assert_eq!(worker.try_hear().unwrap(), None);
    assert_eq!(worker.exit().code(), Some(0));

    let mut idle = Worker::ready(&[]);
    idle.say(&ToWorker::Shutdown { grace_ms: 1000 });
    assert_eq!(idle.exit().code(), Some(0));
}

#[test]
fn what_is_read_before_the_end_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    fs::write(&script, r#"[{"text": "Hmph."}]"#).unwrap();
    let shutdown = frames(&[ToWorker::Shutdown { grace_ms: 1000 }]);
    let malformed = vec![0, 0, 0, 1, 0xc0];
    for (end, code) in [(shutdown, 0), (malformed, 1)] {
        let mut worker = Worker::ready(&["--script", &script.display().to_string()]);
        let generate = |request| ToWorker::Generate(Box::new(request));
        let asked = [generate(streamed(1, "Hello.")), generate(step(2, "Hello.")), ToWorker::Ping { n: 7 }];
        worker.connection().write_all(&[frames(&asked), end].concat()).unwrap();
        for id in [1, 2] {
            assert_eq!(text_of(worker.hear_end(StepId(id))), "Hmph.");
        }
        assert_eq!(worker.hear(), FromWorker::Pong { n: 7 });
        assert_eq!(worker.try_hear().unwrap(), None);
        assert_eq!(worker.exit().code(), Some(code));
    }
}

fn frames(messages: &[ToWorker]) -> Vec<u8> {
    let mut frames = Vec::new();
    for message in messages {
        encode(message, &mut frames).unwrap();
    }
    frames
}

#[test]
fn a_frame_that_cannot_be_read_ends_the_process() {
    let mut worker = Worker::ready(&[]);
    worker.connection().write_all(&[0, 0, 0, 1, 0xc0]).unwrap();
    assert_eq!(worker.exit().code(), Some(1));
    assert_eq!(worker.printed().1, "oam-worker-scripted: the frame is not a map\n");
}

#[test]
fn a_worker_may_connect_to_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_oam-worker-scripted"))
        .arg("--connect")
        .arg(&path)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut stream = BufReader::new(stream);
    assert!(matches!(read_message(&mut stream).unwrap(), Some(FromWorker::Ready(_))));
    drop(stream);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_start_that_fails_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (no_json, no_script) = (file("no.json", "{"), file("no-script.json", "[{}]"));
    let cases = [
        (vec!["--script", "/nowhere"], "/nowhere: cannot be read"),
        (vec!["--script", &no_json], "is not JSON"),
        (vec!["--script", &no_script], "Parameter 'steps[0]' must have one of"),
        (vec!["--connect", "/nowhere"], "cannot connect to /nowhere"),
        (vec!["--fault", "dance"], "there is no fault 'dance'; the faults are abort, "),
        (vec!["--script-position", "x"], "'x' for '--script-position <HOW>' [possible values: "),
        (vec!["--dance"], "unexpected argument '--dance' found"),
        (vec!["--parallel", "0"], "--parallel"),
    ];
    for (arguments, reason) in cases {
        let mut worker = Worker::start(&arguments);
        assert_eq!(worker.exit().code(), Some(2), "{arguments:?}");
        let stderr = worker.printed().1;
        // A supervisor shows the last line.
        let last = stderr.lines().last().unwrap_or_default();
        assert!(last.contains(reason), "{arguments:?}: {stderr}");
    }

    let mut worker = Worker::start_with(&[("OAM_WORKER_FAULTS", "abort, dance")], &[]);
    assert_eq!(worker.exit().code(), Some(2));
    assert!(worker.printed().1.contains("OAM_WORKER_FAULTS: dance: there is no fault 'dance'"));

    let output =
        Command::new(env!("CARGO_BIN_EXE_oam-worker-scripted")).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("descriptor 0 is not a connected socket"));
}

#[test]
fn the_worker_tells_what_can_be_said_and_what_can_go_wrong() {
    let told = |flag: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_oam-worker-scripted")).arg(flag).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (help, faults) = (told("--help"), told("--faults"));
    for text in ["--script-position", "--faults"] {
        assert!(help.contains(text), "{text} is not in {help}");
    }
    for text in ["hang-ignoring-cancel", "Die of SIGSEGV", "once=PATH"] {
        assert!(faults.contains(text), "{text} is not in {faults}");
    }
}
