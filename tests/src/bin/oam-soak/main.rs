//! Works `oam stdio` hard and at random for a while, and checks that nothing is lost, doubled, mixed up or leaked.
//!
//! A round sends thousands of requests over many sessions without waiting: turns with and without streaming and
//! tools, cancels, deletes and re-creations, compactions, settings, reads. Every request must get exactly one answer
//! that is possible for it, each session's operations must end in order, and nothing may follow an answer. After a
//! few rounds memory, threads and descriptors must stay where they are.
#![allow(clippy::print_stdout, reason = "it reports to a person")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod connection;
mod ledger;
mod plan;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use connection::Connection;
use oam_tests::procfs::{Usage, usage};
use plan::Plan;

/// Works `oam stdio` hard and at random, and checks everything it says.
#[derive(Debug, Parser)]
struct Args {
    /// How long to go on, in seconds; the round in progress is finished.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Requests a round.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Sessions they are spread over, at most 64.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=64))]
    sessions: u64,
    /// Repeats the requests of an earlier run.
    #[arg(long)]
    seed: Option<u64>,
}

/// Rounds after which the process has grown to its size.
const WARM_UP: u64 = 3;
/// What the allocator may keep beyond the size after the warm-up.
const SLACK_KIB: u64 = 16 * 1024;

fn main() -> ExitCode {
    let args = Args::parse();
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}: {} requests a round over {} sessions", args.requests, args.sessions);
    match soak(&args, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("FAILED with seed {seed}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn soak(args: &Args, seed: u64) -> Result<(), String> {
    let mut connection = Connection::start(seed);
    let mut plan = Plan::new(seed, usize::try_from(args.sessions).expect("at most 64"));
    let (start, duration) = (Instant::now(), Duration::from_secs(args.seconds));
    let mut warm: Option<Usage> = None;
    let mut round = 0;
    while round <= WARM_UP || start.elapsed() < duration {
        for _ in 0..args.requests {
            connection.send(&plan.next())?;
        }
        connection.finish()?;
        for request in plan.clean_up() {
            connection.send(&request)?;
        }
        connection.finish()?;
        round += 1;
        let now = usage(connection.pid()).ok();
        let size = now.map_or_else(String::new, |now| {
            format!("; {} KiB, {} threads, {} descriptors", now.rss_kib, now.threads, now.descriptors)
        });
        println!("round {round}, {:.0} s: {}{size}", start.elapsed().as_secs_f64(), connection.tally()?);
        if round == WARM_UP {
            warm = now;
        } else if let (Some(warm), Some(now)) = (warm, now) {
            flat(warm, now)?;
        }
    }
    connection.end()
}

fn flat(warm: Usage, now: Usage) -> Result<(), String> {
    let grown = now.rss_kib > warm.rss_kib + warm.rss_kib / 4 + SLACK_KIB;
    if grown || now.threads != warm.threads || now.descriptors != warm.descriptors {
        return Err(format!("it grew: {warm:?} after the warm-up, {now:?} now"));
    }
    Ok(())
}
