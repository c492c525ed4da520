//! Works `oam stdio` or `oam service` hard and at random, and checks that nothing is lost, doubled, mixed up or leaked.
//!
//! With `--service` it is [`service`]: a service that is killed under load, and must have all that it answered. Without
//! it, and without `--turns`, it is [`sessions`]: thousands of requests at once over scripted models, which try out order,
//! cancellation and limits. With it, it is [`workers`]: sessions and NPCs on the model "system", served by processes that
//! die, hang and misbehave in every way they know, or by others that are killed and stopped. Both hold every message to the protocol, and the process to the
//! memory, threads and descriptors that it had when it was warm.
#![allow(clippy::print_stdout, reason = "it reports to a person")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod service;
mod sessions;
mod workers;

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::Parser;
use oam_tests::{oam_command, procfs::Usage};
use workers::OtherWorker;

/// Works `oam stdio` or `oam service` hard and at random, and checks everything it says.
#[derive(Debug, Parser)]
struct Args {
    /// Without workers: how long to go on, in seconds; the round in progress is finished.
    #[arg(long, default_value_t = 60, conflicts_with = "turns")]
    seconds: u64,
    /// Without workers: requests a round.
    #[arg(long, default_value_t = 10_000, conflicts_with = "turns")]
    requests: usize,
    /// With workers that misbehave: how many turns.
    #[arg(long)]
    turns: Option<u64>,
    /// Kill `oam service run` again and again under load, and look whether all that it answered is there.
    #[arg(long, conflicts_with_all = ["turns", "seconds", "requests", "sessions"])]
    service: bool,
    /// With the service: how often.
    #[arg(long, default_value_t = 200, requires = "service")]
    kills: u64,
    /// With the service: every life goes this way, instead of all of them in turn.
    #[arg(long, requires = "service", value_name = "COURSE")]
    only: Option<service::Course>,
    /// With workers: COMMAND instead of the scripted worker; its program is a path. It must play scripts in instructions like
    /// that one, and what goes wrong with it comes from outside.
    #[arg(long, requires = "turns", value_name = "COMMAND")]
    worker: Option<OtherWorker>,
    /// With workers: the share of turns that a fault is meant for. Faults that cost seconds are rarer.
    #[arg(long, default_value_t = 0.02, requires = "turns", value_parser = probability)]
    crash_rate: f64,
    /// With workers: writes what happened to this file, as JSON.
    #[arg(long, requires = "turns")]
    report: Option<PathBuf>,
    /// Sessions at once, at most 64. Without workers 64, with them 24, unless told.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=64))]
    sessions: Option<u64>,
    /// Repeats the requests of an earlier run.
    #[arg(long)]
    seed: Option<u64>,
}

fn probability(text: &str) -> Result<f64, String> {
    let probability = text.parse().ok().filter(|probability| (0.0..=1.0).contains(probability));
    probability.ok_or_else(|| "must be from 0 to 1".to_owned())
}

/// What the allocator may keep beyond the size after the warm-up, which may grow by a quarter too.
const SLACK_KIB: u64 = 16 * 1024;

fn main() -> ExitCode {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let result = match args.turns {
        _ if args.service => service::soak(args.kills, args.only, seed),
        Some(turns) => workers::soak(&workers::Settings {
            turns,
            sessions: args.sessions.unwrap_or(24),
            crash_rate: args.crash_rate,
            seed,
            report: args.report,
            worker: args.worker,
        }),
        None => sessions::soak(args.seconds, args.requests, args.sessions.unwrap_or(64), seed),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("FAILED with seed {seed}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The program, with an allocator that gives back what is freed. Left to itself, glibc's keeps more the larger the largest
/// block was that was ever freed, up to 64 MiB, which would hide a leak, or look like one.
fn oam() -> Command {
    const GIVE_BACK_ABOVE: &str = "262144";
    let mut command = oam_command();
    command.env("MALLOC_TRIM_THRESHOLD_", GIVE_BACK_ABOVE).env("MALLOC_MMAP_THRESHOLD_", GIVE_BACK_ABOVE);
    command
}

/// Compares a process with itself after the warm-up.
fn flat(warm: Usage, now: Usage) -> Result<(), String> {
    let grown = now.rss_kib > warm.rss_kib + warm.rss_kib / 4 + SLACK_KIB;
    if grown || now.threads != warm.threads || now.descriptors != warm.descriptors {
        return Err(format!("it grew: {warm:?} after the warm-up, {now:?} now"));
    }
    Ok(())
}
