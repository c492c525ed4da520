//! NPCs: what they answered is in their conversation once, and what they learnt is in their memory.
//!
//! Summaries come when they come, and take steps of the script. So nothing is foretold here: what an answer says was done must
//! be there, and what nobody answered is there as a whole (the turn, and what it did to the memory) or not at all.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{
    account::{Account, Kind},
    sessions::Seen,
};

const STEPS: usize = 400;
const DELTAS: [i64; 5] = [3, -2, 5, -4, 1];
/// After so many turns an NPC is deleted: its script has come near its end.
const TURNS: usize = 150;

pub(super) struct Npcs;

#[derive(Clone, Debug)]
pub(super) struct Npc {
    role: String,
    /// The lines of the player since the last reset.
    lines: Vec<String>,
    /// How many of them have become the summary, at least.
    summarized: usize,
    memory: Memory,
    /// The lines to which nobody has heard the answer.
    unheard: Vec<String>,
    /// It is not known what it remembers.
    is_blurred: bool,
    /// How many turns there were, resets or not.
    turns: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Memory {
    facts: Vec<String>,
    relationship: i64,
}

impl Memory {
    /// What a call of a memory tool does that had this output.
    fn call(&mut self, tool: &Value, arguments: &Value, output: &Value) {
        match (tool.as_str(), output.as_str()) {
            (Some("remember_fact"), Some("Remembered.")) => {
                self.facts.push(arguments["fact"].as_str().unwrap_or_default().to_owned());
            }
            (Some("change_relationship"), _) => {
                let delta = arguments["delta"].as_i64().unwrap_or_default();
                self.relationship = (self.relationship + delta).clamp(-100, 100);
            }
            _ => {}
        }
    }
}

#[derive(Debug)]
pub(super) enum Change {
    Create,
    Talk { line: String },
    Revise { role: String },
    Reset { clears_memory: bool },
    Delete,
}

impl Kind for Npcs {
    type State = Npc;
    type Change = Change;

    fn apply(state: &mut Option<Npc>, change: &Change) {
        match change {
            Change::Create => {
                *state = Some(Npc {
                    role: String::new(),
                    lines: Vec::new(),
                    summarized: 0,
                    memory: Memory::default(),
                    unheard: Vec::new(),
                    is_blurred: false,
                    turns: 0,
                });
            }
            Change::Delete => *state = None,
            _ => {}
        }
        let Some(npc) = state else { return };
        match change {
            Change::Create | Change::Delete => {}
            Change::Talk { line } => {
                npc.lines.push(line.clone());
                npc.unheard.push(line.clone());
                npc.turns += 1;
            }
            Change::Revise { role } => npc.role.clone_from(role),
            Change::Reset { clears_memory } => {
                npc.lines.clear();
                npc.summarized = 0;
                npc.is_blurred |= !npc.unheard.is_empty();
                npc.unheard.clear();
                if *clears_memory {
                    npc.memory = Memory::default();
                    npc.is_blurred = false;
                }
            }
        }
    }

    fn check(state: Option<&mut Npc>, change: &Change, answer: &Value) -> Result<(), String> {
        let (Change::Talk { .. }, Some(npc)) = (change, state) else { return Ok(()) };
        npc.unheard.pop();
        npc.is_blurred |= !npc.unheard.is_empty();
        npc.unheard.clear();
        for record in answer["toolCalls"].as_array().into_iter().flatten() {
            let call = &record["call"];
            npc.memory.call(&call["name"], &call["arguments"], &record["output"]);
        }
        let told = answer["relationship"].as_i64().unwrap_or_default();
        if npc.is_blurred {
            npc.memory.relationship = told;
        }
        if told == npc.memory.relationship { Ok(()) } else { Err(format!("{npc:?} answers {answer}")) }
    }
}

impl Account<Npcs> {
    /// A change to ask for, and its request.
    pub(super) fn next(
        &self,
        rng: &mut Rng,
        mark: u64,
        size: usize,
        home: &str,
    ) -> (Change, &'static str, Value) {
        let id = &self.id;
        let Some(npc) = self.planned() else {
            return (Change::Create, "npc/create", create(id, mark, home));
        };
        match rng.u8(..20) {
            0 if npc.turns > TURNS / 4 => (Change::Delete, "npc/delete", json!({"npc": id})),
            _ if npc.turns > TURNS => (Change::Delete, "npc/delete", json!({"npc": id})),
            1 => {
                let clears_memory = rng.bool();
                let params = json!({"npc": id, "clearMemory": clears_memory});
                (Change::Reset { clears_memory }, "npc/reset", params)
            }
            2 | 3 => {
                let role = format!("role {mark}");
                let params = json!({"npc": id, "persona": {"role": role}});
                (Change::Revise { role }, "npc/update", params)
            }
            _ => {
                let line = format!("l{mark}{}", "x".repeat(size));
                let params = json!({"npc": id, "line": line});
                (Change::Talk { line }, "npc/talk", params)
            }
        }
    }

    pub(super) fn question(&self) -> (&'static str, Value) {
        ("npc/state", json!({"npc": self.id}))
    }

    pub(super) fn verify(&mut self, found: Option<&Value>, seen: &mut Seen) -> Result<(), String> {
        let saved = found.map(|found| Saved::of(&found["state"])).transpose()?;
        let agree = |npc: Option<Npc>| match (npc, &saved) {
            (Some(npc), Some(saved)) => saved.as_known(npc).map(Some),
            (None, None) => Some(None),
            _ => None,
        };
        let Some(state) = self.possible().into_iter().rev().find_map(agree) else {
            return Err(format!("{}: found {found:?}\nmay be {:#?}", self.id, self.possible()));
        };
        for turn in saved.iter().flat_map(|saved| &saved.turns) {
            seen.again(&format!("{} {}", self.id, turn.line), &turn.raw)?;
        }
        self.found(state);
        Ok(())
    }
}

fn create(id: &str, mark: u64, home: &str) -> Value {
    let call = |name: &str, arguments: Value| json!({"toolCalls": [{"name": name, "arguments": arguments}]});
    let step = |step: usize| match step % 6 {
        0 => call("remember_fact", json!({"fact": format!("f{mark} {step}")})),
        2 => call("change_relationship", json!({"reason": "x", "delta": DELTAS[step % DELTAS.len()]})),
        4 => call(
            "update_world_state",
            json!({"path": "log", "value": (mark * 1000 + step as u64).to_string()}),
        ),
        _ => json!({"text": format!("[sad] n{step}")}),
    };
    let steps: Vec<_> = (0..STEPS).map(step).collect();
    let options = json!({
        "replyFormat": "text", "memoryTools": ["rememberFact", "changeRelationship"], "maxFacts": 1000,
        "worldWritable": ["log"], "compactAfterTurns": 5, "keepRecentTurns": 2,
    });
    let model = json!({"type": "scripted", "steps": steps});
    json!({"npc": id, "persona": {"name": "Gorm"}, "world": home, "options": options, "model": model})
}

/// What is there.
struct Saved {
    role: String,
    memory: Memory,
    has_summary: bool,
    turns: Vec<SavedTurn>,
}

#[derive(Default)]
struct SavedTurn {
    line: String,
    /// Its calls and their outputs.
    calls: Vec<(Value, Value, Value)>,
    is_whole: bool,
    /// All of its entries.
    raw: String,
}

impl Saved {
    fn of(state: &Value) -> Result<Self, String> {
        let mut turns: Vec<SavedTurn> = Vec::new();
        let entries =
            state["transcript"]["transcript"]["entries"].as_array().ok_or("a state without entries")?;
        for entry in entries {
            let said = entry["contents"][0]["text"].as_str().unwrap_or_default();
            match (entry["role"].as_str(), turns.last_mut()) {
                (Some("instructions"), None) => continue,
                (Some("user"), last) if last.as_ref().is_none_or(|turn| turn.is_whole) => {
                    let line = said.rsplit("Player: ").next().unwrap_or_default().to_owned();
                    turns.push(SavedTurn { line, ..SavedTurn::default() });
                }
                (Some("response"), Some(turn)) if entry["toolCalls"].is_array() => {
                    for call in entry["toolCalls"].as_array().into_iter().flatten() {
                        let arguments = call["arguments"].as_str().unwrap_or_default();
                        let arguments = serde_json::from_str(arguments).unwrap_or_default();
                        turn.calls.push((call["name"].clone(), arguments, Value::Null));
                    }
                }
                (Some("tool"), Some(turn)) => {
                    let open = turn.calls.iter_mut().find(|(_, _, output)| output.is_null());
                    open.ok_or("an output without a call")?.2 = said.into();
                }
                (Some("response"), Some(turn)) => turn.is_whole = true,
                _ => return Err(format!("half a turn: {state}")),
            }
            if let Some(turn) = turns.last_mut() {
                turn.raw.push_str(&entry.to_string());
            }
        }
        if turns.last().is_some_and(|turn| !turn.is_whole) {
            return Err(format!("half a turn: {state}"));
        }
        let memory = &state["memory"];
        Ok(Self {
            role: state["persona"]["role"].as_str().unwrap_or_default().to_owned(),
            memory: Memory {
                facts: serde_json::from_value(memory["facts"].clone()).map_err(|error| error.to_string())?,
                relationship: memory["relationship"].as_i64().unwrap_or_default(),
            },
            has_summary: memory["summary"].is_string(),
            turns,
        })
    }

    /// What is known of the NPC now, if this may be it.
    fn as_known(&self, mut npc: Npc) -> Option<Npc> {
        let cut = npc.lines.len().checked_sub(self.turns.len())?;
        let are_lines = npc.lines[cut..].iter().eq(self.turns.iter().map(|turn| &turn.line));
        if self.role != npc.role || !are_lines || cut < npc.summarized || (cut > 0 && !self.has_summary) {
            return None;
        }
        for line in std::mem::take(&mut npc.unheard) {
            match self.turns.iter().find(|turn| turn.line == line) {
                Some(turn) => turn
                    .calls
                    .iter()
                    .for_each(|(name, arguments, output)| npc.memory.call(name, arguments, output)),
                None => npc.is_blurred = true,
            }
        }
        if !npc.is_blurred && npc.memory != self.memory {
            return None;
        }
        npc.memory = self.memory.clone();
        npc.is_blurred = false;
        npc.summarized = cut;
        Some(npc)
    }
}
