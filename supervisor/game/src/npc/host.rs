//! Who a turn of dialogue talks to while it runs.

use std::sync::Arc;

use oam_agent::{NoHost, ToolCall, ToolOutput, TurnHost};
use tokio::sync::oneshot;

use crate::reply_stream::DialogueEvent;

/// The other side of a running turn of dialogue: hears the line grow, executes the game's tools, and has the last word
/// on whether the turn counts. All methods return at once. A cancelled turn drops its host.
pub trait DialogueHost: Send {
    /// Something happened. Called in order, in streamed turns only.
    fn event(&mut self, event: DialogueEvent);
    /// The game is to execute `call`; see [`TurnHost::call_client`].
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput>;
    /// The answer to a call is no longer waited for; see [`TurnHost::abandon_client_call`].
    fn abandon_client_call(&mut self, call: &ToolCall, reason: &str) {
        let _ = (call, reason);
    }
    /// A step was interrupted and played again; see [`TurnHost::step_interrupted`].
    fn step_interrupted(&mut self, why: &str) {
        let _ = why;
    }
    /// The turn has its line and is about to be recorded. `false` means it has been cancelled; afterwards it can no
    /// longer be.
    fn commit(&mut self) -> bool {
        true
    }
}

/// For characters without tools of the game, whose events nobody hears.
impl DialogueHost for NoHost {
    fn event(&mut self, _: DialogueEvent) {}

    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        TurnHost::call_client(self, call)
    }
}
