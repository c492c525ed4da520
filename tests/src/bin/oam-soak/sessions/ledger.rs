//! Keeps account of what was asked, and tells the first answer that cannot be.

use std::collections::{HashMap, VecDeque};

use oam_tests::{Id, Message};
use serde_json::Value;

use super::plan::{Expected, Planned, Session};

/// What was asked and is not answered, and what each life of a session adds up to.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    open: HashMap<Id, Open>,
    sessions: HashMap<Session, Account>,
    pub(crate) turns: u64,
    pub(crate) cancelled: u64,
}

#[derive(Debug)]
struct Open {
    expected: Expected,
    /// How many cancels and deletions of its session were sent before it.
    cancels_before: u64,
}

#[derive(Debug, Default)]
struct Account {
    /// Its queued operations in order.
    queue: VecDeque<Id>,
    /// Cancels and deletions sent.
    cancels: u64,
    /// What the answers to its cancels counted, and what ended as cancelled.
    counted: u64,
    cancelled: u64,
    is_deleted: bool,
}

impl Ledger {
    /// Notes a request on its way.
    pub(crate) fn sent(&mut self, planned: &Planned) {
        let mut cancels_before = 0;
        match &planned.expected {
            Expected::Queued { session, .. } => {
                let account = self.sessions.entry(*session).or_default();
                account.queue.push_back(Id::from(planned.id));
                cancels_before = account.cancels;
            }
            Expected::Cancel(session) => self.sessions.entry(*session).or_default().cancels += 1,
            Expected::Delete(session) => {
                let account = self.sessions.entry(*session).or_default();
                account.cancels += 1;
                account.is_deleted = true;
            }
            Expected::Result | Expected::Error(_) => {}
        }
        self.open.insert(Id::from(planned.id), Open { expected: planned.expected.clone(), cancels_before });
    }

    /// Checks an answer.
    pub(crate) fn answered(&mut self, id: &Id, message: &Message) -> Result<(), String> {
        let open = self.open.remove(id).ok_or_else(|| format!("{id} is answered again"))?;
        let (result, error) = (&message.value["result"], message.value["error"]["data"]["code"].as_str());
        match &open.expected {
            Expected::Queued { session, turn } => {
                let account = self.sessions.entry(*session).or_default();
                if account.queue.pop_front().as_ref() != Some(id) {
                    return Err(format!("{id} is answered before what stood in front of it"));
                }
                match (error, turn) {
                    // The script lets turns, and the model call of a compaction, fail like this.
                    (None, None) | (Some("generation_failed" | "refusal"), _) => {}
                    (None, Some(prompt)) => {
                        self.turns += 1;
                        let text = result["text"].as_str().unwrap_or_default();
                        if !(text.starts_with(prompt.as_str()) || text.starts_with("said ")) {
                            return Err(format!("{id} asked {prompt:?} and got {text:?}"));
                        }
                    }
                    (Some("cancelled"), _) if account.cancels > open.cancels_before => {
                        account.cancelled += 1;
                        self.cancelled += 1;
                    }
                    (Some(error), _) => return Err(format!("{id} ended as {error}")),
                }
            }
            Expected::Cancel(session) => {
                let counted = result["cancelled"].as_u64().ok_or_else(|| format!("{id} counted nothing"))?;
                self.sessions.entry(*session).or_default().counted += counted;
            }
            Expected::Result | Expected::Delete(_) => {
                if let Some(error) = error {
                    return Err(format!("{id} ended as {error}"));
                }
            }
            Expected::Error(name) => {
                if error != Some(name) {
                    return Err(format!("{id} ended as {error:?} instead of {name}"));
                }
            }
        }
        Ok(())
    }

    /// Checks what can be checked once all is answered, and forgets the sessions that are gone.
    pub(crate) fn settled(&mut self) -> Result<(), String> {
        if let Some(id) = self.open.keys().next() {
            return Err(format!("{id} has no answer"));
        }
        for (session, account) in &self.sessions {
            let agrees = account.counted == account.cancelled
                || (account.is_deleted && account.counted <= account.cancelled);
            if !agrees {
                return Err(format!("{session:?}: cancels counted what did not end so: {account:?}"));
            }
        }
        self.sessions.retain(|_, account| !account.is_deleted);
        Ok(())
    }
}

/// Whether `message` is an answer, and of what.
pub(crate) fn answer(message: &Message) -> Option<Id> {
    message.answers().filter(|_| message.value["id"] != Value::Null)
}
