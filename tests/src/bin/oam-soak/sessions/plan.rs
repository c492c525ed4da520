//! What to ask next, and what may come back: a model of the sessions that follows the requests in arrival order.

use fastrand::Rng;
use serde_json::{Value, json};

/// A request and what may come back.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) id: u64,
    pub(crate) message: Value,
    pub(crate) expected: Expected,
}

/// What may come back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// A result.
    Result,
    /// An error with this name.
    Error(&'static str),
    /// It stands in a session's queue, so it ends in order, and may be cancelled by what is sent behind it.
    Queued { session: Session, turn: Option<String> },
    /// A cancel, which counts the operations it ended.
    Cancel(Session),
    /// A deletion, which ends them too.
    Delete(Session),
}

/// One life of a session: its number, and how often the name was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) number: usize,
    pub(crate) life: u32,
}

impl Session {
    fn name(self) -> String {
        format!("session {}", self.number)
    }
}

/// Makes up requests.
#[derive(Debug)]
pub(crate) struct Plan {
    rng: Rng,
    sessions: Vec<(Session, bool)>,
    next_id: u64,
}

impl Plan {
    pub(crate) fn new(seed: u64, sessions: usize) -> Self {
        let sessions = (0..sessions).map(|number| (Session { number, life: 0 }, false)).collect();
        Self { rng: Rng::with_seed(seed), sessions, next_id: 0 }
    }

    /// The next request.
    pub(crate) fn next(&mut self) -> Planned {
        let (session, exists) = self.sessions[self.rng.usize(..self.sessions.len())];
        let (method, mut params, expected) = match self.rng.u32(..100) {
            _ if !exists && self.rng.bool() => return self.create(session.number),
            0..=2 => return self.create(session.number),
            3..=54 => self.respond(session),
            55..=64 => ("session/cancel", json!({}), Expected::Cancel(session)),
            65..=68 => return self.delete(session.number),
            69..=72 => ("session/transcript", json!({}), Expected::Result),
            73..=76 => return self.planned("session/list", json!({}), Expected::Result),
            77..=80 => ("session/reset", json!({}), queued(session)),
            81..=84 => ("session/compact", json!({"keepRecentTurns": self.rng.u32(..4)}), queued(session)),
            85..=87 => ("session/setContextNote", json!({"note": self.word()}), queued(session)),
            88..=89 => ("session/setInstructions", json!({"instructions": self.word()}), queued(session)),
            90..=91 => ("session/setTools", json!({"tools": [tool()]}), queued(session)),
            92..=94 => return self.planned("nothing", json!({}), Expected::Error("method_not_found")),
            95..=96 => {
                return self.planned(
                    "schema/validate",
                    json!({"schema": {"type": "string"}}),
                    Expected::Result,
                );
            }
            _ => return self.planned("ping", json!({}), Expected::Result),
        };
        params["session"] = json!(session.name());
        let expected = if exists { expected } else { Expected::Error("session_not_found") };
        self.planned(method, params, expected)
    }

    /// Deletes what there is, so that the process can be compared with itself.
    pub(crate) fn clean_up(&mut self) -> Vec<Planned> {
        let existing = self.sessions.iter().filter(|(_, exists)| *exists).map(|(session, _)| session.number);
        let existing: Vec<_> = existing.collect();
        existing.into_iter().map(|number| self.delete(number)).collect()
    }

    fn planned(&mut self, method: &str, params: Value, expected: Expected) -> Planned {
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        Planned { id: self.next_id, message, expected }
    }

    fn create(&mut self, number: usize) -> Planned {
        let steps: Vec<_> = (0..self.rng.usize(..20)).map(|_| self.step()).collect();
        let (session, exists) = &mut self.sessions[number];
        let params = json!({"session": session.name(), "tools": [tool()],
            "options": {"toolTimeoutSeconds": 0.2},
            "model": {"type": "scripted", "steps": steps, "fallback": {"template": "{prompt}"}}});
        let expected = if *exists { Expected::Error("session_exists") } else { Expected::Result };
        *exists = true;
        self.planned("session/create", params, expected)
    }

    fn delete(&mut self, number: usize) -> Planned {
        let (session, exists) = &mut self.sessions[number];
        let (deleted, existed) = (*session, *exists);
        if existed {
            (session.life, *exists) = (session.life + 1, false);
        }
        let expected = if existed { Expected::Delete(deleted) } else { Expected::Error("session_not_found") };
        self.planned("session/delete", json!({"session": deleted.name()}), expected)
    }

    fn respond(&mut self, session: Session) -> (&'static str, Value, Expected) {
        // No two prompts are alike, so an answer that was meant for another turn is seen.
        let prompt = format!("{} asks {} in turn {}", session.name(), self.word(), self.next_id + 1);
        let params = json!({"prompt": prompt, "stream": self.rng.bool()});
        ("session/respond", params, Expected::Queued { session, turn: Some(prompt) })
    }

    fn step(&mut self) -> Value {
        let mut step = match self.rng.u32(..20) {
            0..=4 => {
                let calls = (0..self.rng.usize(1..=4)).map(|_| json!({"name": "look", "arguments": {}}));
                json!({"toolCalls": calls.collect::<Vec<_>>()})
            }
            5..=9 => {
                json!({"text": format!("said {}", self.word().repeat(20)), "chunks": self.rng.u32(1..50)})
            }
            10 => json!({"error": "generation_failed"}),
            11 => json!({"error": "refusal"}),
            _ => json!({"template": "{prompt} and saw {toolOutputs}"}),
        };
        if self.rng.u32(..4) == 0 {
            step["delayMs"] = json!(self.rng.u32(..5));
        }
        step
    }

    fn word(&mut self) -> String {
        (0..self.rng.usize(1..12)).map(|_| self.rng.char('a'..'ÿ')).collect()
    }
}

fn queued(session: Session) -> Expected {
    Expected::Queued { session, turn: None }
}

fn tool() -> Value {
    json!({"name": "look", "description": "Looks around."})
}
