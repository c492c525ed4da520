//! What tests ask of NPCs.

use serde_json::{Value, json};

use crate::{Id, Oam, client::merge};

impl Oam {
    /// Creates NPC `id`, called Gorm, on a scripted model that plays `steps`.
    pub fn npc(&mut self, id: &str, steps: impl IntoIterator<Item = Value>) {
        self.npc_with(id, steps, json!({}));
    }

    /// The same with further parameters of `npc/create`; returns its result.
    pub fn npc_with(&mut self, id: &str, steps: impl IntoIterator<Item = Value>, params: Value) -> Value {
        let steps: Vec<_> = steps.into_iter().collect();
        let model = json!({"type": "scripted", "steps": steps});
        let mut all = json!({"npc": id, "persona": {"name": "Gorm"}, "model": model});
        merge(&mut all, params);
        self.ok("npc/create", all)
    }

    /// Says something to an NPC, which must answer.
    pub fn talk(&mut self, npc: &str, line: &str) -> Value {
        self.talk_with(npc, line, json!({}))
    }

    /// The same with further parameters of `npc/talk`.
    pub fn talk_with(&mut self, npc: &str, line: &str, params: Value) -> Value {
        let id = self.start_talk_with(npc, line, params);
        self.wait_ok(&id)
    }

    /// Sends an `npc/talk` and goes on.
    pub fn start_talk(&mut self, npc: &str, line: &str) -> Id {
        self.start_talk_with(npc, line, json!({}))
    }

    /// The same with further parameters.
    pub fn start_talk_with(&mut self, npc: &str, line: &str, params: Value) -> Id {
        let mut all = json!({"npc": npc, "line": line});
        merge(&mut all, params);
        self.request("npc/talk", all)
    }

    /// Says something to an NPC, which must answer, and listens. Returns the result and the events.
    pub fn talk_streamed(&mut self, npc: &str, line: &str) -> (Value, Vec<Value>) {
        let id = self.start_talk_with(npc, line, json!({"stream": true}));
        let result = self.wait_ok(&id);
        (result, self.events(&id))
    }

    /// What `npc/list` says of an NPC.
    pub fn listed_npc(&mut self, npc: &str) -> Value {
        let list = self.ok("npc/list", json!({}));
        let found = list["npcs"].as_array().and_then(|all| all.iter().find(|one| one["npc"] == npc));
        found.cloned().unwrap_or(Value::Null)
    }

    /// The `state` of `npc/state`, settled.
    pub fn saved_npc(&mut self, npc: &str) -> Value {
        self.ok("npc/state", json!({"npc": npc}))["state"].clone()
    }

    /// The entries of an NPC's conversation, settled, without the instructions.
    pub fn npc_entries(&mut self, npc: &str) -> Vec<Value> {
        conversation(&self.saved_npc(npc)).to_vec()
    }

    /// The prompts of an NPC's conversation, settled.
    pub fn npc_prompts(&mut self, npc: &str) -> Vec<String> {
        let entries = self.npc_entries(npc);
        let prompts = entries.iter().filter(|entry| entry["role"] == "user");
        prompts.map(|prompt| prompt["contents"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The instructions of an NPC's last turn.
    pub fn npc_instructions(&mut self, npc: &str) -> String {
        let state = self.saved_npc(npc);
        state["transcript"]["transcript"]["entries"][0]["contents"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// The entries of a saved NPC's conversation, without the instructions.
pub fn conversation(state: &Value) -> &[Value] {
    let entries = state["transcript"]["transcript"]["entries"].as_array().map_or(&[][..], Vec::as_slice);
    match entries {
        [first, rest @ ..] if first["role"] == "instructions" => rest,
        all => all,
    }
}

/// Plays the events of a turn like a game does. Returns the emotion and the line that it shows in the end.
pub fn played(events: &[Value]) -> (Option<String>, String) {
    let (mut emotion, mut line) = (None, String::new());
    for event in events {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        match event["type"].as_str().unwrap() {
            "emotion" => emotion = Some(text("emotion")),
            "lineDelta" => line += &text("delta"),
            "lineReset" => line = text("line"),
            _ => {}
        }
    }
    (emotion, line)
}
