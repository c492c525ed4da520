//! Times on the command line: seconds, fractions allowed.

use std::time::Duration;

/// The longest time that can be said: a day.
const MOST: f64 = 86_400.0;

/// The time that a step may go without progress.
pub(crate) fn step_timeout(text: &str) -> Result<Duration, String> {
    at_least(0.1, text)
}

/// The time that a completion, or a client of a server, may take.
pub(crate) fn server_timeout(text: &str) -> Result<Duration, String> {
    at_least(0.001, text)
}

/// A time that may be none.
pub(crate) fn any(text: &str) -> Result<Duration, String> {
    at_least(0.0, text)
}

fn at_least(least: f64, text: &str) -> Result<Duration, String> {
    let seconds = number(text)?;
    if !(least..=MOST).contains(&seconds) {
        return Err(format!("must be from {least} to {MOST} seconds"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "not a number of seconds".to_owned())
}

/// A time limit for tool calls; `None` waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolTimeout(pub(crate) Option<Duration>);

pub(crate) fn tool_timeout(text: &str) -> Result<ToolTimeout, String> {
    let seconds = number(text)?;
    if !(0.0..=MOST).contains(&seconds) {
        return Err("must be from 0 to 86400 seconds (0 waits for ever)".to_owned());
    }
    // Like the same limit in a request: whole milliseconds, and at least one unless there is no limit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a day")]
    let limit = Duration::from_millis(((seconds * 1000.0).round() as u64).max(1));
    Ok(ToolTimeout((seconds > 0.0).then_some(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_timeout_is_a_number_of_seconds_within_a_day() {
        assert_eq!(tool_timeout("0"), Ok(ToolTimeout(None)));
        assert_eq!(tool_timeout("0.3"), Ok(ToolTimeout(Some(Duration::from_millis(300)))));
        assert_eq!(tool_timeout("86400"), Ok(ToolTimeout(Some(Duration::from_hours(24)))));
        for bad in ["-1", "86400.5", "1e300", "NaN", "inf", "", "2 min"] {
            assert!(tool_timeout(bad).is_err(), "{bad}");
        }
    }
}
