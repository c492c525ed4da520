//! Real processes of all kinds of manners.

use std::{fs, future::Future, io::BufRead, path::Path, time::Duration};

use nix::{sys::signal::Signal, unistd::Pid};
use oam_agent::CallId;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{sync::mpsc, time::timeout};

use super::*;

/// How long anything that must happen may take. Reached only by a hang.
const DEADLINE: Duration = Duration::from_mins(1);

/// A tool that is a line for the shell.
fn shell(line: &str) -> CommandTool {
    CommandTool {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        working_folder: "/".into(),
        time_limit: DEADLINE,
        environment: Vec::new(),
        longest_output: DEFAULT_LONGEST_OUTPUT,
    }
}

fn call(arguments: &Value) -> Arc<ToolCall> {
    let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
    Arc::new(ToolCall { id: CallId::random(), name: "probe".to_owned(), arguments })
}

async fn run(tool: CommandTool) -> ToolOutput {
    within(Arc::new(tool).run(call(&json!({})))).await
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("it ends in time")
}

fn text(text: &str) -> ToolOutput {
    ToolOutput::Text(text.to_owned())
}

fn error(message: &str) -> ToolOutput {
    ToolOutput::Error(message.to_owned())
}

/// A pipe with a name, which processes open as their descriptor 3. It ends when all who hold it have.
struct Witness {
    folder: TempDir,
    said: mpsc::UnboundedReceiver<String>,
}

impl Witness {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (say, said) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::BufReader::new(fs::File::open(path).unwrap()).lines() {
                let _ = say.send(line.unwrap());
            }
        });
        Self { folder, said }
    }

    /// A tool that holds the pipe.
    fn shell(&self, line: &str) -> CommandTool {
        let path = self.folder.path().join("witness");
        shell(&format!("exec 3>'{}'; {line}", path.display()))
    }

    async fn line(&mut self) -> String {
        within(self.said.recv()).await.expect("somebody says something")
    }

    async fn process(&mut self) -> Pid {
        Pid::from_raw(self.line().await.trim().parse().unwrap())
    }

    /// What else is said until all who held the pipe are gone.
    async fn rest(mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(line) = within(self.said.recv()).await {
            rest.push(line);
        }
        rest
    }
}

#[tokio::test]
async fn each_outcome_has_its_output() {
    let cases = [
        ("echo ' {\"b\": 1.0, \"a\": [2]}'; echo", ToolOutput::Json(json!({"b": 1.0, "a": [2]}))),
        ("echo '[]'", ToolOutput::Json(json!([]))),
        ("echo '{broken'", text("{broken")),
        ("echo '{} and more'", text("{} and more")),
        ("echo 5", text("5")),
        ("printf '\"a\"'", text("\"a\"")),
        ("printf ' a\\n\\n'", text(" a\n")),
        ("echo fine; echo noise >&2", text("fine")),
        (":", text("(no output)")),
        ("printf ' \\n\\t\\n'; echo noise >&2", text("(no output)")),
        ("printf 'a\\377b\\303'", text("a\u{fffd}b\u{fffd}")),
        ("echo out; echo err >&2; exit 3", error("Tool 'probe' failed with exit code 3: err")),
        ("echo out; echo ' ' >&2; exit 1", error("Tool 'probe' failed with exit code 1: out")),
        ("exit 255", error("Tool 'probe' failed with exit code 255.")),
        ("echo why >&2; kill -9 $$", error("Tool 'probe' was killed by signal 9 (SIGKILL): why")),
        ("kill -TERM $$", error("Tool 'probe' was killed by signal 15 (SIGTERM).")),
    ];
    for (line, expected) in cases {
        assert_eq!(run(shell(line)).await, expected, "{line}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_an_output_that_names_the_program() {
    let gone = CommandTool { program: "/nowhere/tool".into(), ..shell("") };
    let no_folder = CommandTool { working_folder: "/nowhere".into(), ..shell("") };
    for (tool, program) in [(gone, "/nowhere/tool"), (no_folder, "/bin/sh")] {
        let expected =
            format!("Tool 'probe' could not be started: {program}: No such file or directory (os error 2)");
        assert_eq!(run(tool).await, ToolOutput::Error(expected));
    }
}

#[tokio::test]
async fn outputs_are_cut_at_a_character() {
    let cut = |longest_output, line| run(CommandTool { longest_output, ..shell(line) });
    assert_eq!(cut(5, "printf 'ääää'").await, text("ää\n(… and 4 more bytes)"));
    assert_eq!(cut(8, "printf 'ääää'").await, text("ääää"));
    assert_eq!(cut(2, "printf 'a\\n\\nb'").await, text("a\n(… and 2 more bytes)"));
    assert_eq!(cut(7, "printf '\\377\\377\\377'").await, text("\u{fffd}\u{fffd}\n(… and 1 more bytes)"));
    assert_eq!(cut(3, "echo '[1, 2]'").await, text("[1,\n(… and 4 more bytes)"));
}

#[tokio::test]
async fn a_tool_may_print_a_gigabyte() {
    let output = run(shell("yes | head -c 1000000000; yes | head -c 100000000 >&2")).await;
    let ToolOutput::Text(text) = output else { panic!("{output:?}") };
    assert_eq!(text.len(), 8000 + "(… and 999992000 more bytes)".len());
    assert!(text.ends_with("y\n(… and 999992000 more bytes)"), "{}", &text[7990..]);
}

#[tokio::test]
async fn errors_tell_the_end_of_what_was_said_and_no_more_than_fits() {
    let ToolOutput::Error(told) = run(shell("yes no | head -c 99999 >&2; echo why >&2; exit 1")).await else {
        panic!("an error")
    };
    let detail = told.strip_prefix("Tool 'probe' failed with exit code 1: ").unwrap();
    assert!(detail.starts_with('…') && detail.ends_with("\nno\nwhy"), "{detail}");
    assert_eq!(detail.chars().count(), 2000);
}

#[tokio::test]
async fn the_arguments_come_on_the_input_and_in_a_variable() {
    let arguments = json!({"city": "Åbo\u{2028}", "days": 2.0});
    let expected = ToolOutput::Json(json!([
        {"city": "Åbo\u{2028}", "days": 2},
        {"city": "Åbo\u{2028}", "days": 2},
        "probe",
    ]));
    let line = "echo \"[\"; cat; echo \",$OAM_TOOL_ARGUMENTS,\\\"$OAM_TOOL_NAME\\\"]\"";
    let output = within(Arc::new(shell(line)).run(call(&arguments))).await;
    assert_eq!(output, expected);
    let call = call(&arguments);
    let output = within(Arc::new(shell("echo $OAM_TOOL_CALL_ID")).run(Arc::clone(&call))).await;
    assert_eq!(output, text(call.id.as_str()));
}

#[tokio::test]
async fn arguments_may_be_megabytes_and_need_not_be_read() {
    let arguments = call(&json!({"text": "x".repeat(4 << 20)}));
    let length = "{\"text\":\"\"}".len() + (4 << 20);
    for (line, expected) in [
        ("echo ${OAM_TOOL_ARGUMENTS-none}", "none".to_owned()),
        ("exec <&-; sleep 0.1; echo closed", "closed".to_owned()),
        ("head -c 1 >/dev/null; echo some", "some".to_owned()),
        ("wc -c", length.to_string()),
    ] {
        let output = within(Arc::new(shell(line)).run(Arc::clone(&arguments))).await;
        assert_eq!(output.model_text().trim(), expected, "{line}");
    }
    // Just short enough for a variable.
    let longest = LONGEST_VARIABLE - "OAM_TOOL_ARGUMENTS={\"text\":\"\"}".len() - 1;
    for (length, expected) in [(longest, longest + "{\"text\":\"\"}".len()), (longest + 1, 0)] {
        let arguments = call(&json!({"text": "x".repeat(length)}));
        let output = within(Arc::new(shell("echo ${#OAM_TOOL_ARGUMENTS}")).run(arguments)).await;
        assert_eq!(output, text(&expected.to_string()));
    }
}

#[test]
fn tools_have_their_own_variables_and_not_the_script() {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![variable("TOKEN", "secret"), variable("OAM_TOOL_NAME", "lie")];
    let tool = CommandTool { environment, ..shell("") };
    let call = call(&json!({}));
    let command = tool.command(&call, "{}");
    let found = |name: &str| command.get_envs().find(|(found, _)| *found == name).unwrap().1;
    assert_eq!(found("OAM_SCRIPT"), None, "taken away");
    assert_eq!(found("TOKEN").unwrap(), "secret");
    assert_eq!(found("OAM_TOOL_NAME").unwrap(), "probe");
    let shown = format!("{tool:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn a_tool_works_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let tool = CommandTool { working_folder: path.clone(), ..shell("pwd -P") };
    assert_eq!(run(tool).await, text(path.to_str().unwrap()));
}

const LIMIT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn the_time_limit_ends_a_tool_with_all_that_it_started() {
    let endless = "while :; do sleep 0.05; done";
    let lines = [
        // Goes at once.
        "exec sleep 1000".to_owned(),
        // Does not listen.
        format!("trap '' TERM; {endless}"),
        // Waits for a child that does not listen.
        format!("(trap '' TERM; {endless}) & wait"),
        // Has closed its outputs and does not listen.
        format!("exec >/dev/null 2>&1; trap '' TERM; {endless}"),
        // Leaves a child behind that has closed its outputs.
        format!("(trap '' TERM; exec >/dev/null 2>&1; {endless}) & exec sleep 1000"),
        // Has stopped itself.
        format!("kill -STOP $$; {endless}"),
    ];
    for line in lines {
        let witness = Witness::new();
        let tool = CommandTool { time_limit: LIMIT, ..witness.shell(&line) };
        assert_eq!(run(tool).await, error("Tool 'probe' timed out after 0.3s and was stopped."), "{line}");
        assert_eq!(witness.rest().await, [""; 0], "{line}");
    }
}

#[tokio::test]
async fn a_tool_and_its_children_have_a_moment_to_end_in_order() {
    let polite = "trap 'echo bye >&3; exit' TERM; echo up >&3; while :; do sleep 0.05; done";
    for line in [polite.to_owned(), format!("({polite}) & wait")] {
        let mut witness = Witness::new();
        let command = witness.shell(&line).command(&call(&json!({})), "{}");
        let patient = Limits { time: DEADLINE, grace: DEADLINE, stdout: 0 };
        // Started where it is waited for: whoever never began to wait leaves no time.
        let running =
            tokio::spawn(async move { Process::start(command).unwrap().run(Vec::new(), patient).await });
        assert_eq!(witness.line().await, "up");
        running.abort();
        assert_eq!(witness.rest().await, ["bye"], "{line}");
    }
}

#[tokio::test]
async fn a_tool_that_nobody_waits_for_is_ended_and_reaped() {
    let mut witness = Witness::new();
    let line = "trap '' TERM; echo $$ >&3; while :; do sleep 0.05; done";
    let running = tokio::spawn(Arc::new(witness.shell(line)).run(call(&json!({}))));
    let process = witness.process().await;
    running.abort();
    within(all_ended()).await;
    assert_eq!(witness.rest().await, [""; 0]);
    assert!(!Path::new(&format!("/proc/{process}")).exists(), "no zombie is left");
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_its_tools() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut witness = Witness::new();
    let line = "trap '' TERM; echo up >&3; (while :; do sleep 0.05; done) & wait";
    let witness = runtime.block_on(async {
        tokio::spawn(Arc::new(witness.shell(line)).run(call(&json!({}))));
        witness.line().await;
        witness
    });
    runtime.shutdown_background();
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(waiting.block_on(witness.rest()), [""; 0]);
}

#[tokio::test]
async fn a_child_in_the_background_is_neither_waited_for_nor_ended() {
    let mut witness = Witness::new();
    let output = run(witness.shell("sleep 1000 & echo $! >&3; echo done")).await;
    assert_eq!(output, text("done"));
    let child = witness.process().await;
    nix::sys::signal::kill(child, Signal::SIGKILL).expect("it still runs");
    assert_eq!(witness.rest().await, [""; 0]);
}
