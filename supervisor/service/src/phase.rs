//! What the service does, from its start to its end.

use std::fmt;

use tokio::time::Instant;

/// Why the service has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// [`Service::stop`](crate::Service::stop).
    Requested,
    /// Nobody used it.
    Idle,
    /// Another process has taken its place.
    HandedOver,
    /// It could not go on.
    Failed(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("it was asked to"),
            Self::Idle => f.write_str("nobody used it"),
            Self::HandedOver => f.write_str("another process has taken its place"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    /// Another process serves whoever connects now. What is in realms ends as soon as its turns have, so that the other one can
    /// open them; the rest has until `deadline`.
    HandingOver {
        deadline: Instant,
    },
    /// Every connection ends when its turns have, at `deadline` in any case.
    Stopping {
        deadline: Instant,
    },
    Stopped(StopReason),
}

impl Phase {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::HandingOver { .. } => "handingOver",
            Self::Stopping { .. } => "stopping",
            Self::Stopped(_) => "stopped",
        }
    }

    /// When a connection must have ended, if it is to end.
    pub(crate) fn deadline_of_connection(&self, is_in_realm: bool) -> Option<Instant> {
        match self {
            Self::HandingOver { deadline } if is_in_realm => Some(*deadline),
            Self::Stopping { deadline } => Some(*deadline),
            Self::Serving | Self::HandingOver { .. } | Self::Stopped(_) => None,
        }
    }
}
