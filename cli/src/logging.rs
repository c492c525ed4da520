//! Logs on standard error, as `--log-level` says.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use oam_logging::{Guard, Queue, subscriber};
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
    fn filter(self) -> LevelFilter {
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

/// Starts logging to the service's log, or to standard error where that cannot be written.
pub(crate) fn init_service(path: Option<&Path>, level: LogLevel) -> io::Result<Guard> {
    let Some(path) = path else { return init(Some("oam service"), level) };
    match open_log(path) {
        Ok(file) => {
            let queue = Queue::new(file)?;
            let guard = Guard::new(queue.clone());
            let _ = tracing::subscriber::set_global_default(subscriber(
                Some("oam service"),
                level.filter(),
                queue,
            ));
            Ok(guard)
        }
        Err(error) => {
            let guard = init(Some("oam service"), level);
            tracing::warn!(%error, "{} cannot be written, so this is the log", path.display());
            guard
        }
    }
}

fn open_log(path: &Path) -> io::Result<fs::File> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fs::File::options().append(true).create(true).mode(0o600).open(path)
}
