//! Who a turn talks to while it runs.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::{
    event::TurnEvent,
    tool::{ToolCall, ToolOutput},
    turn::FinishedTurn,
};

/// The client for which a turn runs: executes its client tools, and has the last word on whether its result counts.
/// All methods return at once.
pub trait TurnClient: Send {
    /// The client is to execute `call`. The answer is sent through the returned channel; dropping its other end
    /// counts as an error output.
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput>;

    /// The answer to a client call is no longer waited for; `reason` is what the model was told.
    fn abandon_client_call(&mut self, call: &ToolCall, reason: &str) {
        let _ = (call, reason);
    }

    /// A step was interrupted and played again, which changes nothing for the turn; `why` is for the log.
    fn step_interrupted(&mut self, why: &str) {
        let _ = why;
    }

    /// The turn has its final answer and is about to be recorded. `false` means it has been cancelled; afterwards
    /// it can no longer be.
    fn commit(&mut self) -> bool {
        true
    }

    /// The turn becomes part of its conversation, which it must: called once, right after [`commit`](Self::commit), for
    /// hosts that change something of their own in the same moment.
    fn record(&mut self, turn: FinishedTurn<'_>) {
        turn.keep();
    }
}

/// The other side of a running turn: its [client](TurnClient), which hears its events, too. A cancelled turn drops its
/// host.
pub trait TurnHost: TurnClient {
    /// Something happened. Called in order; returns at once.
    fn event(&mut self, event: TurnEvent);
}

/// A host for turns whose tools are all local and whose events nobody hears.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl TurnClient for NoHost {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let (answer, receiver) = oneshot::channel();
        let _ = answer.send(ToolOutput::Error(format!("Nobody here executes tool '{}'.", call.name)));
        receiver
    }
}

impl TurnHost for NoHost {
    fn event(&mut self, _: TurnEvent) {}
}
