//! What can be said on the command line.

use std::{fmt::Write, path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum, builder::RangedU64ValueParser};

use crate::fault::{FaultKind, FaultSpec};

/// A worker without a model: it plays a script, and goes wrong when asked to. A supervisor starts it.
// The supervisor hands over a connected Unix socket as descriptor 0 (docs/IPC.md).
#[derive(Debug, Parser)]
#[command(name = "oam-worker-scripted", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Play this script (docs/PROTOCOL.md); a line of the instructions that begins with "oam-script:" wins.
    /// Without one, answer with words made from the prompt.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// What tells the script's next step: the answers in the "transcript", or those of this "process".
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ScriptPosition::Transcript)]
    #[arg(hide_possible_values = true)]
    pub(crate) script_position: ScriptPosition,

    /// How many steps to work on at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = RangedU64ValueParser::<u32>::new().range(1..=256))]
    pub(crate) parallel: u32,

    /// Wait so long before `ready`.
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    pub(crate) ready_delay: Duration,

    /// Wait so long at the start of each step.
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    pub(crate) step_delay: Duration,

    /// Wait so long before each piece of a streamed answer.
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    pub(crate) piece_delay: Duration,

    /// Say that the model has a context of so many tokens, and count them when asked to.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) context: Option<u32>,

    /// Say that answers cannot be streamed.
    #[arg(long)]
    pub(crate) no_streaming: bool,

    /// Say that prompts may hold images. A script does not look at them.
    #[arg(long)]
    pub(crate) images: bool,

    /// Go wrong, see --faults; may be given again. `OAM_WORKER_FAULTS` adds more, separated by commas.
    #[arg(long = "fault", value_name = "KIND[:WHEN]")]
    pub(crate) faults: Vec<FaultSpec>,

    /// Tell what can go wrong, and when.
    #[arg(long = "faults", exclusive = true)]
    pub(crate) tells_faults: bool,

    /// Draw the faults' probabilities from this and the process id.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Connect to the Unix socket at this path instead of using descriptor 0.
    #[arg(long, value_name = "PATH")]
    pub(crate) connect: Option<PathBuf>,
}

/// What tells a script's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptPosition {
    /// The answers and rounds of tool calls in the transcript: a step played again, by any process, says the same.
    /// A step that fails is not counted, nor is a summary; and what a conversation was restored with is.
    Transcript,
    /// The steps that this process has played of the session (of the same cache key). A step played again by another
    /// process starts over.
    Process,
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_millis).map_err(|_| "not a number of milliseconds".to_owned())
}

/// What `--faults` tells.
pub(crate) fn faults() -> String {
    let mut help = "Faults, for --fault KIND:\n".to_owned();
    for kind in FaultKind::value_variants() {
        if let Some(value) = kind.to_possible_value() {
            let what = value.get_help().map(ToString::to_string).unwrap_or_default();
            // Writing to a text does not fail.
            let _ = writeln!(help, "  {:<22}{what}", value.get_name());
        }
    }
    help + WHEN
}

const WHEN: &str = "
Conditions, for --fault KIND:WHEN; all must hold of those joined by \"+\":
  step=N                in the N-th step of this process, from 1
  p=0.01                with this probability, in each step (or at each start)
  word=boom             when the last prompt holds this word
  stream                when the step is streamed
  once=PATH             at most once in all processes: the file at PATH, made then, tells that it has been
  at=start|middle|end   before anything is said; after the first piece of a streamed answer, otherwise before the end
                        (as most faults do); after all pieces
";

const EXAMPLES: &str = "\
Examples:
  oam stdio --worker 'oam worker scripted --fault kill:p=0.01 --seed 7'
  oam stdio --worker 'oam worker scripted --fault segv:step=3+stream'
  oam stdio --worker 'oam worker scripted --fault hang:word=boom+once=/tmp/hung'

Exit codes: 0 at the end of the connection, 1 for a frame that cannot be read, 2 for a start that failed.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
