//! A request that waits for its response.

use std::{fmt, str::FromStr};

use serde_json::Value;

use super::delivery::Shown;

/// Told apart from ids of other clients on the wire by its prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestId(u64);

impl RequestId {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "godot-{}", self.0)
    }
}

impl FromStr for RequestId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.strip_prefix("godot-").and_then(|number| number.parse().ok()).map(Self).ok_or(())
    }
}

/// What is known of a request until it is completed.
#[derive(Debug)]
pub(super) struct Pending<O> {
    pub(super) owner: O,
    pub(super) method: String,
    pub(super) streamed: Streamed,
}

impl<O> Pending<O> {
    pub(super) fn new(method: &str, owner: O) -> Self {
        Self { owner, method: method.to_owned(), streamed: Streamed::default() }
    }
}

/// The text that stands there so far, made of deltas and resets.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    so_far: String,
}

impl Streamed {
    /// What an event changes in what the player sees.
    pub(super) fn take_in(&mut self, event: &Value) -> Option<Shown> {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        match text("type") {
            "text" if event["isReset"] == true => Some(self.replace(text("text"))),
            "text" | "lineDelta" => Some(self.append(text("delta"))),
            "lineReset" => Some(self.replace(text("line"))),
            "emotion" => Some(Shown::Emotion(text("emotion").to_owned())),
            _ => None,
        }
    }

    fn append(&mut self, delta: &str) -> Shown {
        self.so_far.push_str(delta);
        Shown::Text { delta: Some(delta.to_owned()), so_far: self.so_far.clone() }
    }

    fn replace(&mut self, text: &str) -> Shown {
        text.clone_into(&mut self.so_far);
        Shown::Text { delta: None, so_far: self.so_far.clone() }
    }
}
