//! Measures `oam stdio` and puts each figure beside what the machine gives at best in the same minute.
//!
//! Absolute figures depend on the machine and on what else it does; ratios hold. So the floor is measured in the same
//! run, in turns with the real thing: this program itself as a bare echo of lines or frames ([`floor`]), or `oam`'s own
//! cost of a ping. Each figure is the best of several repetitions, because disturbance only ever makes it worse. The exit
//! code says nothing about goals: performance is not a test.
#![allow(clippy::print_stdout, reason = "it reports to a person")]
#![allow(clippy::cast_precision_loss, reason = "figures are for reading")]

mod floor;
mod measures;
mod pipe;
mod report;
mod workers;

use clap::Parser;
use measures::{Plan, measure};

/// Measures oam beside what the machine gives at best.
#[derive(Debug, Parser)]
struct Args {
    /// A tenth of the work, to see that it runs.
    #[arg(long)]
    quick: bool,
    /// Only what is about workers.
    #[arg(long)]
    workers: bool,
    /// Writes JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some(floor::ECHO) {
        // The measuring side sees it when this ends early.
        let _ = floor::echo();
        return;
    }
    if std::env::args().nth(1).as_deref() == Some(floor::FRAMES) {
        let _ = floor::answer_frames();
        return;
    }
    let args = Args::parse();
    let plan = if args.quick { Plan::QUICK } else { Plan::FULL };
    let mut figures = if args.workers { Vec::new() } else { measure(&plan) };
    figures.extend(workers::workers(&plan));
    if args.json {
        println!("{}", report::json(&figures));
    } else {
        if cfg!(debug_assertions) {
            println!("not an optimised build: the figures say little");
        }
        print!("{}", report::table(&figures));
    }
}
