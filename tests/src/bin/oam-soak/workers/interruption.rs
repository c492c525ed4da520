//! Clients that change their mind: now and then a turn is cancelled, or its session or NPC deleted, at any moment.

use std::time::Duration;

use fastrand::Rng;
use serde_json::json;

use super::client::{Client, Exchange, Heard};

/// Whose turns a client cancels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'a> {
    Session(&'a str),
    Npc(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Cancel,
    Delete,
}

impl Owner<'_> {
    fn request(self, client: &Client, method: Method) -> Result<Exchange, String> {
        let (kind, id) = match self {
            Self::Session(id) => ("session", id),
            Self::Npc(id) => ("npc", id),
        };
        let method = if method == Method::Cancel { "cancel" } else { "delete" };
        client.request(&format!("{kind}/{method}"), json!({kind: id}))
    }
}

/// What comes between a turn and its end.
pub(crate) struct Interruption<'a> {
    owner: Owner<'a>,
    method: Option<Method>,
    /// Messages of the turn to wait for before.
    after: usize,
    sent: Option<Exchange>,
}

impl<'a> Interruption<'a> {
    pub(crate) fn maybe(rng: &mut Rng, owner: Owner<'a>) -> Self {
        let method = match rng.u32(..200) {
            0..=7 => Some(Method::Cancel),
            8 => Some(Method::Delete),
            _ => None,
        };
        Self { owner, method, after: rng.usize(..4), sent: None }
    }

    /// Called before each wait for a message of the turn.
    pub(crate) fn come(&mut self, client: &Client, rng: &mut Rng) -> Result<(), String> {
        let Some(method) = self.method.filter(|_| self.sent.is_none()) else { return Ok(()) };
        if self.after > 0 {
            self.after -= 1;
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(rng.u64(..2000)));
        self.sent = Some(self.owner.request(client, method)?);
        Ok(())
    }

    /// Checks it against how the turn ended. Returns whether its owner is deleted.
    pub(crate) fn settle(self, was_cancelled: bool) -> Result<bool, String> {
        let Some(sent) = self.sent else {
            return if was_cancelled { Err("it was cancelled by nobody".to_owned()) } else { Ok(false) };
        };
        let result = loop {
            if let Heard::Answer(answer) = sent.next()? {
                break answer.map_err(|error| format!("the interruption failed: {error:?}"))?;
            }
        };
        if self.method == Some(Method::Delete) {
            return Ok(true);
        }
        if result["cancelled"] != u64::from(was_cancelled) {
            return Err(format!("a cancel counted {result}, and the turn says {was_cancelled}"));
        }
        Ok(false)
    }
}
