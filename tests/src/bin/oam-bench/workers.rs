//! The way through a worker process: what it adds to a turn, and how soon a lost step is answered.
//!
//! What the hop adds is the difference between the same turn on the worker and on the scripted model inside of `oam`,
//! so everything else that a turn costs is left out. The floor is a process that answers frames of the same sizes,
//! over the same kind of socket, without looking at them.

use std::{
    fs,
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use oam_ipc::{
    Entry, FromWorker, Generate, GenerationOptions, Message, Outcome, Segment, StepId, ToWorker, TokenUsage,
    ToolMode, encode,
};
use oam_tests::oam_command;
use serde_json::{Value, json};

use crate::{
    floor::{Pinned, frames_command},
    measures::{Plan, best, line},
    pipe::Pipe,
    report::{Figure, Goal},
    script::{ANSWER, CHUNKS, PROMPT, ScriptFile, answer},
};

/// The word in a prompt that kills the worker.
const DEATH: &str = "die";
const ALLOWED_MS: f64 = 10.0;

/// Measures all that is about workers.
pub(crate) fn workers(plan: &Plan) -> Vec<Figure> {
    let script = ScriptFile::new();
    let mut figures = Vec::new();
    for (one_processor, stream, p50, p99) in [
        (true, false, "worker hop of a text turn p50, one processor", "… p99"),
        (false, false, "worker hop of a text turn p50, any processor", "… p99"),
        (true, true, "worker hop of a streamed turn p50, one processor", "… p99"),
        (false, true, "worker hop of a streamed turn p50, any processor", "… p99"),
    ] {
        figures.extend(hop(plan, &script, one_processor, stream, p50, p99));
    }
    figures.extend(deaths(plan, &script));
    figures
}

/// What a turn takes longer through a worker.
fn hop(
    plan: &Plan,
    script: &ScriptFile,
    one_processor: bool,
    stream: bool,
    p50: &'static str,
    p99: &'static str,
) -> Vec<Figure> {
    let pinned = if one_processor { Pinned::to_one() } else { None };
    if one_processor && pinned.is_none() {
        return Vec::new();
    }
    let count = plan.worker_turns;
    let (request, answers) = frames(stream);
    let [hop50, hop99, worker50, worker99, echo50, echo99] = best(plan.repetitions, f64::min, || {
        let through = turns(script, &json!("system"), count, stream);
        let inside = turns(script, &json!({"type": "scripted", "fallback": answer()}), count, stream);
        let alone = Frames::worker(script, &request, &answers).ping_pong(count);
        let floor = Frames::echo(&request, &answers).ping_pong(count);
        let [through, inside, alone, floor] = [through, inside, alone, floor].map(percentiles);
        [through[0] - inside[0], through[1] - inside[1], alone[0], alone[1], floor[0], floor[1]]
    });
    let p50 = Figure::new(p50, "us", hop50).beside(echo50);
    let p50 = if one_processor { p50.goal(Goal::RatioAtMost(4.0)) } else { p50 };
    vec![
        p50,
        Figure::new(p99, "us", hop99).beside(echo99),
        Figure::new("… of it the scripted worker p50", "us", worker50).beside(echo50),
        Figure::new("… p99", "us", worker99).beside(echo99),
    ]
}

/// The 50th and 99th in microseconds.
fn percentiles(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    [50, 99].map(|percent| times[times.len() * percent / 100].as_secs_f64() * 1e6)
}

/// First turns of sessions, one after the other: all of the same size.
fn turns(script: &ScriptFile, model: &Value, count: usize, stream: bool) -> Vec<Duration> {
    let sessions = count + count / 10;
    let mut oam = served(script, &["--max-sessions", &sessions.to_string()], &[]);
    for session in 0..sessions {
        let params = json!({"session": session.to_string(), "model": model});
        oam.exchange(&line(0, "session/create", &params));
    }
    let mut times: Vec<_> = (0..sessions)
        .map(|session| {
            turn(&mut oam, &json!({"session": session.to_string(), "prompt": PROMPT, "stream": stream}))
        })
        .collect();
    times.split_off(count / 10)
}

/// How long a turn takes.
fn turn(oam: &mut Pipe, params: &Value) -> Duration {
    let request = line(1, "session/respond", params);
    let start = Instant::now();
    let answer = oam.request(&request);
    let time = start.elapsed();
    assert!(memchr::memmem::find(&answer, b"\"result\":").is_some(), "{}", String::from_utf8_lossy(&answer));
    time
}

/// An `oam` with scripted workers.
fn served(script: &ScriptFile, arguments: &[&str], faults: &[String]) -> Pipe {
    let mut worker = script.worker();
    worker.extend_from_slice(faults);
    let mut command = oam_command();
    command.args(["stdio", "--log-level", "error", "--worker", &shell_words::join(worker)]).args(arguments);
    Pipe::start(command)
}

/// How long a turn takes whose worker is killed as soon as it has the step, and what it takes to start a worker.
fn deaths(plan: &Plan, script: &ScriptFile) -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder for a mark");
    let mark = folder.path().join("died");
    let fault = ["--fault".to_owned(), format!("kill:word={DEATH}+at=start+once={}", mark.display())];
    let mut medians = ["--spare", "--no-spare"].map(|spare| {
        let mut oam = served(script, &[spare], &fault);
        let times = (0..plan.deaths).map(|session| death(&mut oam, session, &mark, spare == "--spare"));
        median_ms(times.collect())
    });
    let ready = median_ms((0..plan.deaths).map(|_| spawn_to_ready(script)).collect());
    let [with, without] = &mut medians;
    let limit = (ready + ALLOWED_MS).ceil();
    vec![
        Figure::new("start of a worker to ready, p50", "ms", ready),
        Figure::new("turn whose worker is killed, spare ready, p50", "ms", *with)
            .goal(Goal::Below(ALLOWED_MS)),
        Figure::new("turn whose worker is killed, no spare (beside: start)", "ms", *without)
            .beside(ready)
            .goal(Goal::Below(limit)),
    ]
}

fn death(oam: &mut Pipe, session: usize, mark: &Path, has_spare: bool) -> Duration {
    wait_until_ready(oam, 1 + usize::from(has_spare));
    let (session, prompt) = (session.to_string(), format!("Now {DEATH}!"));
    let params = json!({"session": session});
    oam.exchange(&line(0, "session/create", &params));
    let _ = fs::remove_file(mark);
    let time = turn(oam, &json!({"session": session, "prompt": prompt}));
    assert!(mark.exists(), "the worker was not killed");
    oam.exchange(&line(0, "session/delete", &json!({"session": session})));
    time
}

fn wait_until_ready(oam: &mut Pipe, workers: usize) {
    loop {
        let answer = oam.request(&line(2, "supervisor/status", &json!({})));
        if memchr::memmem::find_iter(&answer, b"\"state\":\"ready\"").count() == workers {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn spawn_to_ready(script: &ScriptFile) -> Duration {
    let start = Instant::now();
    Frames::of(script.command()).read(1);
    start.elapsed()
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The request, and the bytes of each answer, of a turn as `turns` plays it.
fn frames(stream: bool) -> (Vec<u8>, Vec<usize>) {
    let id = StepId(1000);
    let generate = Generate {
        id,
        instructions: None,
        transcript: vec![Entry::Prompt { segments: vec![Segment::Text { text: PROMPT.into() }] }],
        tools: Vec::new(),
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream,
        cache_key: Some(format!("{:016x}", 0).into()),
    };
    let finished = FromWorker::Finished {
        id,
        outcome: Outcome::Text { text: ANSWER.to_owned() },
        usage: TokenUsage { output_tokens: 20, ..TokenUsage::default() },
    };
    let piece = ANSWER.len().div_ceil(CHUNKS);
    let pieces = if stream { ANSWER.as_bytes().chunks(piece).map(<[u8]>::len).collect() } else { Vec::new() };
    let deltas = pieces.into_iter().map(|length: usize| FromWorker::Delta { id, text: "x".repeat(length) });
    let answers = deltas.chain([finished]).map(|message| frame(&message).len());
    (frame(&ToWorker::Generate(Box::new(generate))), answers.collect())
}

fn frame<M: Message>(message: &M) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(message, &mut frame).expect("it is small");
    frame
}

/// A process at the other end of a socket pair. Dropping it kills and reaps it.
struct Frames {
    child: Child,
    socket: UnixStream,
    request: Vec<u8>,
    answer: usize,
    buffer: Vec<u8>,
}

impl Frames {
    /// Answers each request with so many bytes, whatever it says.
    fn echo(request: &[u8], answers: &[usize]) -> Self {
        let mut frames = Self::of(frames_command(request.len(), answers));
        frames.request = request.to_vec();
        frames.answer = answers.iter().sum();
        frames
    }

    /// A scripted worker that is ready. Its answers to the request are so many bytes.
    fn worker(script: &ScriptFile, request: &[u8], answers: &[usize]) -> Self {
        let mut frames = Self::of(script.command());
        frames.read(1);
        frames.request = request.to_vec();
        frames.answer = answers.iter().sum();
        frames
    }

    fn of(mut command: Command) -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a socket pair");
        let child = command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .expect("the process starts");
        Self { child, socket, request: Vec::new(), answer: 0, buffer: vec![0; 64 * 1024] }
    }

    fn ping_pong(&mut self, count: usize) -> Vec<Duration> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            self.socket.write_all(&self.request).expect("it reads");
            self.read(self.answer);
            times.push(start.elapsed());
        }
        times
    }

    fn read(&mut self, least: usize) {
        let mut filled = 0;
        while filled < least {
            let count = self.socket.read(&mut self.buffer).expect("it writes");
            assert!(count > 0, "the process ended");
            filled += count;
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
