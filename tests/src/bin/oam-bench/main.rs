//! Measures `oam stdio`, `oam serve` and `oam service`, and puts each figure beside what the machine gives at best in the same minute.
//!
//! Absolute figures depend on the machine and on what else it does; ratios hold. So the floor is measured in the same
//! run, in turns with the real thing: this program itself as a bare echo of lines or frames ([`floor`]), or `oam`'s own
//! cost of a ping. Each figure is the best of several repetitions, because disturbance only ever makes it worse. The exit
//! code says nothing about goals: performance is not a test.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a person")]
#![allow(clippy::cast_precision_loss, reason = "figures are for reading")]

mod floor;
mod handler;
mod load;
mod measures;
mod pipe;
mod report;
mod script;
mod server;
mod service;
mod workers;

use std::process::ExitCode;

use clap::Parser;
use load::Load;
use measures::{Plan, measure};

/// Measures oam beside what the machine gives at best.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Args {
    /// A tenth of the work, to see that it runs.
    #[arg(long)]
    quick: bool,
    /// Only what is about workers.
    #[arg(long)]
    workers: bool,
    /// Only what is about the server.
    #[arg(long, conflicts_with = "workers")]
    server: bool,
    /// Only what is about the service and its disk.
    #[arg(long, conflicts_with_all = ["workers", "server"])]
    service: bool,
    /// Writes JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    if let Some(part) = std::env::args().nth(1)
        && play(&part)
    {
        return ExitCode::SUCCESS;
    }
    match report(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("oam-bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Plays one of the parts that this program has in its own measurements, until it ends. The measuring side sees it when that
/// is early. `false`: it is none.
fn play(part: &str) -> bool {
    let _ = match part {
        floor::ECHO => floor::echo(),
        floor::FRAMES => floor::answer_frames(),
        handler::HANDLER => handler::serve(),
        _ => return false,
    };
    true
}

fn report(args: &Args) -> Result<(), String> {
    let plan = if args.quick { Plan::QUICK } else { Plan::FULL };
    // What is missing is told before it takes minutes to measure the rest.
    let load = if args.workers || args.service { None } else { Some(Load::new()?) };
    let is_all = !args.workers && !args.server && !args.service;
    let mut figures = Vec::new();
    if is_all {
        figures.extend(measure(&plan));
    }
    if is_all || args.workers {
        figures.extend(workers::workers(&plan));
    }
    if is_all || args.service {
        figures.extend(service::service(&plan));
    }
    if let Some(load) = &load {
        figures.extend(server::server(&plan, load));
    }
    if args.json {
        println!("{}", report::json(&figures));
    } else {
        if cfg!(debug_assertions) {
            println!("not an optimised build: the figures say little");
        }
        print!("{}", report::table(&figures));
    }
    Ok(())
}
