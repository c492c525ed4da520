//! Logs on standard error, as `--log-level` says.

use std::{io, path::Path};

use oam_logging::{Guard, LevelHandle, Queue, RotatingFile, Rotation, json_subscriber, subscriber};
use tracing::{Subscriber, level_filters::LevelFilter};

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Everything.
    Debug,
    /// Also what happens to connections and workers.
    Info,
    /// Also what should not be, but was coped with; warn means the same.
    #[value(alias = "warn")]
    Warning,
    /// What went wrong.
    Error,
}

impl LogLevel {
    pub(crate) fn filter(self) -> LevelFilter {
        match self {
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warning => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
        }
    }
}

/// Starts logging, with this name in each line if there is one. In a process that logs already it changes nothing.
pub(crate) fn init(name: Option<&'static str>, level: LogLevel) -> io::Result<Guard> {
    init_adjustable(name, level).map(|log| log.guard)
}

/// Logging that was started, whose level can be changed.
pub(crate) struct AdjustableLog {
    pub(crate) level: LevelHandle,
    guard: Guard,
}

/// Starts logging of the service, to a file that is rotated, or for people to standard error: where there is no file, or it
/// cannot be written.
pub(crate) fn init_service(path: Option<&Path>, level: LogLevel) -> io::Result<AdjustableLog> {
    let for_people = || init_adjustable(Some("oam service"), level);
    let Some(path) = path else { return for_people() };
    match RotatingFile::open(path, Rotation::default()) {
        Ok(file) => {
            let queue = Queue::new(file)?;
            Ok(started(json_subscriber(level.filter(), queue.clone()), queue))
        }
        Err(error) => {
            let log = for_people();
            tracing::warn!(%error, "{} cannot be written, so this is the log", path.display());
            log
        }
    }
}

fn init_adjustable(name: Option<&'static str>, level: LogLevel) -> io::Result<AdjustableLog> {
    let queue = Queue::new(io::stderr())?;
    Ok(started(subscriber(name, level.filter(), queue.clone()), queue))
}

fn started(
    (subscriber, level): (impl Subscriber + Send + Sync + 'static, LevelHandle),
    queue: Queue,
) -> AdjustableLog {
    // Fails where logging has been started already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    AdjustableLog { level, guard: Guard::new(queue) }
}
