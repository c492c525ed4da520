//! What a client knows of an object: what was answered, and what it asked for since.
//!
//! What was answered must be there after a crash. Of what was not, a beginning may be there, in the order of the requests and
//! each request as a whole.

use std::{collections::VecDeque, fmt::Debug};

use oam_tests::RpcError;
use serde_json::Value;

/// What is told of a request, in bytes.
const LINE: usize = 500;

/// Identifies a request: its id on the wire.
pub(super) type Ticket = u64;

/// A kind of object, and what becomes of one.
pub(super) trait Kind {
    /// What is known of an object that exists.
    type State: Clone;
    /// A change that a client asks for.
    type Change: Debug;

    /// Makes the change; `None` is an object that does not exist.
    fn apply(state: &mut Option<Self::State>, change: &Self::Change);

    /// Takes note of the answer to a change that is made.
    fn check(state: Option<&mut Self::State>, change: &Self::Change, answer: &Value) -> Result<(), String>;
}

struct Pending<C> {
    ticket: Ticket,
    change: C,
    /// Its answer says that it was made and is not on disk yet.
    is_made: bool,
}

/// The account of one object.
pub(super) struct Account<K: Kind> {
    pub(super) id: String,
    /// After all that was answered.
    pub(super) settled: Option<K::State>,
    /// Asked for since, in order, and not refused.
    pending: VecDeque<Pending<K::Change>>,
    /// Something was refused since the start of the service, so what was asked for behind it may not make sense.
    has_refused: bool,
    /// What was asked and answered since the start of the service, for whoever looks for the cause of a failure.
    story: Vec<String>,
}

impl<K: Kind> Account<K> {
    pub(super) fn new(id: String) -> Self {
        Self { id, settled: None, pending: VecDeque::new(), has_refused: false, story: Vec::new() }
    }

    pub(super) fn asked(&mut self, ticket: Ticket, change: K::Change) {
        self.tell(format!("{ticket} asks for {change:?}"));
        self.pending.push_back(Pending { ticket, change, is_made: false });
    }

    fn tell(&mut self, mut line: String) {
        // Much of what fills a disk is the same byte again and again.
        line.truncate(line.floor_char_boundary(LINE));
        self.story.push(line);
    }

    /// After all that was asked for, if nothing goes wrong.
    pub(super) fn planned(&self) -> Option<K::State> {
        let mut state = self.settled.clone();
        self.pending.iter().for_each(|pending| K::apply(&mut state, &pending.change));
        state
    }

    /// Whether answers are missing.
    pub(super) fn is_waiting(&self) -> bool {
        self.pending.iter().any(|pending| !pending.is_made)
    }

    /// After all that was answered, if it is not lost.
    pub(super) fn made(&self) -> Option<K::State> {
        let mut state = self.settled.clone();
        let made = self.pending.iter().filter(|pending| pending.is_made);
        made.for_each(|pending| K::apply(&mut state, &pending.change));
        state
    }

    /// All states that may be there after a crash, in order.
    pub(super) fn possible(&self) -> Vec<Option<K::State>> {
        let mut state = self.settled.clone();
        let mut possible = vec![state.clone()];
        for Pending { change, .. } in &self.pending {
            K::apply(&mut state, change);
            possible.push(state.clone());
        }
        possible
    }

    /// An answer that only comes when all before it is on disk.
    pub(super) fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Result<Value, RpcError>,
    ) -> Result<(), String> {
        match answer {
            Ok(answer) => self.tell(format!("{ticket} is done: {answer}")),
            Err(error) => self.tell(format!("{ticket} fails: {error:?}")),
        }
        self.settle(ticket, answer).map_err(|why| format!("{}: {why}\n{}", self.id, self.story.join("\n")))
    }

    fn settle(&mut self, ticket: Ticket, answer: &Result<Value, RpcError>) -> Result<(), String> {
        let Some(at) = self.pending.iter().position(|pending| pending.ticket == ticket) else {
            // A deletion that was sent behind it has been answered before it.
            return Ok(());
        };
        match answer {
            Ok(answer) => {
                for Pending { change, .. } in self.pending.drain(..at) {
                    K::apply(&mut self.settled, &change);
                }
                if let Some(Pending { change, .. }) = self.pending.pop_front() {
                    K::apply(&mut self.settled, &change);
                    K::check(self.settled.as_mut(), &change, answer)?;
                }
            }
            Err(error) if is_made(error) => self.pending[at].is_made = true,
            Err(error) if is_refused(error) || (self.has_refused && is_misplaced(error)) => {
                self.pending.remove(at);
                self.has_refused |= error.name == "storage_failed";
            }
            Err(error) => return Err(format!("request {ticket} failed: {error:?}")),
        }
        Ok(())
    }

    /// What was found after a crash.
    pub(super) fn found(&mut self, state: Option<K::State>) {
        self.settled = state;
        self.pending.clear();
        self.has_refused = false;
        self.story.clear();
    }
}

/// It changed the object and will be on disk as soon as the disk can be written.
fn is_made(error: &RpcError) -> bool {
    error.name == "storage_failed" && error.data["applied"] == true
}

/// It changed nothing.
fn is_refused(error: &RpcError) -> bool {
    error.name == "cancelled" || error.name == "storage_failed" && error.data["applied"] == false
}

/// The object is there, or is not, against what the client thought.
fn is_misplaced(error: &RpcError) -> bool {
    error.name.ends_with("_exists") || error.name.ends_with("_not_found")
}
