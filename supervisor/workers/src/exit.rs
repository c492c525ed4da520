//! How a worker's process ended, in words.

use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use nix::sys::signal::Signal;

use crate::status::HangCause;

/// Lines of a worker's last words that are shown: of one that failed to start they are all there is to go by.
const SHOWN_LINES: usize = 1;
const SHOWN_LINES_OF_FAILED_STARTS: usize = 5;
/// The most that is shown of each, in characters.
const SHOWN_CHARS: usize = 200;

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
    pub why_killed: Option<KillReason>,
    /// The last lines it wrote to standard error.
    pub stderr: Vec<String>,
}

impl Exit {
    /// `hang` or `violation` if the supervisor killed it for that, otherwise `crash`: the name on the wire.
    pub fn reason(&self) -> &'static str {
        match self.why_killed {
            Some(KillReason::Hang(_)) => "hang",
            Some(KillReason::Violation(_)) => "violation",
            Some(KillReason::Stop) | None => "crash",
        }
    }

    fn last_words(&self) -> String {
        let shown = if self.was_ready { SHOWN_LINES } else { SHOWN_LINES_OF_FAILED_STARTS };
        let lines: Vec<_> =
            self.stderr.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let shown = &lines[lines.len().saturating_sub(shown)..];
        shown.iter().map(|line| beginning(line)).collect::<Vec<_>>().join(" / ")
    }
}

fn beginning(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Why a supervisor kills a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillReason {
    /// It hangs.
    Hang(HangCause),
    /// It broke the protocol; the text says how.
    Violation(String),
    /// It was to exit, and did not in time or could not be asked.
    Stop,
}

impl fmt::Display for KillReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hang(cause) => cause.as_str(),
            Self::Violation(reason) => reason,
            Self::Stop => "it was to exit",
        })
    }
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
    /// It ended, and the process it belongs to does not let anybody know how: it ignores SIGCHLD, or reaps all children.
    Unknown,
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
            Self::Unknown => f.write_str("ended, it is not known how (somebody else took its exit status)"),
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
        let last_words = self.last_words();
        if !last_words.is_empty() {
            write!(f, "; its last words: {last_words}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(was_ready: bool, stderr: &[&str]) -> Exit {
        Exit {
            cause: ExitCause::Code(1),
            uptime: Duration::from_millis(1500),
            was_ready,
            why_killed: None,
            stderr: stderr.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    #[test]
    fn a_failed_start_shows_more_of_its_last_words() {
        let words = ["one", "two", "error: no such model", "", "  try --help", "three", "four."];
        assert_eq!(exit(true, &words).to_string(), "exited with code 1 after 1.5 s; its last words: four.");
        assert_eq!(
            exit(false, &words).to_string(),
            "exited with code 1 after 1.5 s, before it was ready; its last words: \
             two / error: no such model / try --help / three / four."
        );
        assert_eq!(exit(true, &["", " "]).to_string(), "exited with code 1 after 1.5 s");
    }

    #[test]
    fn long_last_words_are_cut() {
        let text = exit(true, &["é".repeat(5000).as_str()]).to_string();
        assert!(text.ends_with("é…") && text.chars().count() < 300, "{text}");
    }
}
