//! A line in the log for each request.

use std::{
    fmt::{self, Write as _},
    time::Instant,
};

use hyper::Method;
use unicode_general_category::{GeneralCategory, get_general_category};

use super::route::Route;
use crate::{ApiError, metrics::Metrics};

/// A text from a client, with all that could forge or hide lines of a log written as in URLs.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if !is_hidden(character) {
                f.write_char(character)?;
                continue;
            }
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

fn is_hidden(character: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    !character.is_ascii_graphic()
        && character != ' '
        && matches!(get_general_category(character), Control | Format | LineSeparator | ParagraphSeparator)
}

/// A request that becomes a line when this is dropped: when its answer has been [written](Self::written), or nobody waits for it
/// any more.
#[derive(Debug)]
pub(super) struct AccessRecord {
    metrics: Metrics,
    method: Method,
    path: String,
    route: Option<&'static str>,
    is_completion: bool,
    started: Instant,
    outcome: Outcome,
    is_written: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unanswered,
    /// Of what was to be the answer, the client has got a part at most.
    Cut(u16),
    Answered(u16, Option<Failure>),
    Streaming(u16),
    Streamed(u16, Option<Failure>),
}

/// What the log tells of an error: nothing that a client said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    status: u16,
    name: &'static str,
}

impl From<&ApiError> for Failure {
    fn from(error: &ApiError) -> Self {
        Self { status: error.status, name: error.code.unwrap_or(error.kind.as_str()) }
    }
}

impl AccessRecord {
    pub(super) fn new(metrics: Metrics, method: Method, path: String) -> Self {
        Self {
            metrics,
            method,
            path,
            route: None,
            is_completion: false,
            started: Instant::now(),
            outcome: Outcome::Unanswered,
            is_written: false,
        }
    }

    /// What the request asks for.
    pub(super) fn set_route(&mut self, route: &Route) {
        self.route = Some(route.name());
        self.is_completion = route.is_completion();
    }

    /// The response has this status, for this reason if it tells of an error.
    pub(super) fn answered(&mut self, status: u16, failure: Option<Failure>) {
        self.outcome = Outcome::Answered(status, failure);
    }

    /// The response is a stream, and begins with this status.
    pub(super) fn streaming(&mut self, status: u16) {
        self.outcome = Outcome::Streaming(status);
    }

    /// The stream has come to its end, an error there included.
    pub(super) fn stream_ended(&mut self, failure: Option<Failure>) {
        if let Outcome::Streaming(status) = self.outcome {
            self.outcome = Outcome::Streamed(status, failure);
        }
    }

    /// All of the answer is on its way.
    pub(super) fn written(mut self) {
        self.is_written = true;
    }
}

impl Outcome {
    /// What becomes of this where the answer is not written to its end.
    fn unwritten(self) -> Self {
        match self {
            Self::Answered(status, None) => Self::Cut(status),
            Self::Streamed(status, None) => Self::Streaming(status),
            // An answer that tells of an error is none to be missed.
            other => other,
        }
    }

    /// What the client was told first.
    fn status(self) -> Option<u16> {
        match self {
            Self::Unanswered => None,
            Self::Cut(status)
            | Self::Answered(status, _)
            | Self::Streaming(status)
            | Self::Streamed(status, _) => Some(status),
        }
    }

    fn is_fault_of_server(self) -> bool {
        match self {
            Self::Streamed(_, Some(failure)) => failure.status >= 500,
            _ => self.status().is_some_and(|status| status >= 500),
        }
    }

    /// The name in metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Unanswered | Self::Cut(_) | Self::Streaming(_) => "given_up",
            Self::Answered(200, _) | Self::Streamed(_, None) => "answered",
            Self::Answered(..) | Self::Streamed(..) => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered => f.write_str("given up"),
            Self::Cut(status) => write!(f, "{status} (given up)"),
            Self::Answered(status, None) => write!(f, "{status}"),
            Self::Answered(status, Some(failure)) => write!(f, "{status} {}", failure.name),
            Self::Streaming(status) => write!(f, "{status} (stream, given up)"),
            Self::Streamed(status, None) => write!(f, "{status} (stream)"),
            Self::Streamed(status, Some(failure)) => write!(f, "{status} (stream, {})", failure.name),
        }
    }
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        let Self { metrics, method, path, route, is_completion, started, outcome, is_written } = self;
        let outcome = if *is_written { *outcome } else { outcome.unwritten() };
        let elapsed = started.elapsed();
        let status = outcome.status();
        metrics.request_ended(*route, status);
        if *is_completion {
            metrics.turn_ended(outcome.name(), elapsed);
        }
        let (method, path) = (Escaped(method.as_str()), Escaped(path));
        if outcome.is_fault_of_server() {
            tracing::warn!("{method} {path} → {outcome} {elapsed:.1?}");
        } else {
            tracing::info!("{method} {path} → {outcome} {elapsed:.1?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_forge_a_line_is_escaped_and_the_rest_is_not() {
        let path = "/a\nb\rc\u{1b}[31m\u{202e}d\te\u{2028}\u{2029}\u{85}\u{7f}/ü/日本 /🦊";
        let escaped = "/a%0Ab%0Dc%1B[31m%E2%80%AEd%09e%E2%80%A8%E2%80%A9%C2%85%7F/ü/日本 /🦊";
        assert_eq!(Escaped(path).to_string(), escaped);
    }
}
