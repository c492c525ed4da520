//! How a worker's process ended, in words.

use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use nix::sys::signal::Signal;

/// The end of a worker's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub cause: ExitCause,
    /// How long it ran.
    pub uptime: Duration,
    /// Whether it had said `ready`.
    pub was_ready: bool,
    /// Why the supervisor killed it, if it did.
    pub why_killed: Option<String>,
    /// The last lines it wrote to standard error.
    pub stderr: Vec<String>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitCause {
    /// It returned this code.
    Code(i32),
    /// This signal killed it (`SIGSEGV`).
    Signal(String),
    /// It could not be started; the text says why.
    NotStarted(String),
}

impl ExitCause {
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(number)) => Self::Signal(
                Signal::try_from(number)
                    .map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned()),
            ),
            (None, None) => Self::Code(-1),
        }
    }

    /// The name of the signal, if one ended it.
    pub fn signal(&self) -> Option<&str> {
        match self {
            Self::Signal(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for ExitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(name) => write!(f, "was killed by {name}"),
            Self::NotStarted(reason) => write!(f, "could not be started: {reason}"),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if !matches!(self.cause, ExitCause::NotStarted(_)) {
            write!(f, " after {:.1} s", self.uptime.as_secs_f64())?;
            if !self.was_ready {
                f.write_str(", before it was ready")?;
            }
        }
        if let Some(why) = &self.why_killed {
            write!(f, " ({why})")?;
        }
        if let Some(last) = self.stderr.last() {
            write!(f, "; its last words: {last}")?;
        }
        Ok(())
    }
}
