//! Tools that are commands, in turns of `oam respond`: what the model hears of them, what they are told, and how they end.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{clean_command, oam_binary, oam_command, procfs};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::oam;

/// A turn in which the model calls the tool `probe` and repeats what it heard.
fn script(arguments: &Value) -> Value {
    json!([{"toolCalls": [{"name": "probe", "arguments": arguments}]}, {"template": "{toolOutput}"}])
}

fn tool(x_oam: &Value) -> String {
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!([{"name": "probe", "description": "Tries.", "parameters": parameters, "x-oam": x_oam}]).to_string()
}

/// The record of the call, and the answer that repeats its output.
fn played(x_oam: &Value, arguments: &Value) -> (Value, String) {
    let run = oam(["respond", "--json", "--tools", "tools.json", "Go."]).file("tools.json", tool(x_oam));
    let told = run
        .env("SECRET", "inherited")
        .env("OAM_RECORD", "recording.json")
        .script(&script(arguments))
        .ends_with(0)
        .json();
    let [record] = &told["toolCalls"].as_array().unwrap()[..] else { panic!("{told}") };
    (record.clone(), told["text"].as_str().unwrap().to_owned())
}

#[test]
fn each_outcome_is_told_to_the_model_and_in_the_record() {
    let cut = format!("{}\n(… and 999999900 more bytes)", "y\n".repeat(50).trim_end());
    let cases = [
        (
            json!({"command": "printf '{\"b\": 1.0, \"a\": [ ]}\\n'"}),
            json!({"b": 1, "a": []}),
            r#"{"b":1,"a":[]}"#,
            false,
        ),
        (json!({"command": ["echo", "two  words"]}), json!("two  words"), "two  words", false),
        (json!({"command": "true"}), json!("(no output)"), "(no output)", false),
        (json!({"command": "yes | head -c 1000000000", "maxOutputChars": 100}), json!(cut), &cut, false),
        (json!({"command": "printf 'a\\377'"}), json!("a\u{fffd}"), "a\u{fffd}", false),
        (
            json!({"command": "echo no such city >&2; exit 3"}),
            json!("Tool 'probe' failed with exit code 3: no such city"),
            "Error: Tool 'probe' failed with exit code 3: no such city",
            true,
        ),
        (
            json!({"command": "kill -SEGV $$"}),
            json!("Tool 'probe' was killed by signal 11 (SIGSEGV)."),
            "Error: Tool 'probe' was killed by signal 11 (SIGSEGV).",
            true,
        ),
        (
            json!({"command": "exec sleep 1000", "timeout": 0.25}),
            json!("Tool 'probe' timed out after 0.2s and was stopped."),
            "Error: Tool 'probe' timed out after 0.2s and was stopped.",
            true,
        ),
        (
            json!({"command": "trap '' TERM; while :; do sleep 0.05; done", "timeout": 1}),
            json!("Tool 'probe' timed out after 1s and was stopped."),
            "Error: Tool 'probe' timed out after 1s and was stopped.",
            true,
        ),
        (json!({"command": "sleep 10 & echo started"}), json!("started"), "started", false),
    ];
    for (x_oam, output, heard, is_error) in cases {
        let (record, answer) = played(&x_oam, &json!({}));
        assert_eq!((&record["output"], &record["isError"]), (&output, &json!(is_error)), "{x_oam}");
        assert_eq!(answer, heard, "{x_oam}");
    }
}

#[test]
fn a_tool_is_told_the_call_but_neither_script_nor_recording() {
    let line = "cat; printf '|%s' \"$OAM_TOOL_ARGUMENTS\" \"$OAM_TOOL_NAME\" \"$OAM_TOOL_CALL_ID\" \
        \"${OAM_SCRIPT-unset}\" \"${OAM_RECORD-unset}\" \"$SECRET\" \"$NUMBER\"";
    let x_oam = json!({"command": line, "env": {"NUMBER": 1e3, "OAM_TOOL_NAME": "no"}});
    let (record, answer) = played(&x_oam, &json!({"text": "Å"}));
    let arguments = r#"{"text":"Å"}"#;
    let id = record["call"]["id"].as_str().unwrap();
    assert_eq!(answer, format!("{arguments}|{arguments}|probe|{id}|unset|unset|inherited|1000"));
}

#[test]
fn megabytes_of_arguments_need_not_be_read() {
    let arguments = json!({"text": "x".repeat(4 << 20)});
    let (record, answer) = played(&json!({"command": "echo ${OAM_TOOL_ARGUMENTS-unset}"}), &arguments);
    assert_eq!((answer.as_str(), &record["isError"]), ("unset", &json!(false)));
    let (_, answer) = played(&json!({"command": "wc -c"}), &arguments);
    assert_eq!(answer.trim(), arguments.to_string().len().to_string());
}

#[test]
fn more_calls_than_there_are_descriptors_for_wait_their_turn() {
    let told = oam(["available"])
        .file("tools.json", tool(&json!({"command": "sleep 0.1; echo done", "timeout": 20})))
        .script(&json!([{"toolCalls": vec![json!({"name": "probe"}); 90]}, {"text": "Done."}]))
        .ends_with(0);
    let line =
        "ulimit -n 160; exec \"$0\" respond --json --no-stdin --max-tool-calls 100 --tools tools.json Go.";
    let ended = clean_command("sh")
        .args(["-c", line])
        .arg(oam_binary())
        .current_dir(told.path(""))
        .env("OAM_SCRIPT", "script.json")
        .output()
        .unwrap();
    let result: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let outputs: Vec<_> =
        result["toolCalls"].as_array().unwrap().iter().map(|call| &call["output"]).collect();
    assert_eq!(outputs, vec!["done"; 90]);
}

#[test]
fn a_tool_works_where_the_caller_is_or_in_its_folder() {
    for (cwd, expected) in [(None, ""), (Some("../data"), "/data")] {
        let mut x_oam = json!({"command": ["./bin/where.sh"]});
        if let Some(cwd) = cwd {
            x_oam["cwd"] = json!(cwd);
        }
        let told = oam(["respond", "--json", "--tools", "tools/tools.json", "Go."])
            .file("tools/tools.json", tool(&x_oam))
            .file("data/some", "")
            .program("tools/bin/where.sh", "#!/bin/sh\npwd -P\n")
            .script(&script(&json!({})))
            .ends_with(0);
        let folder = told.path("").canonicalize().unwrap();
        assert_eq!(told.json()["text"], format!("{}{expected}", folder.display()));
    }
}

/// `oam respond --events`, while its tool runs and holds a pipe with a name as its descriptor 3.
struct Running {
    oam: Child,
    events: std::io::Lines<BufReader<ChildStdout>>,
    witness: std::io::Lines<BufReader<fs::File>>,
    _folder: TempDir,
}

impl Running {
    fn start(line: &str, timeout: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("witness"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let x_oam = json!({"command": format!("exec 3>witness; {line}"), "timeout": timeout});
        fs::write(at("tools.json"), tool(&x_oam)).unwrap();
        let steps = json!([{"toolCalls": [{"name": "probe"}]}, {"text": "Done.", "delayMs": 600_000}]);
        fs::write(at("script.json"), steps.to_string()).unwrap();
        let mut oam = oam_command()
            .args(["respond", "--events", "--no-stdin", "--tools", "tools.json", "Go."])
            .current_dir(folder.path())
            .env("OAM_SCRIPT", at("script.json"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let events = BufReader::new(oam.stdout.take().unwrap()).lines();
        let witness = BufReader::new(fs::File::open(at("witness")).unwrap()).lines();
        Self { oam, events, witness, _folder: folder }
    }

    /// What a process that holds the pipe says next; nothing once all of them are gone.
    fn said(&mut self) -> Option<String> {
        self.witness.next().map(Result::unwrap)
    }

    fn event(&mut self, kind: &str) -> Value {
        let events = self.events.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        events.into_iter().find(|event: &Value| event["type"] == kind).unwrap()
    }

    /// The processes that `oam` has started, but for the one that guards them.
    fn tools(&self) -> Vec<procfs::Child> {
        let mut children = procfs::children(self.oam.id()).unwrap();
        children.retain(|child| {
            let command = fs::read_to_string(format!("/proc/{}/cmdline", child.pid)).unwrap_or_default();
            !command.ends_with("oam-tool-guard\0")
        });
        children
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.oam.id().try_into().unwrap()), signal).unwrap();
    }

    fn exit_code(mut self) -> Option<i32> {
        self.oam.wait().unwrap().code()
    }
}

/// Whether the tests themselves were started in a way that has programs go on after this signal.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t"));
    let ignored = ignored.map_or(0, |digits| u64::from_str_radix(digits, 16).unwrap());
    ignored & (1 << (signal as i32 - 1)) != 0
}

const ENDLESS: &str = "while :; do sleep 0.05; done";

#[test]
fn a_time_limit_leaves_no_process_and_no_zombie() {
    let line =
        format!("echo up >&3; (trap '' TERM; {ENDLESS}) & (trap '' TERM; exec >&3 2>&3; {ENDLESS}) & wait");
    let mut running = Running::start(&line, 1);
    assert_eq!(running.said().as_deref(), Some("up"));
    assert_eq!(running.said(), None, "all who held the pipe are gone");
    assert_eq!(running.event("toolCallCompleted")["record"]["isError"], true);
    assert_eq!(running.tools(), []);
    running.signal(Signal::SIGINT);
    assert_eq!(running.exit_code(), Some(130));
}

#[test]
fn an_interrupt_ends_the_tool_in_order_before_the_command() {
    let signals =
        [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGQUIT, 131)];
    for (signal, code) in signals.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
        let mut running =
            Running::start(&format!("trap 'echo bye >&3; exit' TERM; echo up >&3; {ENDLESS}"), 1000);
        assert_eq!(running.said().as_deref(), Some("up"));
        running.signal(signal);
        assert_eq!(running.said().as_deref(), Some("bye"));
        assert_eq!(running.said(), None);
        assert_eq!(running.exit_code(), Some(code));
    }
}

#[test]
fn an_interrupt_ends_also_what_does_not_listen() {
    let mut running = Running::start(&format!("trap '' TERM; echo up >&3; ({ENDLESS}) & {ENDLESS}"), 1000);
    assert_eq!(running.said().as_deref(), Some("up"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.said(), None);
    assert_eq!(running.exit_code(), Some(130));
}

#[test]
fn a_kill_ends_the_tool_and_what_it_started() {
    // Their input ends when they are watched. Nobody reads what they print once `oam` is gone.
    let polite = format!("exec 2>/dev/null; trap 'echo bye >&3; exit' TERM; cat; echo up >&3; {ENDLESS}");
    let deaf = format!("trap '' TERM; cat; echo up >&3; ({ENDLESS}) & {ENDLESS}");
    for (line, last_word) in [(polite, Some("bye")), (deaf, None)] {
        let mut running = Running::start(&line, 1000);
        assert_eq!(running.said().as_deref(), Some("up"));
        running.oam.kill().unwrap();
        let rest: Vec<_> = running.witness.by_ref().map(Result::unwrap).collect();
        assert_eq!(rest, Vec::from_iter(last_word), "{line}");
    }
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let mut running = Running::start(&format!("trap 'echo no >&3' TERM; echo up >&3; {ENDLESS}"), 1000);
    assert_eq!(running.said().as_deref(), Some("up"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.said().as_deref(), Some("no"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.exit_code(), Some(130));
}

#[test]
fn a_tool_that_is_gone_when_it_is_called_is_an_error_for_the_model() {
    let steps = json!([
        {"toolCalls": [{"name": "probe"}]}, {"toolCalls": [{"name": "probe"}]}, {"template": "{toolOutput}"}
    ]);
    let told = oam(["respond", "--json", "--tools", "tools.json", "Go."])
        .program("gone.sh", "#!/bin/sh\nrm gone.sh\n")
        .file("tools.json", tool(&json!({"command": ["./gone.sh"]})))
        .script(&steps)
        .ends_with(0);
    let program = told.path("gone.sh");
    let expected = format!(
        "Error: Tool 'probe' could not be started: {}: No such file or directory (os error 2)",
        program.display()
    );
    assert_eq!(told.json()["text"], expected);
}
