//! Logs on standard error, as `--log-level` says.

use std::{io, path::Path};

use oam_logging::{Guard, LevelHandle, Queue, RotatingFile, Rotation, json_subscriber, subscriber};
use tracing::level_filters::LevelFilter;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Everything.
    Debug,
    /// Also what happens to connections and workers.
    Info,
    /// Also what should not be, but was coped with.
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
    let queue = Queue::new(io::stderr())?;
    let guard = Guard::new(queue.clone());
    // Fails where logging has been started already.
    let _ = tracing::subscriber::set_global_default(subscriber(name, level.filter(), queue));
    Ok(guard)
}

/// The service's log.
pub(crate) struct ServiceLog {
    /// For a file.
    pub(crate) level: Option<LevelHandle>,
    _guard: Guard,
}

/// Starts logging to a file that is rotated, or for people to standard error: where there is no file, or it cannot be written.
pub(crate) fn init_service(path: Option<&Path>, level: LogLevel) -> io::Result<ServiceLog> {
    let for_people =
        || init(Some("oam service"), level).map(|guard| ServiceLog { level: None, _guard: guard });
    let Some(path) = path else { return for_people() };
    match RotatingFile::open(path, Rotation::default()) {
        Ok(file) => {
            let queue = Queue::new(file)?;
            let guard = Guard::new(queue.clone());
            let (subscriber, level) = json_subscriber(level.filter(), queue);
            // Fails where logging has been started already.
            let _ = tracing::subscriber::set_global_default(subscriber);
            Ok(ServiceLog { level: Some(level), _guard: guard })
        }
        Err(error) => {
            let log = for_people();
            tracing::warn!(%error, "{} cannot be written, so this is the log", path.display());
            log
        }
    }
}
