//! Order, cancellation and limits under load, on scripted models.
//!
//! A round sends thousands of requests over many sessions without waiting: turns with and without streaming and
//! tools, cancels, deletes and re-creations, compactions, settings, reads. Every request must get exactly one answer
//! that is possible for it, each session's operations must end in order, and nothing may follow an answer. After a
//! few rounds memory, threads and descriptors must stay where they are.

mod connection;
mod ledger;
mod plan;

use std::time::{Duration, Instant};

use connection::Connection;
use oam_tests::procfs::{Usage, usage};
use plan::Plan;

use crate::flat;

/// Rounds after which the process has grown to its size.
const WARM_UP: u64 = 3;

pub(crate) fn soak(seconds: u64, requests: usize, sessions: u64, seed: u64) -> Result<(), String> {
    println!("seed {seed}: {requests} requests a round over {sessions} sessions");
    let mut connection = Connection::start(seed);
    let mut plan = Plan::new(seed, usize::try_from(sessions).expect("at most 64"));
    let (start, duration) = (Instant::now(), Duration::from_secs(seconds));
    let mut warm: Option<Usage> = None;
    let mut round = 0;
    while round <= WARM_UP || start.elapsed() < duration {
        for _ in 0..requests {
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
