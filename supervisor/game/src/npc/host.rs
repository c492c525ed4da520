//! Who a turn of dialogue talks to while it runs.

use oam_agent::{NoHost, TurnClient};

use crate::reply_stream::DialogueEvent;

/// The other side of a running turn of dialogue: its [client](TurnClient), which hears the line grow, too. A cancelled
/// turn drops its host.
pub trait DialogueHost: TurnClient {
    /// Something happened. Called in order, in streamed turns only; returns at once.
    fn event(&mut self, event: DialogueEvent);
}

/// For characters without tools of the game, whose events nobody hears.
impl DialogueHost for NoHost {
    fn event(&mut self, _: DialogueEvent) {}
}
