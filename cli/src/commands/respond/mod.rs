//! `oam respond`: one turn, as people at a prompt and scripts want it (docs/CLI.md).
//!
//! 1. [`arguments`] is the command line. [`preparation`] reads everything that it names, in an order that decides which
//!    mistake is told when there are several, before any model is asked.
//! 2. [`turn`] opens the model and runs the turn; [`reporter`] prints what happens.
//! 3. [`end`] keeps the conversation and prints the [`result`]: the answer, or the calls of external tools. These end the
//!    process with 10, and another one goes on from the saved conversation with their outputs ([`answers`]).

mod answers;
mod arguments;
mod end;
mod preparation;
mod prompt;
mod reporter;
mod result;
mod turn;

use std::process::ExitCode;

pub(crate) use arguments::RespondArguments;

use end::Ended;

use crate::{
    failure::{Failure, ReportForm},
    runtime::{self, End},
};

/// External calls are pending.
pub(crate) const CALLS_PENDING: u8 = 10;

pub(crate) fn run(arguments: &RespondArguments) -> ExitCode {
    respond(arguments).unwrap_or_else(|failure| failure.report(ReportForm::from(arguments.output.mode())))
}

fn respond(arguments: &RespondArguments) -> Result<ExitCode, Failure> {
    let (task, model) = preparation::prepare(arguments)?;
    Ok(match runtime::run(turn::run(task, model))? {
        End::Interrupted(code) => code,
        End::Done(Ended::Completed) => ExitCode::SUCCESS,
        End::Done(Ended::CallsPending) => ExitCode::from(CALLS_PENDING),
    })
}
