//! A line in the log for each request.

use std::{
    fmt::{self, Write as _},
    time::Instant,
};

use hyper::Method;
use unicode_general_category::{GeneralCategory, get_general_category};

use super::route::Route;
use crate::metrics::Metrics;

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

/// A request that becomes a line when this is dropped: when its answer has been sent, or nobody waits for it any more.
#[derive(Debug)]
pub(super) struct AccessRecord {
    metrics: Metrics,
    method: Method,
    path: String,
    route: Option<&'static str>,
    is_completion: bool,
    started: Instant,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unanswered,
    Answered(u16),
    Streaming(u16),
    Streamed(u16),
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
        }
    }

    /// What the request asks for.
    pub(super) fn set_route(&mut self, route: &Route) {
        self.route = Some(route.name());
        self.is_completion = route.is_completion();
    }

    /// The response begins with this status.
    pub(super) fn answered(&mut self, status: u16, is_stream: bool) {
        self.outcome = if is_stream { Outcome::Streaming(status) } else { Outcome::Answered(status) };
    }

    /// All of a stream has been sent.
    pub(super) fn stream_ended(&mut self) {
        if let Outcome::Streaming(status) = self.outcome {
            self.outcome = Outcome::Streamed(status);
        }
    }
}

impl Outcome {
    /// The name in metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Unanswered | Self::Streaming(_) => "given_up",
            Self::Answered(200) | Self::Streamed(_) => "answered",
            Self::Answered(_) => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered => f.write_str("given up"),
            Self::Answered(status) => write!(f, "{status}"),
            Self::Streaming(status) => write!(f, "{status} (stream, given up)"),
            Self::Streamed(status) => write!(f, "{status} (stream)"),
        }
    }
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        let Self { metrics, method, path, route, is_completion, started, outcome } = self;
        let elapsed = started.elapsed();
        let status = match *outcome {
            Outcome::Unanswered => None,
            Outcome::Answered(status) | Outcome::Streaming(status) | Outcome::Streamed(status) => {
                Some(status)
            }
        };
        metrics.request_ended(*route, status);
        if *is_completion {
            metrics.turn_ended(outcome.name(), elapsed);
        }
        let (method, path) = (Escaped(method.as_str()), Escaped(path));
        if status.is_some_and(|status| status >= 500) {
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
