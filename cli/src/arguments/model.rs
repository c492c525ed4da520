//! Which model is asked, and how its workers are kept.

use std::time::Duration;

use clap::{Args, ValueEnum, builder::RangedU64ValueParser};
use oam_workers::{PoolConfig, StreamingPolicy};

use super::seconds;

/// Which model a command asks.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// The worker program and its arguments [default: the installed one].
    #[arg(long, value_name = "CMD")]
    pub(crate) worker: Option<String>,
}

/// How the model "system" is served by worker processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// Workers that play steps at the same time, 1 to 64 [default: 1].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    workers: Option<usize>,

    /// Keep one more worker ready to take over (the default).
    #[arg(long, overrides_with = "no_spare")]
    spare: bool,

    /// Start a new worker only when one has died.
    #[arg(long, overrides_with = "spare")]
    no_spare: bool,

    /// Stream: always, never, auto (not soon after a death) [default: auto].
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    streaming: Option<Streaming>,

    /// For a step without progress, then it is played again [default: 120].
    #[arg(long, value_name = "SECONDS", value_parser = seconds::step_timeout)]
    step_timeout: Option<Duration>,

    /// A step that has crashed so many workers fails [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_step_crashes: Option<u32>,
}

impl WorkerArguments {
    /// A pool like `usual`, but for what was said.
    pub(crate) fn applied_to(&self, usual: PoolConfig) -> PoolConfig {
        PoolConfig {
            workers: self.workers.unwrap_or(usual.workers),
            spare: !self.no_spare && (self.spare || usual.spare),
            streaming: self.streaming.map_or(usual.streaming, StreamingPolicy::from),
            step_timeout: self.step_timeout.unwrap_or(usual.step_timeout),
            max_step_crashes: self.max_step_crashes.unwrap_or(usual.max_step_crashes),
            ..usual
        }
    }

    /// The flags that were given and that say something only of workers, apart from `--worker`.
    pub(crate) fn settings_given(&self) -> Vec<&'static str> {
        let flags = [
            ("--workers", self.workers.is_some()),
            ("--spare", self.spare),
            ("--no-spare", self.no_spare),
            ("--streaming", self.streaming.is_some()),
            ("--step-timeout", self.step_timeout.is_some()),
            ("--max-step-crashes", self.max_step_crashes.is_some()),
        ];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }
}

/// When answers are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Streaming {
    Auto,
    Always,
    Never,
}

impl From<Streaming> for StreamingPolicy {
    fn from(said: Streaming) -> Self {
        match said {
            Streaming::Auto => Self::Auto,
            Streaming::Always => Self::Always,
            Streaming::Never => Self::Never,
        }
    }
}
