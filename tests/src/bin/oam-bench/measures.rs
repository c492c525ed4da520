//! What is measured, and how.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    floor::{Pinned, echo_command},
    pipe::Pipe,
    report::{Figure, Goal},
};

/// How much work goes into the figures.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) repetitions: usize,
    pings: usize,
    round_trips: usize,
    turns: usize,
    long_session: usize,
    starts: usize,
    pub(crate) worker_turns: usize,
    pub(crate) deaths: usize,
    /// Of a second for each server in turn, so that a neighbour's busy moments meet all of them alike.
    pub(crate) load_rounds: usize,
    pub(crate) single_changes: usize,
    pub(crate) changes: usize,
    /// So many that the largest world gets a snapshot.
    pub(crate) changes_of_a_size: usize,
}

impl Plan {
    pub(crate) const FULL: Self = Self {
        repetitions: 5,
        pings: 200_000,
        round_trips: 20_000,
        turns: 10_000,
        long_session: 20_000,
        starts: 20,
        worker_turns: 4_000,
        deaths: 100,
        load_rounds: 20,
        single_changes: 2_000,
        changes: 100_000,
        changes_of_a_size: 200_000,
    };
    pub(crate) const QUICK: Self = Self {
        repetitions: 2,
        pings: 20_000,
        round_trips: 2_000,
        turns: 1_000,
        long_session: 2_000,
        starts: 5,
        worker_turns: 400,
        deaths: 10,
        load_rounds: 3,
        single_changes: 300,
        changes: 10_000,
        changes_of_a_size: 20_000,
    };
}

/// Measures everything.
pub(crate) fn measure(plan: &Plan) -> Vec<Figure> {
    let mut figures = pings(plan);
    figures.extend(latency(plan, "ping-pong p50, one processor", "ping-pong p99, one processor", true));
    figures.extend(latency(plan, "ping-pong p50, any processor", "ping-pong p99, any processor", false));
    figures.extend(turns(plan));
    figures.extend(long_session(plan));
    figures.push(start_up(plan));
    figures.extend(memory(plan));
    figures
}

/// A request as a line.
pub(crate) fn line(id: usize, method: &str, params: &Value) -> Vec<u8> {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).into_bytes()
}

fn ping_lines(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").into_bytes())
        .collect()
}

fn turn_lines(count: usize, params: &Value) -> Vec<Vec<u8>> {
    (0..count).map(|id| line(id, "session/respond", params)).collect()
}

/// An `oam` with a session "a".
fn with_session(params: Value) -> Pipe {
    let mut oam = Pipe::oam();
    create(&mut oam, "a", params);
    oam
}

fn create(oam: &mut Pipe, session: &str, mut params: Value) {
    params["session"] = json!(session);
    oam.exchange(&line(0, "session/create", &params));
}

pub(crate) fn is_answer(line: &[u8]) -> bool {
    line.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":")
        && !line.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":\"t-")
}

pub(crate) fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// The best of several repetitions of several measurements that take turns.
pub(crate) fn best<const N: usize>(
    repetitions: usize,
    better: fn(f64, f64) -> f64,
    mut each: impl FnMut() -> [f64; N],
) -> [f64; N] {
    let first = each();
    (1..repetitions).fold(first, |best, _| {
        let next = each();
        std::array::from_fn(|index| better(best[index], next[index]))
    })
}

/// Pings as a client sees them that writes each request and reads each answer, and as one that only moves bytes. The
/// first is what a program can have; the second shows the server alone.
fn pings(plan: &Plan) -> Vec<Figure> {
    #[derive(Serialize)]
    struct Ping {
        jsonrpc: &'static str,
        id: usize,
        method: &'static str,
    }
    #[derive(Deserialize)]
    struct Pong {
        id: usize,
    }
    let write = |id: usize, out: &mut Vec<u8>| {
        let ping = Ping { jsonrpc: "2.0", id, method: "ping" };
        serde_json::to_writer(&mut *out, &ping).expect("memory takes everything");
        out.push(b'\n');
    };
    let lines = ping_lines(plan.pings);
    let [oam, echo, oam_bytes, echo_bytes] = best(plan.repetitions, f64::max, || {
        let [oam, echo] = [Pipe::oam(), Pipe::start(echo_command())].map(|mut pipe| {
            pipe.pipelined(&lines[..lines.len() / 10], |_, _| true);
            let bytes = pipe.pipelined(&lines, |_, _| true);
            let mut next = 0;
            let json = pipe.pipelined_made(plan.pings, write, |line, _| {
                let pong: Pong = serde_json::from_slice(line).expect("an answer with an id");
                assert_eq!(pong.id, next, "answers come in order");
                next += 1;
                true
            });
            [json, bytes].map(|time| per_second(plan.pings, time))
        });
        [oam[0], echo[0], oam[1], echo[1]]
    });
    vec![
        Figure::new("pipelined pings, JSON client (beside: bare echo)", "/s", oam)
            .beside(echo)
            .goal(Goal::RatioAtLeast(0.5)),
        Figure::new("pipelined pings, byte client (beside: bare echo)", "/s", oam_bytes).beside(echo_bytes),
    ]
}

fn latency(plan: &Plan, p50: &'static str, p99: &'static str, one_processor: bool) -> Vec<Figure> {
    let pinned = if one_processor { Pinned::to_one() } else { None };
    if one_processor && pinned.is_none() {
        return Vec::new();
    }
    let lines = ping_lines(plan.round_trips);
    let [oam50, oam99, echo50, echo99] = best(plan.repetitions, f64::min, || {
        let [oam, echo] = [Pipe::oam(), Pipe::start(echo_command())].map(|mut pipe| {
            pipe.ping_pong(&lines[..lines.len() / 10]);
            let mut times = pipe.ping_pong(&lines);
            times.sort_unstable();
            [50, 99].map(|percent| times[times.len() * percent / 100].as_secs_f64() * 1e6)
        });
        [oam[0], oam[1], echo[0], echo[1]]
    });
    let p50 = Figure::new(p50, "us", oam50).beside(echo50);
    let p50 = if one_processor { p50.goal(Goal::RatioAtMost(1.5)) } else { p50 };
    vec![p50, Figure::new(p99, "us", oam99).beside(echo99)]
}

fn turns(plan: &Plan) -> Vec<Figure> {
    let text =
        json!({"text": "The north gate stays shut, for its chain is jammed and the smith is not here yet."});
    let mut chunked = text.clone();
    chunked["chunks"] = json!(20);
    let tool_steps: Vec<_> =
        (0..plan.turns).flat_map(|_| [json!({"toolCalls": [{"name": "look"}]}), text.clone()]).collect();
    let scripted = |steps: &[Value], fallback: &Value| {
        let tool = json!({"name": "look", "description": "Looks around."});
        let tools = if steps.is_empty() { json!([]) } else { json!([tool]) };
        json!({"model": {"type": "scripted", "steps": steps, "fallback": fallback}, "tools": tools})
    };
    let prompt = json!({"session": "a", "prompt": "Why is the gate not open?"});
    let mut streaming = prompt.clone();
    streaming["stream"] = json!(true);
    let (pings, unstreamed, streamed) =
        (ping_lines(plan.pings), turn_lines(plan.turns, &prompt), turn_lines(plan.turns, &streaming));
    let measured = |oam: &mut Pipe, lines: &[Vec<u8>]| {
        oam.exchange(&ping_lines(1)[0]);
        let before = oam.cpu();
        let time = oam.pipelined(lines, |line, replies| {
            answer_call(line, replies);
            is_answer(line)
        });
        (time.as_secs_f64() * 1e9 / lines.len() as f64, (oam.cpu() - before) / lines.len() as f64)
    };
    let [ping, ping_cpu, turn, turn_cpu, stream, stream_cpu, tool, tool_cpu] =
        best(plan.repetitions, f64::min, || {
            let (ping, ping_cpu) = measured(&mut Pipe::oam(), &pings);
            let (turn, turn_cpu) = measured(&mut with_session(scripted(&[], &text)), &unstreamed);
            let (stream, stream_cpu) = measured(&mut with_session(scripted(&[], &chunked)), &streamed);
            let (tool, tool_cpu) = measured(&mut with_session(scripted(&tool_steps, &text)), &unstreamed);
            [ping, ping_cpu, turn, turn_cpu, stream, stream_cpu, tool, tool_cpu]
        });
    let rate = |nanos: f64| 1e9 / nanos;
    let mut figures = vec![
        Figure::new("text turns (beside: pings)", "/s", rate(turn)).beside(rate(ping)),
        Figure::new("streamed turns of 20 chunks (beside: pings)", "/s", rate(stream)).beside(rate(ping)),
        Figure::new("turns with a client tool (beside: pings)", "/s", rate(tool)).beside(rate(ping)),
    ];
    if ping_cpu.is_finite() {
        figures.extend([
            Figure::new("processor time of a text turn (beside: a ping)", "ns", turn_cpu)
                .beside(ping_cpu)
                .goal(Goal::RatioAtMost(15.0)),
            Figure::new("processor time of a streamed turn", "ns", stream_cpu).beside(ping_cpu),
            Figure::new("processor time of a turn with a tool", "ns", tool_cpu).beside(ping_cpu),
        ]);
    }
    figures
}

/// Answers a `tool/call`, if `line` is one. Its id stands at a fixed place.
fn answer_call(line: &[u8], replies: &mut Vec<u8>) {
    let Some(rest) = line.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":\"t-") else { return };
    let digits = memchr::memchr(b'"', rest).unwrap_or(0);
    replies.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":\"t-");
    replies.extend_from_slice(&rest[..digits]);
    replies.extend_from_slice(b"\",\"result\":{\"output\":\"a jammed chain\"}}\n");
}

/// The cost of a turn late in a conversation beside that of an early one.
fn long_session(plan: &Plan) -> Option<Figure> {
    const EARLY: usize = 100;
    const SPAN: usize = 500;
    let turns = |count: usize| turn_lines(count, &json!({"session": "a", "prompt": "And now?"}));
    let [late, early] = best(plan.repetitions, f64::min, || {
        let mut oam =
            with_session(json!({"model": {"type": "scripted", "fallback": {"text": "Nothing new."}}}));
        let mut span = |skip: usize| {
            oam.pipelined(&turns(skip), |line, _| is_answer(line));
            let before = oam.cpu();
            oam.pipelined(&turns(SPAN), |line, _| is_answer(line));
            (oam.cpu() - before) / SPAN as f64
        };
        let early = span(EARLY);
        [span(plan.long_session - EARLY - SPAN), early]
    });
    late.is_finite().then(|| {
        Figure::new("processor time of a late turn (beside: early)", "ns", late)
            .beside(early)
            .goal(Goal::RatioAtMost(1.2))
    })
}

/// From the start of the process to its first answer.
fn start_up(plan: &Plan) -> Figure {
    let ping = &ping_lines(1)[0];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..plan.starts {
        for (times, start) in times.iter_mut().zip([Pipe::oam, || Pipe::start(echo_command())]) {
            let begin = Instant::now();
            start().exchange(ping);
            times.push(begin.elapsed());
        }
    }
    let [oam, echo] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    });
    Figure::new("start to first answer (beside: bare echo)", "ms", oam).beside(echo).goal(Goal::Below(20.0))
}

/// Resident memory: idle, with many sessions, and for each byte said.
fn memory(plan: &Plan) -> Vec<Figure> {
    let mib = |kib: u64| kib as f64 / 1024.0;
    let mut oam = Pipe::oam();
    oam.exchange(&ping_lines(1)[0]);
    let Some(idle) = oam.rss_kib() else { return Vec::new() };
    for session in 0..64 {
        create(
            &mut oam,
            &format!("s{session}"),
            json!({"model": "scripted", "instructions": "You guard the gate."}),
        );
    }
    let many = oam.rss_kib().unwrap_or(idle);
    let mut figures = vec![
        Figure::new("memory when idle", "MiB", mib(idle)).goal(Goal::Below(12.0)),
        Figure::new("memory with 64 sessions (beside: idle)", "MiB", mib(many)).beside(mib(idle)),
    ];
    let said = "x".repeat(1024);
    for (name, turns) in [
        ("memory for a byte said, short conversation", plan.turns / 10),
        ("memory for a byte said, long conversation", plan.turns),
    ] {
        let mut oam = with_session(json!({"model": {"type": "scripted", "fallback": {"text": said}}}));
        let lines = turn_lines(turns, &json!({"session": "a", "prompt": said}));
        let before = oam.rss_kib().unwrap_or(0);
        oam.pipelined(&lines, |line, _| is_answer(line));
        let grown = oam.rss_kib().unwrap_or(0).saturating_sub(before);
        figures.push(Figure::new(name, "bytes", (grown * 1024) as f64 / (2 * said.len() * turns) as f64));
    }
    figures
}
