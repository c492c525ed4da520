//! One NPC after another, each with a world of its own: lines with tools of every kind, barks, decisions.
//!
//! All that must come of it is known in advance: the line, what is remembered, and how often the world changes. A turn
//! that is cancelled or given up after it has written to the world is tried again and writes the same, which is no
//! change; so the world's version tells whether each write was made, and the events whether it was made once.

use std::{collections::HashSet, time::Instant};

use fastrand::Rng;
use oam_tests::{RpcError, ToolCall};
use serde_json::{Value, json};

use super::{
    client::Heard,
    interruption::{Interruption, Owner},
    life::{TOOL, words},
    session::{Phase, count},
};

/// What an NPC is to say, turn by turn.
struct Part {
    /// Replies are text rather than structured.
    is_text: bool,
    turns: Vec<Turn>,
}

/// A turn of an NPC: calls in one step, if any, then a line.
struct Turn {
    emotion: &'static str,
    line: String,
    chunks: usize,
    /// What it remembers.
    fact: Option<String>,
    /// How it changes its mind about the player.
    delta: Option<i64>,
    /// The member of the world that it writes.
    written: Option<String>,
    /// What it asks the client's tool for.
    look: Option<String>,
    /// The model refuses. It takes no step of the script with it, so it must be the last.
    is_refused: bool,
}

/// How a try of a turn ended.
#[derive(PartialEq)]
enum Ended {
    Spoken,
    /// It left no trace but for the world.
    Undone,
    /// The NPC is no more.
    Deleted,
}

impl Part {
    fn new(rng: &mut Rng, name: &str) -> Self {
        let count = rng.usize(1..=6);
        let mut turns: Vec<_> =
            (0..count).map(|number| Turn::new(rng, &format!("{name} turn {number}"))).collect();
        // Barks play the first step.
        turns[0] = Turn { fact: None, delta: None, written: None, look: None, ..Turn::new(rng, name) };
        if rng.u32(..8) == 0 {
            turns.push(Turn { is_refused: true, ..Turn::new(rng, name) });
        }
        Self { is_text: rng.bool(), turns }
    }

    fn options(&self) -> Value {
        let steps: Vec<_> = self.turns.iter().flat_map(|turn| turn.script(self.is_text)).collect();
        // What a script has played is told by the conversation, so all of it must stay in view.
        json!({"replyFormat": if self.is_text { "text" } else { "automatic" }, "memoryTools": "all",
            "worldWritable": [""], "maxFacts": 100, "compactAfterTurns": 0, "fallbackLines": ["Hm."],
            "extraInstructions": format!("oam-script: {}", Value::from(steps))})
    }
}

impl Turn {
    fn new(rng: &mut Rng, name: &str) -> Self {
        let emotion = *rng.choice(&["neutral", "happy", "sad", "proud"]).expect("there are four");
        let mut maybe = |what: &str| rng.bool().then(|| format!("{what} of {name}"));
        let (fact, written, look) =
            (maybe("fact"), maybe("write").map(|text| text.replace(' ', "_")), maybe("look"));
        let delta = rng.bool().then(|| rng.i64(-5..=5));
        let (line, chunks) = (words(rng), rng.usize(1..=12));
        Self { emotion, line, chunks, fact, delta, written, look, is_refused: false }
    }

    fn calls(&self) -> Vec<Value> {
        let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
        let mut calls = Vec::new();
        calls.extend(self.fact.iter().map(|fact| call("remember_fact", json!({"fact": fact}))));
        let feel = |delta| call("change_relationship", json!({"reason": "So.", "delta": delta}));
        calls.extend(self.delta.map(feel));
        let write = |path| call("update_world_state", json!({"path": path, "value": "done"}));
        calls.extend(self.written.iter().map(write));
        calls.extend(self.look.iter().map(|word| call(TOOL, json!({"word": word}))));
        calls
    }

    fn script(&self, is_text: bool) -> Vec<Value> {
        if self.is_refused {
            return vec![json!({"error": "refusal"})];
        }
        let calls = self.calls();
        let mut steps = Vec::new();
        if !calls.is_empty() {
            steps.push(json!({"toolCalls": calls}));
        }
        steps.push(json!({"text": self.said(is_text), "chunks": self.chunks}));
        steps
    }

    /// The model's words.
    fn said(&self, is_text: bool) -> String {
        let Self { emotion, line, .. } = self;
        if is_text {
            format!("[{emotion}] {line}")
        } else {
            json!({"emotion": emotion, "line": line, "player_options": ["Yes", "No"], "ends_conversation": false})
                .to_string()
        }
    }
}

/// What a life has come to so far.
#[derive(Default)]
struct Sofar {
    turns: usize,
    facts: Vec<String>,
    relationship: i64,
    /// Changes of the world that are certain.
    changes: u64,
}

impl Phase<'_> {
    /// Lives through one NPC.
    pub(super) fn live_as_npc(&self, name: &str, rng: &mut Rng) -> Result<(), String> {
        let part = Part::new(rng, name);
        self.client.ok("world/create", json!({"world": name, "state": {"clock": 0}}))?;
        self.client.ok("world/subscribe", json!({"world": name}))?;
        let options = part.options();
        self.client.ok(
            "npc/create",
            json!({"npc": name, "persona": {"name": "Gorm"}, "world": name, "tools": [tool()], "options": options}),
        )?;
        let lived = self.play(name, &part, rng)?;
        let told = self.client.take_world_changes(name);
        if let Some(sofar) = lived {
            self.check_npc(name, &sofar, told)?;
            self.client.ok("npc/delete", json!({"npc": name}))?;
        }
        self.tally.writes.fetch_add(told, std::sync::atomic::Ordering::Relaxed);
        self.client.ok("world/delete", json!({"world": name})).map(drop)
    }

    /// Plays all turns; `None` when the NPC was deleted meanwhile.
    fn play(&self, name: &str, part: &Part, rng: &mut Rng) -> Result<Option<Sofar>, String> {
        let mut sofar = Sofar::default();
        for (number, turn) in part.turns.iter().enumerate() {
            match rng.u32(..6) {
                0 => self.bark(name, &part.turns[0].said(part.is_text), rng)?,
                1 => self.decide(name, rng)?,
                2 => {
                    let clock = json!({"world": name, "path": "clock", "value": number + 1});
                    sofar.changes += 1;
                    let version = self.client.ok("world/set", clock)?["version"].clone();
                    if version != sofar.changes {
                        return Err(format!("version {version} after {} changes", sofar.changes));
                    }
                }
                _ => {}
            }
            loop {
                match self.line(name, turn, &mut sofar, rng)? {
                    Ended::Spoken => break,
                    Ended::Undone => {}
                    Ended::Deleted => return Ok(None),
                }
            }
        }
        Ok(Some(sofar))
    }

    /// A try of a turn.
    fn line(&self, name: &str, turn: &Turn, sofar: &mut Sofar, rng: &mut Rng) -> Result<Ended, String> {
        let (line, is_meant) = self.spoilt(format!("{name} turn {}", sofar.turns), rng);
        let is_streamed = rng.bool();
        let params = json!({"npc": name, "line": line, "stream": is_streamed});
        let closed_before = self.client.worker_event_count("breakerClosed");
        let start = Instant::now();
        let exchange = self.client.request("npc/talk", params)?;
        let mut interruption = Interruption::maybe(rng, Owner::Npc(name));
        let mut heard = Ear::default();
        let answer = loop {
            interruption.come(self.client, rng)?;
            match exchange.next()? {
                Heard::Answer(answer) => break answer,
                Heard::ToolCall(call) => heard.tool_call(&call, turn.look.as_deref(), self)?,
                Heard::Event(event) => heard.event(&event)?,
                Heard::ToolCancel => {}
            }
        };
        self.took(start.elapsed());
        let was_cancelled = answer.as_ref().is_err_and(|error| error.name == "cancelled");
        let is_deleted = interruption.settle(was_cancelled)?;
        let ended = match answer {
            Ok(result) => {
                self.turn();
                count(&self.tally.lines);
                heard
                    .check(turn, &result, is_streamed)
                    .map_err(|why| format!("{line:?}: {why}: {result}"))?;
                sofar.add(turn, &result).map_err(|why| format!("{line:?}: {why}: {result}"))?;
                Ended::Spoken
            }
            Err(error) => {
                self.undone(false, &error, is_meant, closed_before)
                    .map_err(|why| format!("{line:?}: {why}"))?;
                Ended::Undone
            }
        };
        Ok(if is_deleted { Ended::Deleted } else { ended })
    }

    /// A prompt, perhaps with the word of a fault; and whether it may go wrong.
    fn spoilt(&self, mut prompt: String, rng: &mut Rng) -> (String, bool) {
        let word = self.trouble.word(rng, self.crash_rate, count(&self.tally.tries) - 1);
        let is_meant = word.is_some() || self.trouble.strikes_blindly();
        if let Some(word) = word {
            prompt.push(' ');
            prompt.push_str(&word);
        }
        (prompt, is_meant)
    }

    fn bark(&self, name: &str, expected: &str, rng: &mut Rng) -> Result<(), String> {
        let (situation, is_meant) = self.spoilt(format!("{name} barks"), rng);
        let closed_before = self.client.worker_event_count("breakerClosed");
        match self.client.call("npc/bark", json!({"npc": name, "situation": situation}))? {
            Ok(result) if result["line"] == expected => {
                self.turn();
                count(&self.tally.barks);
                Ok(())
            }
            Ok(result) => Err(format!("it should have barked {expected:?}: {result}")),
            Err(error) => self.excused(&error, is_meant, closed_before, &situation),
        }
    }

    fn decide(&self, name: &str, rng: &mut Rng) -> Result<(), String> {
        let (situation, is_meant) = self.spoilt(format!("{name} decides"), rng);
        let word = rng.bool().then(|| situation.clone());
        let mut steps = Vec::new();
        if let Some(word) = &word {
            steps.push(json!({"toolCalls": [{"name": TOOL, "arguments": {"word": word}}]}));
        }
        steps.push(json!({"json": {"reasoning": "So.", "choice": "stay", "confidence": 60}}));
        let params = json!({"situation": situation, "options": ["go", "stay"], "actor": name, "tools": [tool()],
            "instructions": format!("Decide.\noam-script: {}", Value::from(steps))});
        let closed_before = self.client.worker_event_count("breakerClosed");
        let exchange = self.client.request("decision/decide", params)?;
        let mut heard = Ear::default();
        let answer = loop {
            match exchange.next()? {
                Heard::Answer(answer) => break answer,
                Heard::ToolCall(call) => heard.tool_call(&call, word.as_deref(), self)?,
                Heard::ToolCancel => {}
                Heard::Event(event) => return Err(format!("a decision has no events: {event}")),
            }
        };
        match answer {
            Ok(result) => {
                let calls = result["toolCalls"].as_array().map_or(0, Vec::len);
                if result["optionID"] != "stay"
                    || calls != usize::from(word.is_some())
                    || calls != heard.looked.len()
                {
                    return Err(format!("{situation:?}: it is not the script's decision: {result}"));
                }
                self.turn();
                count(&self.tally.decisions);
                Ok(())
            }
            Err(error) => self.excused(&error, is_meant, closed_before, &situation),
        }
    }

    /// Lets go of a bark or a decision that had a reason to fail.
    fn excused(
        &self,
        error: &RpcError,
        is_meant: bool,
        closed_before: u64,
        what: &str,
    ) -> Result<(), String> {
        self.undone(false, error, is_meant, closed_before).map_err(|why| format!("{what:?}: {why}"))
    }

    /// Checks what a life has left behind. `told` is how many changes of the world were told.
    fn check_npc(&self, name: &str, sofar: &Sofar, told: u64) -> Result<(), String> {
        let state = self.client.ok("npc/state", json!({"npc": name}))?["state"].clone();
        let memory = json!({"facts": sofar.facts, "relationship": sofar.relationship});
        if state["memory"] != memory {
            return Err(format!("it remembers {} instead of {memory}", state["memory"]));
        }
        let entries = state["transcript"]["transcript"]["entries"].as_array().map_or(&[][..], Vec::as_slice);
        let prompts = entries.iter().filter(|entry| entry["role"] == "user").count();
        if prompts != sofar.turns {
            return Err(format!("{prompts} prompts in its conversation of {} turns", sofar.turns));
        }
        let version = self.client.ok("world/get", json!({"world": name, "path": ""}))?["version"].clone();
        if version != sofar.changes || told != sofar.changes {
            let expected = sofar.changes;
            return Err(format!("{expected} changes of its world make version {version}, {told} were told"));
        }
        Ok(())
    }
}

fn tool() -> Value {
    json!({"name": TOOL, "description": "Looks around.", "parameters":
        {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}})
}

impl Sofar {
    /// Takes in a turn that was answered.
    fn add(&mut self, turn: &Turn, result: &Value) -> Result<(), String> {
        if !turn.is_refused {
            self.turns += 1;
            self.facts.extend(turn.fact.clone());
            self.relationship += turn.delta.unwrap_or(0);
            self.changes += u64::from(turn.written.is_some());
        }
        if result["relationship"] == self.relationship {
            Ok(())
        } else {
            Err(format!("the relationship should be {}", self.relationship))
        }
    }
}

/// What a client hears and does in a turn.
#[derive(Default)]
struct Ear {
    started: Vec<String>,
    completed: Vec<String>,
    /// What the client's tool was asked for.
    looked: HashSet<String>,
}

impl Ear {
    /// The monitor has seen that lines and emotions add up.
    fn event(&mut self, event: &Value) -> Result<(), String> {
        let (list, call) = match event["type"].as_str() {
            Some("toolCallStarted") => (&mut self.started, &event["call"]),
            Some("toolCallCompleted") => (&mut self.completed, &event["record"]["call"]),
            _ => return Ok(()),
        };
        list.push(call["id"].as_str().ok_or("a call without an id")?.to_owned());
        Ok(())
    }

    fn tool_call(
        &mut self,
        call: &ToolCall,
        expected: Option<&str>,
        phase: &Phase<'_>,
    ) -> Result<(), String> {
        let word = call.arguments["word"].as_str().unwrap_or_default();
        if call.name != TOOL || expected != Some(word) {
            return Err(format!("no script says this call: {call:?}"));
        }
        if !self.looked.insert(word.to_owned()) {
            return Err(format!("the same tool call came twice: {call:?}"));
        }
        count(&phase.tally.executions);
        phase.client.reply(call, "seen")
    }

    /// Checks the result of a turn.
    fn check(mut self, turn: &Turn, result: &Value, is_streamed: bool) -> Result<(), String> {
        let calls = if turn.is_refused { Vec::new() } else { turn.calls() };
        let records = result["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
        let (mut expected, mut made): (Vec<_>, Vec<_>) = (
            calls.iter().map(ToString::to_string).collect(),
            records
                .iter()
                .map(|record| json!({"name": record["call"]["name"], "arguments": record["call"]["arguments"]}))
                .map(|call| call.to_string())
                .collect(),
        );
        expected.sort_unstable();
        made.sort_unstable();
        self.started.sort_unstable();
        self.completed.sort_unstable();
        let told = if is_streamed { calls.len() } else { 0 };
        let line = if turn.is_refused { "Hm." } else { &turn.line };
        let rules = [
            (result["line"] == line, "the line is not the script's"),
            (result["isFallback"] == turn.is_refused, "it is a fallback line where it should not be"),
            (turn.is_refused || result["emotion"] == turn.emotion, "the emotion is not the script's"),
            (expected == made, "the tool calls are not the script's"),
            (records.iter().all(|record| record["isError"] == false), "a tool failed"),
            (
                self.looked.len() == usize::from(turn.look.is_some() && !turn.is_refused),
                "the client was not asked",
            ),
            (self.started.len() == told && self.started == self.completed, "the tool events do not add up"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err((*rule).to_owned()))
    }
}
