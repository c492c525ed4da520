//! The scenes that all bindings play (bindings/testdata/README.md), through the client that the nodes ask through.

use std::{collections::HashMap, time::Duration};

use oam_godot::client::{RequestError, ToolAnswer};
use serde_json::{Map, Value, json};

use crate::game::{Game, Handler, Ticket};

#[test]
fn all_scenes_go_as_written() {
    let scenes: Value = serde_json::from_str(include_str!("../../../testdata/scenes.json")).unwrap();
    let scenes = scenes["scenes"].as_array().unwrap();
    assert!(!scenes.is_empty());
    for scene in scenes {
        Stage::set(scene).play();
    }
}

/// A step that was begun under a name.
struct Begun {
    ticket: Ticket,
    step: Step,
}

/// What is done, and what its result is of the protocol's result.
#[derive(Clone)]
struct Step {
    said: Value,
    result: fn(Value) -> Value,
}

struct Stage {
    /// For the message of a test that fails.
    scene: String,
    steps: Vec<Value>,
    game: Game,
    /// Definitions of tools that are handed on without a handler.
    unregistered: HashMap<String, Value>,
    begun: HashMap<String, Begun>,
    saved: HashMap<String, Value>,
    subscriptions: HashMap<String, (Ticket, Value)>,
}

impl Stage {
    fn set(scene: &Value) -> Self {
        let mut stage = Self {
            scene: text(scene, "name").to_owned(),
            steps: scene["steps"].as_array().unwrap().clone(),
            game: Game::new(),
            unregistered: HashMap::new(),
            begun: HashMap::new(),
            saved: HashMap::new(),
            subscriptions: HashMap::new(),
        };
        for tool in scene["tools"].as_array().into_iter().flatten() {
            stage.add_tool(tool);
        }
        stage
    }

    fn add_tool(&mut self, tool: &Value) {
        let name = text(tool, "name");
        if tool["registered"] == false {
            let definition =
                json!({"name": name, "description": tool["description"], "parameters": tool["parameters"]});
            self.unregistered.insert(name.to_owned(), definition);
            return;
        }
        let limit = tool["timeoutSeconds"].as_f64().map(Duration::from_secs_f64);
        self.game.tools.define(name, text(tool, "description"), tool["parameters"].clone(), limit);
        let answer = &tool["answer"];
        let handler = match (answer.get("output"), answer.get("failure")) {
            (Some(output), _) => Handler::Answers(ToolAnswer::Output(output.clone())),
            (_, Some(message)) => Handler::Answers(ToolAnswer::Failure(message.as_str().unwrap().to_owned())),
            _ => Handler::NeverAnswers,
        };
        self.game.tools.handle(name, handler);
    }

    fn play(mut self) {
        for step in self.steps.clone() {
            self.do_step(&step);
        }
    }

    fn do_step(&mut self, said: &Value) {
        match text(said, "do") {
            "finish" => {
                let begun = self.begun.remove(text(said, "what")).unwrap();
                let outcome = self.game.finish(begun.ticket);
                // Streaming was said where the step began, what must come where it ends.
                let mut expected = said.clone();
                expected["stream"] = begun.step.said["stream"].clone();
                self.check(begun.ticket, &Step { said: expected, ..begun.step }, outcome);
            }
            "callBlocking" => {
                let limit = said["timeoutSeconds"].as_f64().map(Duration::from_secs_f64);
                let outcome = self.game.client.call(text(said, "method"), said["params"].clone(), limit);
                self.compare(said, outcome);
            }
            "handled" => self.check_handled(said),
            "cancelled" => {
                let (tool, count) = (text(said, "tool"), said["count"].as_u64().unwrap());
                let count_of =
                    |game: &Game| game.cancelled.iter().filter(|name| *name == tool).count() as u64;
                self.game.pump_until(|game| count_of(game) >= count);
                assert_eq!(count_of(&self.game), count);
            }
            "changes" => {
                let (ticket, _) = self.subscriptions[text(said, "as")];
                let changes = self.game.changes.get(&ticket).map_or(&[][..], Vec::as_slice);
                let changes: Value = changes.iter().map(change_as_notified).collect();
                self.assert_matches(&said["changes"], &changes);
            }
            "subscribe" => {
                let ticket = self.game.begin("world/subscribe", self.params(said));
                let result = self.game.finish(ticket).unwrap();
                self.subscriptions
                    .insert(text(said, "as").to_owned(), (ticket, result["subscription"].clone()));
            }
            "unsubscribe" => {
                let (_, subscription) = &self.subscriptions[text(said, "as")];
                let params = json!({"subscription": subscription});
                self.game.ask("world/unsubscribe", params).unwrap();
            }
            _ => self.request(said),
        }
    }

    fn request(&mut self, said: &Value) {
        let (method, result) = method_of(said);
        let ticket = self.game.begin(&method, self.params(said));
        let step = Step { said: said.clone(), result };
        if let Some(name) = said["start"].as_str() {
            self.begun.insert(name.to_owned(), Begun { ticket, step });
        } else {
            let outcome = self.game.finish(ticket);
            self.check(ticket, &step, outcome);
        }
    }

    fn params(&self, said: &Value) -> Value {
        let arguments = if said["do"] == "request" { &said["params"] } else { &said["arguments"] };
        let mut params = arguments.as_object().cloned().unwrap_or_default();
        for handle in ["session", "npc", "world"] {
            if let Some(id) = said.get(handle) {
                params.insert(handle.to_owned(), id.clone());
            }
        }
        if said["stream"] == true {
            params.insert("stream".to_owned(), true.into());
        }
        for value in params.values_mut() {
            if let Some(name) = value.get("$saved") {
                *value = self.saved[name.as_str().unwrap()].clone();
            }
        }
        if said["do"] != "request" {
            self.resolve_tools(&mut params);
        }
        params.into()
    }

    fn resolve_tools(&self, params: &mut Map<String, Value>) {
        if let Some(Value::Array(tools)) = params.get_mut("tools") {
            for tool in tools.iter_mut() {
                if let Some(definition) = tool.as_str().and_then(|name| self.unregistered.get(name)) {
                    *tool = definition.clone();
                }
            }
            *tools = self.game.tools.resolve(tools).unwrap();
        }
    }

    fn check(&mut self, ticket: Ticket, step: &Step, outcome: Result<Value, RequestError>) {
        let outcome = outcome.map(step.result);
        if let (Some(name), Ok(result)) = (step.said["save"].as_str(), &outcome) {
            self.saved.insert(name.to_owned(), result.clone());
        }
        self.compare(&step.said, outcome);
        let streamed = self.game.streamed(ticket);
        if let Some(shown) = step.said.get("shown") {
            assert_eq!(*shown, streamed.shown);
            assert_eq!(*shown, streamed.deltas);
        }
        if let Some(emotions) = step.said.get("emotions") {
            assert_eq!(*emotions, json!(streamed.emotions));
        }
        let mut came = streamed.events.iter();
        for event in step.said["events"].as_array().into_iter().flatten() {
            assert!(came.any(|kind| event == kind), "{event} among {:?}", streamed.events);
        }
    }

    fn compare(&self, said: &Value, outcome: Result<Value, RequestError>) {
        match (said.get("error"), outcome) {
            (Some(expected), Err(error)) => {
                let error = json!({"code": error.code, "name": error.name, "message": error.message});
                self.assert_matches(expected, &error);
            }
            (None, Ok(result)) => {
                if let Some(expected) = said.get("result") {
                    self.assert_matches(expected, &result);
                }
            }
            (Some(expected), Ok(result)) => {
                panic!("{}: {said}: expected the error {expected}, got {result}", self.scene)
            }
            (None, Err(error)) => panic!("{}: {said}: unexpected error: {error}", self.scene),
        }
    }

    fn assert_matches(&self, expected: &Value, actual: &Value) {
        assert!(matches(expected, actual), "{}: expected {expected}\n     got {actual}", self.scene);
    }

    fn check_handled(&mut self, said: &Value) {
        let expected = said["calls"].as_array().unwrap();
        if said["wait"] == true {
            self.game.pump_until(|game| game.calls.len() >= expected.len());
        }
        let calls: Value = self
            .game
            .calls
            .iter()
            .map(|call| {
                json!({"tool": call.tool, "arguments": call.arguments, "session": call.session, "npc": call.npc})
            })
            .collect();
        self.assert_matches(&said["calls"], &calls);
    }
}

fn change_as_notified(change: &oam_godot::client::Change) -> Value {
    let mut params = json!({"world": change.world, "path": change.path});
    for (name, value) in [("oldValue", &change.old), ("newValue", &change.new)] {
        if let Some(value) = value {
            params[name] = value.clone();
        }
    }
    params
}

/// The protocol's method for a step, and what the step's result is of the method's.
fn method_of(said: &Value) -> (String, fn(Value) -> Value) {
    let (method, result): (&str, fn(Value) -> Value) = match text(said, "do") {
        "request" => (text(said, "method"), |result| result),
        "createSession" => ("session/create", |result| result),
        "createNpc" => ("npc/create", |result| result),
        "createWorld" => ("world/create", |result| result),
        "restoreNpc" => ("npc/restore", |result| result),
        "respond" => ("session/respond", |result| result),
        "transcript" => ("session/transcript", |result| result["transcript"].clone()),
        "resetSession" => ("session/reset", |result| result),
        "deleteSession" => ("session/delete", |result| result),
        "setInstructions" => ("session/setInstructions", |result| result),
        "setContextNote" => ("session/setContextNote", |result| result),
        "setTools" => ("session/setTools", |result| result["warnings"].clone()),
        "cancelSession" => ("session/cancel", |result| result["cancelled"].clone()),
        "compact" => ("session/compact", |result| result["summary"].clone()),
        "talk" => ("npc/talk", |result| result),
        "bark" => ("npc/bark", |result| result["line"].clone()),
        "npcState" => ("npc/state", |result| result["state"].clone()),
        "updateNpc" => ("npc/update", |result| result["warnings"].clone()),
        "resetNpc" => ("npc/reset", |result| result),
        "cancelNpc" => ("npc/cancel", |result| result["cancelled"].clone()),
        "deleteNpc" => ("npc/delete", |result| result),
        "get" => ("world/get", |result| result["value"].clone()),
        "set" => ("world/set", |result| result["version"].clone()),
        "merge" => ("world/merge", |result| result["version"].clone()),
        "remove" => ("world/remove", |result| result["oldValue"].clone()),
        "snapshot" => ("world/snapshot", |result| result["state"].clone()),
        "deleteWorld" => ("world/delete", |result| result),
        "decide" => ("decision/decide", |result| result),
        "decideMany" => ("decision/decideMany", |result| result["results"].clone()),
        "generate" => ("content/generate", |result| result["content"].clone()),
        other => panic!("no such step: {other}"),
    };
    (method.to_owned(), result)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("'{name}' in {value}"))
}

fn matches(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), _) if expected.contains_key("$contains") => {
            let (part, whole) =
                (expected["$contains"].as_str().unwrap(), actual.as_str().unwrap_or_default());
            whole.to_lowercase().contains(&part.to_lowercase())
        }
        (Value::Object(expected), Value::Object(actual)) => match expected.get("$keys") {
            Some(keys) => *keys == actual.keys().cloned().collect::<Value>(),
            None => expected.iter().all(|(name, expected)| match actual.get(name) {
                Some(actual) => matches(expected, actual),
                None => expected.get("$absent").is_some(),
            }),
        },
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| matches(expected, actual))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        _ => expected == actual,
    }
}
