//! Sessions whose every turn is known: what is asked, what the script answers from where it stands, what a tool says.

use std::collections::HashMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::account::{Account, Kind};

/// Steps of a script. A session whose script comes to its end is deleted.
const STEPS: usize = 400;
/// Not a call, by far.
const LAST: usize = STEPS - 40;

pub(super) const TOOL: &str = "look";

pub(super) struct Sessions;

#[derive(Clone, Default, PartialEq)]
pub(super) struct Session {
    instructions: Option<String>,
    note: Option<String>,
    /// Instructions and note of the last turn.
    in_force: Option<String>,
    turns: Vec<Turn>,
    /// The step that the script plays next.
    pub(super) step: usize,
    /// What is not known of it, since a transcript does not show it.
    unknown: Unknown,
}

/// What has to be asked for before anything else is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Unknown {
    #[default]
    Nothing,
    Note,
    Settings,
    /// Where the script stands, too.
    Everything,
}

#[derive(Clone, PartialEq, Debug)]
struct Turn {
    prompt: String,
    /// The number that the tool was called with.
    call: Option<usize>,
    text: String,
}

#[derive(Debug)]
pub(super) enum Change {
    Create,
    Turn { prompt: String },
    Instruct(String),
    Note(String),
    Compact,
    Reset,
    Delete,
}

fn is_call(step: usize) -> bool {
    step % 5 == 1
}

fn text(step: usize) -> String {
    format!("s{step}")
}

/// What the tool answers to a call with this number.
pub(super) fn output(number: u64) -> Value {
    json!({"seen": number})
}

impl Session {
    fn apply_settings(&mut self) {
        self.in_force = match (&self.instructions, &self.note) {
            (Some(instructions), Some(note)) => Some(format!("{instructions}\n\n{note}")),
            (one, None) | (None, one) => one.clone(),
        };
    }

    fn turn(&mut self, prompt: &str) {
        self.apply_settings();
        let call = is_call(self.step).then_some(self.step);
        self.step += usize::from(call.is_some());
        self.turns.push(Turn { prompt: prompt.to_owned(), call, text: text(self.step) });
        self.step += 1;
    }

    fn compact(&mut self) {
        if self.turns.len() > 1 {
            self.turns.drain(..self.turns.len() - 1);
            self.note = Some(text(self.step));
            self.step += 1;
            self.apply_settings();
        }
    }
}

impl Kind for Sessions {
    type State = Session;
    type Change = Change;

    fn apply(state: &mut Option<Session>, change: &Change) {
        match change {
            Change::Create => *state = Some(Session::default()),
            Change::Delete => *state = None,
            _ => {}
        }
        let Some(session) = state else { return };
        match change {
            Change::Create | Change::Delete => {}
            Change::Turn { prompt } => session.turn(prompt),
            Change::Instruct(text) => {
                session.instructions = Some(text.clone());
                session.unknown = session.unknown.min(Unknown::Note);
            }
            Change::Note(text) => {
                session.note = Some(text.clone());
                session.unknown = Unknown::Nothing;
            }
            Change::Compact => session.compact(),
            Change::Reset => {
                session.turns.clear();
                session.note = None;
                session.apply_settings();
            }
        }
    }

    fn check(state: Option<&mut Session>, change: &Change, answer: &Value) -> Result<(), String> {
        let (Change::Turn { .. }, Some(session)) = (change, state) else { return Ok(()) };
        let Some(turn) = session.turns.last() else { return Err("it has no turn".to_owned()) };
        let outputs: Vec<_> =
            answer["toolCalls"].as_array().into_iter().flatten().map(|call| &call["output"]).collect();
        let expected: Vec<_> = turn.call.iter().map(|call| output(*call as u64)).collect();
        if answer["text"] != *turn.text || outputs != expected.iter().collect::<Vec<_>>() {
            return Err(format!("it should answer as {turn:?} but answers {answer}"));
        }
        Ok(())
    }
}

impl Account<Sessions> {
    /// A change to ask for, and its request.
    pub(super) fn next(&self, rng: &mut Rng, mark: u64, size: usize) -> (Change, &'static str, Value) {
        let id = &self.id;
        let of = |more: Value| {
            let mut params = json!({"session": id});
            params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            params
        };
        let Some(session) = self.planned() else {
            let step = |step| {
                if is_call(step) {
                    json!({"toolCalls": [{"name": TOOL, "arguments": {"n": step}}]})
                } else {
                    json!({"text": text(step)})
                }
            };
            let steps: Vec<_> = (0..STEPS).map(step).collect();
            let parameters =
                json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            let tools = json!([{"name": TOOL, "description": "Looks.", "parameters": parameters}]);
            let model = json!({"type": "scripted", "steps": steps});
            return (Change::Create, "session/create", of(json!({"tools": tools, "model": model})));
        };
        let pick = match session.unknown {
            Unknown::Nothing => rng.u8(..20),
            Unknown::Note => 4,
            Unknown::Settings => 2,
            Unknown::Everything => return (Change::Delete, "session/delete", of(json!({}))),
        };
        match pick {
            _ if session.step > LAST => (Change::Delete, "session/delete", of(json!({}))),
            0 if session.step > 10 => (Change::Delete, "session/delete", of(json!({}))),
            1 => (Change::Reset, "session/reset", of(json!({}))),
            2 | 3 => {
                let text = format!("i{mark}");
                let params = of(json!({"instructions": text}));
                (Change::Instruct(text), "session/setInstructions", params)
            }
            4 | 5 => {
                let text = format!("n{mark}");
                let params = of(json!({"note": text}));
                (Change::Note(text), "session/setContextNote", params)
            }
            // Where it goes wrong that the disk is full, it is not known what comes next.
            6 | 7 if size == 0 && !is_call(session.step) => {
                (Change::Compact, "session/compact", of(json!({"keepRecentTurns": 1})))
            }
            _ => {
                let prompt = format!("p{mark}{}", "x".repeat(size));
                let params = of(json!({"prompt": prompt}));
                (Change::Turn { prompt }, "session/respond", params)
            }
        }
    }

    /// Whether a request has to be answered before the next: as long as something is not known of the session, what is asked for
    /// behind a request that is refused goes wrong in ways that nobody foretells.
    pub(super) fn must_wait(&self) -> bool {
        self.is_waiting() && self.made().is_some_and(|session| session.unknown != Unknown::Nothing)
    }

    /// A call of the tool with this number, which may be of a turn that was not answered yet.
    pub(super) fn called(&self, number: u64) -> Result<(), String> {
        let is_over =
            |session: &Option<Session>| session.as_ref().is_some_and(|one| number < one.step as u64);
        if self.possible().iter().all(is_over) {
            return Err(format!("{}: the call {number} of a turn that was answered is made again", self.id));
        }
        Ok(())
    }

    pub(super) fn question(&self) -> (&'static str, Value) {
        ("session/transcript", json!({"session": self.id}))
    }

    pub(super) fn verify(&mut self, found: Option<&Value>, seen: &mut Seen) -> Result<(), String> {
        let saved = found.map(|found| Saved::of(&found["transcript"])).transpose()?;
        let is_it = |session: &Option<Session>| match (session, &saved) {
            (Some(session), Some(saved)) => saved.setup == session.in_force && saved.turns == session.turns,
            (None, None) => true,
            _ => false,
        };
        let mut possible = self.possible();
        // Of several that look alike, the last one: what does not show was done or not.
        let Some(at) = possible.iter().rposition(is_it) else {
            let told = |session: &Option<Session>| {
                session.as_ref().map(|session| format!("{:?} {:?}", session.in_force, session.turns))
            };
            let may_be: Vec<_> = possible.iter().map(told).collect();
            return Err(format!("{}: found {found:?}\nmay be {may_be:#?}", self.id));
        };
        if let Some(saved) = &saved {
            saved.raw.iter().try_for_each(|(name, raw)| seen.again(&format!("{} {name}", self.id), raw))?;
        }
        let alike: Vec<_> = possible.iter().filter(|session| is_it(session)).flatten().collect();
        let unknown = match &alike[..] {
            [] | [_] => Unknown::Nothing,
            [first, rest @ ..] if rest.iter().all(|other| other.step == first.step) => Unknown::Settings,
            _ => Unknown::Everything,
        };
        let mut state = possible.swap_remove(at);
        if let Some(session) = &mut state {
            session.unknown = session.unknown.max(unknown);
        }
        self.found(state);
        Ok(())
    }
}

/// A transcript as far as it is known before.
struct Saved {
    setup: Option<String>,
    turns: Vec<Turn>,
    /// The entries of each turn as text, by its prompt.
    raw: Vec<(String, String)>,
}

impl Saved {
    fn of(transcript: &Value) -> Result<Self, String> {
        let mut saved = Self { setup: None, turns: Vec::new(), raw: Vec::new() };
        let entries = transcript["transcript"]["entries"].as_array().ok_or("a transcript without entries")?;
        let mut whole = true;
        for entry in entries {
            let said = entry["contents"][0]["text"].as_str().unwrap_or_default();
            match (entry["role"].as_str(), saved.turns.last_mut()) {
                (Some("instructions"), None) => saved.setup = (!said.is_empty()).then(|| said.to_owned()),
                (Some("user"), _) if whole => {
                    saved.turns.push(Turn { prompt: said.to_owned(), call: None, text: String::new() });
                    saved.raw.push((said.to_owned(), String::new()));
                }
                (Some("response"), Some(turn)) if entry["toolCalls"].is_array() => {
                    let arguments = entry["toolCalls"][0]["arguments"].as_str().unwrap_or_default();
                    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                    turn.call = arguments["n"].as_u64().and_then(|number| usize::try_from(number).ok());
                }
                (Some("tool"), Some(turn)) => {
                    let expected = turn.call.map(|call| output(call as u64).to_string());
                    if expected.as_deref() != Some(said) {
                        return Err(format!("an output that was not given: {entry}"));
                    }
                }
                (Some("response"), Some(turn)) => said.clone_into(&mut turn.text),
                _ => return Err(format!("half a turn: {transcript}")),
            }
            whole = saved.turns.last().is_none_or(|turn| !turn.text.is_empty());
            if let Some((_, raw)) = saved.raw.last_mut() {
                raw.push_str(&entry.to_string());
            }
        }
        if whole { Ok(saved) } else { Err(format!("half a turn: {transcript}")) }
    }
}

/// What was seen once and never changes.
#[derive(Default)]
pub(super) struct Seen(HashMap<String, String>);

impl Seen {
    /// Compares what is seen again, byte for byte.
    pub(super) fn again(&mut self, name: &str, text: &str) -> Result<(), String> {
        let before = self.0.entry(name.to_owned()).or_insert_with(|| text.to_owned());
        if before == text { Ok(()) } else { Err(format!("{name} was {before}\nand is {text}")) }
    }
}
