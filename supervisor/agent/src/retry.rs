//! When a failed attempt at a turn is worth another one (docs/PROTOCOL.md, retries).

use std::time::{Duration, SystemTime};

use crate::error::{ErrorCode, ModelError};

const FIRST_DELAY: Duration = Duration::from_millis(300);
const LONGEST_DELAY: Duration = Duration::from_mins(1);
/// A failure that passes later than this is reported instead of waited for.
const WORTH_WAITING: Duration = Duration::from_secs(5);

/// What the retry rule needs to know of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts {
    /// Attempts made, the failed one included.
    pub(crate) made: u32,
    /// Attempts allowed.
    pub(crate) max: u32,
    /// The model called a tool in this turn; trying again could repeat what the tool did.
    pub(crate) called_tools: bool,
}

/// How long to wait before the next attempt; `None` when the failure stands.
pub(crate) fn delay(error: &ModelError, attempts: Attempts, now: SystemTime) -> Option<Duration> {
    if attempts.made >= attempts.max || attempts.called_tools || error.is_final {
        return None;
    }
    let until_reset = error.retry_at.map(|at| at.duration_since(now).unwrap_or(Duration::ZERO));
    let is_transient = matches!(error.code, ErrorCode::GenerationFailed | ErrorCode::RateLimited);
    if !is_transient || until_reset.is_some_and(|wait| wait >= WORTH_WAITING) {
        return None;
    }
    let doublings = (attempts.made - 1).min(16);
    let backoff = (FIRST_DELAY * 2_u32.pow(doublings)).min(LONGEST_DELAY);
    Some(backoff.max(until_reset.unwrap_or(Duration::ZERO)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn after(code: ErrorCode, made: u32) -> Option<u128> {
        let attempts = Attempts { made, max: 4, called_tools: false };
        delay(&ModelError::new(code, ""), attempts, NOW).map(|delay| delay.as_millis())
    }

    #[test]
    fn only_transient_failures_are_retried() {
        for code in ErrorCode::ALL {
            let transient = matches!(code, ErrorCode::GenerationFailed | ErrorCode::RateLimited);
            assert_eq!(after(code, 1).is_some(), transient, "{code}");
        }
    }

    #[test]
    fn the_delay_doubles_until_no_attempt_is_left() {
        let delays: Vec<_> = (1..=4).map(|made| after(ErrorCode::GenerationFailed, made)).collect();
        assert_eq!(delays, [Some(300), Some(600), Some(1200), None]);
    }

    #[test]
    fn nothing_is_retried_after_a_tool_call_or_a_final_verdict() {
        let mut error = ModelError::new(ErrorCode::GenerationFailed, "");
        let attempts = Attempts { made: 1, max: 9, called_tools: true };
        assert_eq!(delay(&error, attempts, NOW), None);
        error.is_final = true;
        assert_eq!(delay(&error, Attempts { called_tools: false, ..attempts }, NOW), None);
    }

    #[test]
    fn a_rate_limit_is_waited_for_only_when_it_ends_soon() {
        let limited = |seconds| {
            let mut error = ModelError::new(ErrorCode::RateLimited, "");
            error.retry_at = Some(NOW + Duration::from_secs(seconds));
            delay(&error, Attempts { made: 1, max: 2, called_tools: false }, NOW)
        };
        assert_eq!(limited(0), Some(Duration::from_millis(300)));
        assert_eq!(limited(4), Some(Duration::from_secs(4)));
        assert_eq!(limited(5), None);
    }
}
