//! One session after another, each lived through and checked turn by turn.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use fastrand::Rng;
use oam_tests::{RpcError, ToolCall};
use serde_json::{Value, json};

use super::{
    client::{Client, Heard},
    interruption::{Interruption, Owner},
    life::{Life, TOOL, Turn},
    trouble::Trouble,
};

/// How many crashes of its own a step may cause (`oam stdio --max-step-crashes`).
pub(crate) const MAX_STEP_CRASHES: u64 = 3;

/// How long a client waits that was told that the model is unavailable.
const PATIENCE: Duration = Duration::from_millis(20);

/// What the sessions of a phase share.
pub(crate) struct Phase<'a> {
    pub(crate) client: &'a Client,
    pub(crate) trouble: Trouble,
    pub(crate) crash_rate: f64,
    /// Turns still to be played.
    pub(crate) turns_left: AtomicI64,
    pub(crate) tally: &'a Tally,
    /// Some session has failed.
    pub(crate) is_over: AtomicBool,
}

/// What happened to turns.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) turns: AtomicU64,
    /// Turns begun.
    pub(crate) tries: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) quarantined: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) sessions: AtomicU64,
    /// The slowest turn, in microseconds.
    pub(crate) slowest: AtomicU64,
    /// Tools executed.
    pub(crate) executions: AtomicU64,
    /// Turns of NPCs.
    pub(crate) lines: AtomicU64,
    pub(crate) barks: AtomicU64,
    pub(crate) decisions: AtomicU64,
    /// Changes of worlds.
    pub(crate) writes: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::Relaxed) + 1
}

/// A turn that is part of the conversation.
struct Committed {
    prompt: String,
    /// What the tool returned, in the order of the calls' outputs.
    outputs: Vec<String>,
    text: String,
    structured: Option<Value>,
}

/// How a try of a turn ended.
enum Ended {
    Committed(Committed),
    /// It left no trace, and the script is where it was.
    Undone,
    /// The session is no more.
    Deleted,
}

impl Phase<'_> {
    /// Lives through sessions and NPCs until the turns are used up.
    pub(crate) fn live(&self, number: u64, mut rng: Rng) -> Result<(), String> {
        for life in 0.. {
            if self.turns_left.load(Ordering::Relaxed) <= 0 || self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let is_npc = rng.u32(..3) == 0;
            let name = format!("{}{number}-{life}", if is_npc { "n" } else { "s" });
            let lived =
                if is_npc { self.live_as_npc(&name, &mut rng) } else { self.live_once(&name, &mut rng) };
            let told = lived.map_err(|why| format!("{}: {name}: {why}", self.trouble.name()));
            if told.is_err() {
                self.is_over.store(true, Ordering::Relaxed);
                return told;
            }
            count(&self.tally.sessions);
        }
        Ok(())
    }

    fn live_once(&self, name: &str, rng: &mut Rng) -> Result<(), String> {
        let life = Life::new(rng, name);
        let tool = json!({"name": TOOL, "description": "Looks around.", "parameters":
            {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}});
        self.client.ok(
            "session/create",
            json!({"session": name, "instructions": life.instructions(rng), "tools": [tool]}),
        )?;
        let mut conversation = Vec::new();
        for (number, turn) in life.turns.iter().enumerate() {
            for attempt in 0.. {
                let mut prompt = format!("{name} turn {number} try {attempt}");
                let word = self.trouble.word(rng, self.crash_rate, count(&self.tally.tries) - 1);
                if let Some(word) = &word {
                    prompt.push(' ');
                    prompt.push_str(word);
                }
                let is_meant = word.is_some() || self.trouble.strikes_blindly();
                match self.attempt(name, turn, prompt, is_meant, rng)? {
                    Ended::Committed(turn) => conversation.push(turn),
                    Ended::Undone if matches!(turn, Turn::Refusal) => {}
                    Ended::Undone => continue,
                    Ended::Deleted => return Ok(()),
                }
                break;
            }
        }
        let transcript = self.client.ok("session/transcript", json!({"session": name}))?;
        check_transcript(&transcript, &conversation)?;
        self.client.ok("session/delete", json!({"session": name})).map(drop)
    }

    fn attempt(
        &self,
        session: &str,
        turn: &Turn,
        prompt: String,
        is_meant: bool,
        rng: &mut Rng,
    ) -> Result<Ended, String> {
        let mut params = json!({"session": session, "prompt": prompt, "stream": rng.bool()});
        if let Some(schema) = turn.schema() {
            params["schema"] = schema;
        }
        let is_streamed = params["stream"] == true;
        let closed_before = self.client.worker_event_count("breakerClosed");
        let start = Instant::now();
        let exchange = self.client.request("session/respond", params)?;
        let mut interruption = Interruption::maybe(rng, Owner::Session(session));
        let mut heard = Listener::default();
        let answer = loop {
            interruption.come(self.client, rng)?;
            match exchange.next()? {
                Heard::Answer(answer) => break answer,
                Heard::ToolCall(call) => heard.tool_call(call, turn, self, rng)?,
                Heard::Event(event) => heard.event(&event),
                Heard::ToolCancel => {}
            }
        };
        self.took(start.elapsed());
        let was_cancelled = answer.as_ref().is_err_and(|error| error.name == "cancelled");
        let is_deleted = interruption.settle(was_cancelled)?;
        let ended = match answer {
            Ok(result) => {
                self.turn();
                heard
                    .check(turn, &prompt, &result, is_streamed)
                    .map_err(|why| format!("{prompt:?}: {why}: {result}"))?;
                Ended::Committed(Committed {
                    prompt,
                    outputs: heard.outputs_of(&result),
                    text: result["text"].as_str().unwrap_or_default().to_owned(),
                    structured: result.get("structured").cloned(),
                })
            }
            Err(error) => {
                self.undone(matches!(turn, Turn::Refusal), &error, is_meant, closed_before)
                    .map_err(|why| format!("{prompt:?}: {why}"))?;
                Ended::Undone
            }
        };
        Ok(if is_deleted { Ended::Deleted } else { ended })
    }

    pub(super) fn turn(&self) {
        self.turns_left.fetch_sub(1, Ordering::Relaxed);
        count(&self.tally.turns);
    }

    pub(super) fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.tally.slowest.fetch_max(micros, Ordering::Relaxed);
    }

    /// Checks that a turn had a reason to fail like this. `is_refusal`: its script says so.
    pub(super) fn undone(
        &self,
        is_refusal: bool,
        error: &RpcError,
        is_meant: bool,
        closed_before: u64,
    ) -> Result<(), String> {
        match error.name.as_str() {
            "refusal" if is_refusal => self.turn(),
            "cancelled" => {
                self.turn();
                count(&self.tally.cancelled);
            }
            "generation_failed" if is_meant && error.data["workerCrashes"] == MAX_STEP_CRASHES => {
                self.turn();
                count(&self.tally.quarantined);
            }
            // The breaker was open at some moment of the turn.
            "model_unavailable"
                if error.data["retryAfterSeconds"].is_u64()
                    && self.client.worker_event_count("breakerOpened") > closed_before =>
            {
                count(&self.tally.refused);
                std::thread::sleep(PATIENCE);
            }
            _ => return Err(format!("it has no reason to end so: {error:?}")),
        }
        Ok(())
    }
}

/// What a client hears and does in a turn.
#[derive(Default)]
struct Listener {
    model_steps: usize,
    started: usize,
    completed: usize,
    streamed: String,
    partial: Option<Value>,
    /// What the tool returned for each word.
    outputs: HashMap<String, String>,
    held: Vec<(ToolCall, String)>,
}

impl Listener {
    fn event(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("modelStep") => self.model_steps += 1,
            Some("toolCallStarted") => self.started += 1,
            Some("toolCallCompleted") => self.completed += 1,
            // The monitor has seen that deltas and resets add up to it.
            Some("text") => event["text"].as_str().unwrap_or_default().clone_into(&mut self.streamed),
            Some("partial") => self.partial = Some(event["value"].clone()),
            _ => {}
        }
    }

    /// Executes the tool, which must not have been asked for this before. Of several calls some are answered late
    /// and in another order.
    fn tool_call(
        &mut self,
        call: ToolCall,
        turn: &Turn,
        phase: &Phase<'_>,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let Turn::Tools { words } = turn else { return Err(format!("it called a tool: {call:?}")) };
        let word = call.arguments["word"].as_str().unwrap_or_default().to_owned();
        if call.name != TOOL || !words.contains(&word) {
            return Err(format!("no script says this call: {call:?}"));
        }
        let output = format!("{word} for the {}th time", count(&phase.tally.executions));
        if self.outputs.insert(word, output.clone()).is_some() {
            return Err(format!("the same tool call came twice: {call:?}"));
        }
        if self.outputs.len() < words.len() && rng.bool() {
            self.held.push((call, output));
            return Ok(());
        }
        phase.client.reply(&call, &output)?;
        if self.outputs.len() == words.len() {
            rng.shuffle(&mut self.held);
            for (call, output) in self.held.drain(..) {
                phase.client.reply(&call, &output)?;
            }
        }
        Ok(())
    }

    /// Checks the result of a turn.
    fn check(&self, turn: &Turn, prompt: &str, result: &Value, is_streamed: bool) -> Result<(), String> {
        let text = result["text"].as_str().ok_or("it has no text")?;
        let is_right = match turn {
            Turn::Text { text: said, .. } => text == said,
            Turn::Echo => text.strip_suffix(" you say") == Some(prompt),
            Turn::Tools { words } => {
                let (mut told, mut returned): (Vec<_>, Vec<_>) =
                    (text.lines().collect(), self.outputs.values().map(String::as_str).collect());
                told.sort_unstable();
                returned.sort_unstable();
                returned.len() == words.len() && told == returned
            }
            Turn::Structured { value } => {
                result["structured"] == *value
                    && serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value)
            }
            Turn::Refusal => false,
        };
        let count = |name: &str| result[name].as_array().map_or(0, Vec::len);
        let output_tokens = turn.output_tokens().map(|tokens| json!(tokens));
        let rules = [
            (is_right, "the answer is not the script's"),
            (count("steps") == turn.steps(), "the steps do not add up"),
            (count("toolCalls") == self.outputs.len(), "the tool calls do not add up"),
            (
                output_tokens.is_none_or(|tokens| result["usage"]["outputTokens"] == tokens),
                "the usage does not add up",
            ),
            (!is_streamed || self.model_steps == turn.steps(), "the modelStep events do not add up"),
            (
                !is_streamed || (self.started == self.outputs.len() && self.completed == self.outputs.len()),
                "the tool events do not add up",
            ),
            (
                !is_streamed || result.get("structured").is_some() || self.streamed == text,
                "what was streamed is not the answer",
            ),
            (
                self.partial.as_ref().is_none_or(|partial| grows_into(partial, &result["structured"])),
                "the last partial does not grow into the answer",
            ),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err((*rule).to_owned()))
    }

    fn outputs_of(&self, result: &Value) -> Vec<String> {
        if self.outputs.is_empty() {
            Vec::new()
        } else {
            result["text"].as_str().unwrap_or_default().lines().map(str::to_owned).collect()
        }
    }
}

/// Whether a structured answer may be this beginning of it: a step that is played again says no more on the way.
fn grows_into(beginning: &Value, whole: &Value) -> bool {
    match (beginning, whole) {
        (Value::Object(some), Value::Object(all)) => {
            some.iter().all(|(name, value)| all.get(name).is_some_and(|whole| grows_into(value, whole)))
        }
        (Value::String(beginning), Value::String(whole)) => whole.starts_with(beginning),
        (beginning, whole) => beginning == whole,
    }
}

/// Checks that a transcript holds these turns and nothing else, in order.
fn check_transcript(result: &Value, conversation: &[Committed]) -> Result<(), String> {
    let entries = result["transcript"]["transcript"]["entries"].as_array().ok_or("no entries")?;
    let mut entries = entries.iter().filter(|entry| entry["role"] != "instructions");
    let mut next = |what: &str| entries.next().ok_or_else(|| format!("the transcript ends before {what}"));
    let wrong = |what: &str, entry: &Value| format!("the transcript has {entry} in the place of {what}");
    for turn in conversation {
        let prompt = next(&turn.prompt)?;
        if prompt["role"] != "user" || prompt["contents"][0]["text"] != *turn.prompt {
            return Err(wrong(&turn.prompt, prompt));
        }
        if !turn.outputs.is_empty() {
            let calls = next("tool calls")?;
            let mut open: Vec<_> =
                calls["toolCalls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect();
            if open.len() != turn.outputs.len() {
                return Err(wrong("tool calls", calls));
            }
            for output in &turn.outputs {
                let entry = next(output)?;
                let call = open.iter().position(|id| **id == entry["toolCallID"]);
                match call {
                    Some(call) if entry["contents"][0]["text"] == **output => open.swap_remove(call),
                    _ => return Err(wrong(output, entry)),
                };
            }
        }
        let answer = next(&turn.text)?;
        let content = &answer["contents"][0];
        let is_right = match &turn.structured {
            Some(value) => content["structure"]["content"] == *value,
            None => content["text"] == *turn.text,
        };
        if answer["role"] != "response" || !is_right {
            return Err(wrong(&turn.text, answer));
        }
    }
    match entries.next() {
        Some(more) => Err(format!("the transcript has more: {more}")),
        None => Ok(()),
    }
}
