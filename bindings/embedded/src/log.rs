//! What `OAM_BRIDGE_LOG` asks for: diagnostics on standard error, each line marked as coming from here.
//!
//! Without it nothing is installed: in a Rust host that collects `tracing` events they go where its own do. With it the
//! events of this bridge's threads, and of calls into it, go to standard error instead; a host's global subscriber is
//! neither replaced nor needed.

use std::{env, io};

use oam_logging::{Queue, subscriber};
use tracing::{Dispatch, dispatcher, level_filters::LevelFilter};

use crate::signals;

/// Names the least severe level to be written: `debug`, `info`, `warning` or `error`, in any case.
const VARIABLE: &str = "OAM_BRIDGE_LOG";

const NAME: &str = "open-apple-models";

/// Where the events of one bridge go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Option<Dispatch>);

impl Log {
    /// As the environment says now. Silent where the log cannot be started.
    pub(crate) fn from_environment() -> Self {
        let level = env::var(VARIABLE).ok().and_then(|name| level(&name));
        let queue = level.and_then(|level| {
            let queue = signals::blocked(|| Queue::new(io::stderr())).ok()?;
            Some(Dispatch::new(subscriber(NAME, level, queue).0))
        });
        Self(queue)
    }

    /// Runs `work` with its events going here.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(dispatch) => dispatcher::with_default(dispatch, work),
            None => work(),
        }
    }
}

fn level(name: &str) -> Option<LevelFilter> {
    let levels = [
        ("debug", LevelFilter::DEBUG),
        ("info", LevelFilter::INFO),
        ("warning", LevelFilter::WARN),
        ("error", LevelFilter::ERROR),
    ];
    levels.into_iter().find_map(|(known, level)| known.eq_ignore_ascii_case(name).then_some(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_known_in_any_case_and_nothing_else_is() {
        assert_eq!(level("Warning"), Some(LevelFilter::WARN));
        assert_eq!(level("DEBUG"), Some(LevelFilter::DEBUG));
        for unknown in ["", "warn", "trace", "1", "all", " info"] {
            assert_eq!(level(unknown), None);
        }
    }
}
