//! What is recorded, and what is played from a recording.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use oam_recording::Matching;

/// What is recorded, and what is played from a recording.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Recordings")]
pub(crate) struct RecordingArguments {
    /// Write what the model answers: a script that replays it.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Keep what is in that file; what the model answers now comes behind it.
    #[arg(long)]
    pub(crate) append: bool,

    /// Leave prompts, instructions and tool outputs out of what is recorded.
    #[arg(long)]
    pub(crate) redact: bool,

    /// Record also how long steps took; a replay then takes as long.
    #[arg(long)]
    pub(crate) pace: bool,

    /// Play this recording (or script) instead of asking a model.
    #[arg(long, value_name = "FILE", conflicts_with = "worker")]
    pub(crate) replay: Option<PathBuf>,

    /// Turns not recorded: strict fails, lenient goes on [default: strict].
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true)]
    pub(crate) replay_match: Option<ReplayMatch>,
}

/// What happens to a question that is not recorded as it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayMatch {
    Strict,
    Lenient,
}

impl From<ReplayMatch> for Matching {
    fn from(said: ReplayMatch) -> Self {
        match said {
            ReplayMatch::Strict => Self::Strict,
            ReplayMatch::Lenient => Self::Lenient,
        }
    }
}
