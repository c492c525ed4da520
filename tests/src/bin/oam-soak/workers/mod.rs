//! Turns that must come out right whatever happens to the workers that play them.
//!
//! Every session runs on the model "system" and carries its script in its instructions, so what each turn must come
//! to is known, whoever plays it and how often; so do [NPCs](npc), with their barks and decisions. The soak goes
//! through [phases](Marks::phases), each with its own trouble, and [lives](session) through many sessions and NPCs
//! at once in each. After each phase all must be as it was at the beginning: the same number of workers, no zombie,
//! no descriptor or memory more.

mod client;
mod interruption;
mod life;
mod npc;
mod report;
mod session;
mod trouble;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    thread,
    time::{Duration, Instant},
};

use client::Client;
use fastrand::Rng;
use oam_tests::{
    DEADLINE,
    procfs::{self, Usage, usage},
};
use report::{Counters, Row};
use serde_json::{Value, json};
use session::{MAX_STEP_CRASHES, Phase, Tally};
pub(crate) use trouble::OtherWorker;
use trouble::{Marks, Trouble};

use crate::flat;

/// Workers that serve, and the spare.
const WORKERS: usize = 2;
const PROCESSES: usize = WORKERS + 1;
/// Hangs cost this long, in seconds; an honest step takes milliseconds.
const STEP_TIMEOUT: &str = "1.5";
/// How often to say how far it is.
const PROGRESS: Duration = Duration::from_secs(10);
/// How often to look again for what must become true.
const POLL: Duration = Duration::from_millis(10);

/// What a soak with workers is asked for.
pub(crate) struct Settings {
    pub(crate) turns: u64,
    pub(crate) sessions: u64,
    pub(crate) crash_rate: f64,
    pub(crate) seed: u64,
    pub(crate) report: Option<PathBuf>,
    /// In place of the scripted worker.
    pub(crate) worker: Option<OtherWorker>,
}

pub(crate) fn soak(settings: &Settings) -> Result<(), String> {
    let Settings { turns, sessions, crash_rate, seed, .. } = settings;
    print!("seed {seed}: {turns} turns over {sessions} sessions");
    match &settings.worker {
        None => println!(", a fault is meant for {crash_rate} of them"),
        Some(_) => println!(", on workers that are killed and stopped"),
    }
    // What outlives oam becomes our child, and is seen.
    procfs::adopt_orphans().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let marks = Marks::new(folder.path(), settings.worker.as_ref()).map_err(|error| error.to_string())?;
    let worker = shell_words::join(marks.command(*seed));
    let arguments = [
        ["--worker", &worker],
        ["--workers", &WORKERS.to_string()],
        ["--step-timeout", STEP_TIMEOUT],
        ["--max-step-crashes", &MAX_STEP_CRASHES.to_string()],
        // Distrust would end the streaming with the first crash.
        ["--streaming", "always"],
        ["--log-level", "error"],
    ];
    let client = Client::start(&arguments.concat());
    client.ok("initialize", json!({"client": {"name": "soak", "workerEvents": true}}))?;

    let mut rows = Vec::new();
    let result = phases(settings, &client, &marks, &mut rows);
    let total = report::total(&rows);
    println!("{}", total.line());
    println!("{}", total.of_games());
    let status = client.ok("supervisor/status", json!({}));
    let result = result.and_then(|()| {
        client.end()?;
        no_orphans()
    });
    if let Ok(status) = &status {
        println!("deaths by cause: {}", status["counters"]["crashes"]);
        println!("counters: {}", status["counters"]);
        println!("events: {}; tool calls: {}", json!(client.worker_events()), client.tool_calls());
    }
    if let Some(path) = &settings.report {
        let report = json!({"seed": seed, "sessions": sessions, "crashRate": crash_rate,
            "passed": result.is_ok(), "failure": result.as_ref().err(), "total": total.json(),
            "phases": rows.iter().map(Row::json).collect::<Vec<_>>(), "status": status.ok(),
            "workerEvents": client.worker_events(), "toolCalls": client.tool_calls()});
        std::fs::write(path, format!("{report:#}\n"))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    result
}

fn phases(
    settings: &Settings,
    client: &Client,
    marks: &Marks<'_>,
    rows: &mut Vec<Row>,
) -> Result<(), String> {
    let mut rng = Rng::with_seed(settings.seed);
    let mut before = Counters::of(&calm(client)?);
    let mut warm: Option<Usage> = None;
    println!("{}", report::heading());
    let troubles = marks.phases();
    let count = troubles.len() as u64;
    for (index, trouble) in (0..).zip(troubles) {
        let turns = settings.turns / count + u64::from(index < settings.turns % count);
        let start = Instant::now();
        let tally = phase(*trouble, turns, settings, client, marks, &mut rng)?;
        let duration = start.elapsed();
        thread::sleep(trouble.aftermath());
        let after = Counters::of(&calm(client)?);
        client.settled()?;
        let now = usage(client.pid()).ok();
        let counted = |name: &str| after.get(name) - before.get(name);
        let row = Row {
            trouble: trouble.name(),
            turns: tally.turns.into_inner(),
            cancelled: tally.cancelled.into_inner(),
            refused: tally.refused.into_inner(),
            failed: tally.quarantined.into_inner(),
            crashes: after.all_crashes() - before.all_crashes(),
            hangs: counted("hangs"),
            violations: counted("violations"),
            replays: counted("replays"),
            recycled: counted("recycled"),
            lines: tally.lines.into_inner(),
            barks: tally.barks.into_inner(),
            decisions: tally.decisions.into_inner(),
            writes: tally.writes.into_inner(),
            duration,
            slowest: Duration::from_micros(tally.slowest.into_inner()),
            rss_kib: now.map_or(0, |now| now.rss_kib),
        };
        println!("{}", row.line());
        if row.failed > counted("quarantined") {
            return Err(format!("{} turns failed, {} were quarantined", row.failed, counted("quarantined")));
        }
        rows.push(row);
        before = after;
        match (warm, now) {
            (None, now) => warm = now,
            (Some(warm), Some(now)) => flat(warm, now)?,
            (Some(_), None) => return Err("it is gone".to_owned()),
        }
    }
    Ok(())
}

fn phase(
    trouble: Trouble,
    turns: u64,
    settings: &Settings,
    client: &Client,
    marks: &Marks<'_>,
    rng: &mut Rng,
) -> Result<Tally, String> {
    let tally = Tally::default();
    let phase = Phase {
        client,
        trouble,
        crash_rate: settings.crash_rate,
        turns_left: AtomicI64::new(i64::try_from(turns).unwrap_or(i64::MAX)),
        tally: &tally,
        is_over: AtomicBool::new(false),
    };
    let result: Result<(), String> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..settings.sessions)
            .map(|number| {
                let (phase, rng) = (&phase, rng.fork());
                scope.spawn(move || phase.live(number, rng))
            })
            .collect();
        make_trouble(&phase, marks, rng, || sessions.iter().all(thread::ScopedJoinHandle::is_finished));
        sessions.into_iter().try_for_each(|session| session.join().expect("sessions do not panic"))
    });
    marks.hold_back();
    result.map(|()| tally)
}

/// Strikes from outside, and tells how far it is, until the sessions have come to their end.
fn make_trouble(phase: &Phase<'_>, marks: &Marks<'_>, rng: &mut Rng, are_done: impl Fn() -> bool) {
    let start = Instant::now();
    let (mut next_strike, mut next_word) = (start, start + PROGRESS);
    let opened = || phase.client.worker_event_count("breakerOpened");
    let opened_before = opened();
    while !are_done() {
        let now = Instant::now();
        if matches!(phase.trouble, Trouble::Storm) && opened() > opened_before {
            marks.hold_back();
        } else if let Some(pace) = phase.trouble.pace()
            && now >= next_strike
        {
            marks.strike(phase.trouble, phase.client.pid(), rng);
            next_strike = now + pace;
        }
        if now >= next_word {
            let (turns, left) =
                (phase.tally.turns.load(Ordering::Relaxed), phase.turns_left.load(Ordering::Relaxed));
            println!(
                "  … {}: {turns} turns in {:.0} s, {left} to go",
                phase.trouble.name(),
                start.elapsed().as_secs_f64()
            );
            next_word += PROGRESS;
        }
        thread::sleep(POLL.min(phase.trouble.pace().unwrap_or(POLL)));
    }
}

/// Waits until all workers are there and idle and nothing else is left of those before. Returns the status.
fn calm(client: &Client) -> Result<Value, String> {
    let start = Instant::now();
    loop {
        let status = client.ok("supervisor/status", json!({}))?;
        let children = procfs::children(client.pid()).unwrap_or_default();
        let workers = status["workers"].as_array().map_or(&[][..], Vec::as_slice);
        let is_calm = workers.len() == PROCESSES
            && workers.iter().all(|worker| worker["state"] == "ready")
            && status["waitingSteps"] == 0
            && status["breaker"] == "closed"
            && children.len() == PROCESSES
            && children.iter().all(|child| !child.is_zombie && !child.is_stopped);
        if is_calm {
            return Ok(status);
        }
        if start.elapsed() > DEADLINE {
            return Err(format!("it does not calm down: {status}, {children:?}"));
        }
        thread::sleep(POLL);
    }
}

/// Nothing that oam started is left, dead or alive.
fn no_orphans() -> Result<(), String> {
    let orphans = procfs::children(std::process::id()).map_err(|error| error.to_string())?;
    if orphans.is_empty() { Ok(()) } else { Err(format!("it left processes behind: {orphans:?}")) }
}
