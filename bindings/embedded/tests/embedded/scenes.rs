//! Plays bindings/testdata/scenes.json as a host that speaks the protocol itself; the README beside it tells what the steps
//! mean.

use std::{
    collections::HashMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use oam_embedded::EmbeddedOptions;
use serde_json::{Map, Value, json};

use crate::host::Host;

/// The method of a step, and the member of the protocol's result that is the step's; none where it is all of it.
const METHODS: &[(&str, &str, Option<&str>)] = &[
    ("createSession", "session/create", None),
    ("createNpc", "npc/create", None),
    ("createWorld", "world/create", None),
    ("restoreNpc", "npc/restore", None),
    ("respond", "session/respond", None),
    ("transcript", "session/transcript", Some("transcript")),
    ("resetSession", "session/reset", None),
    ("deleteSession", "session/delete", None),
    ("setInstructions", "session/setInstructions", None),
    ("setContextNote", "session/setContextNote", None),
    ("setTools", "session/setTools", Some("warnings")),
    ("cancelSession", "session/cancel", Some("cancelled")),
    ("cancelNpc", "npc/cancel", Some("cancelled")),
    ("compact", "session/compact", Some("summary")),
    ("talk", "npc/talk", None),
    ("bark", "npc/bark", Some("line")),
    ("npcState", "npc/state", Some("state")),
    ("updateNpc", "npc/update", Some("warnings")),
    ("resetNpc", "npc/reset", None),
    ("deleteNpc", "npc/delete", None),
    ("deleteWorld", "world/delete", None),
    ("get", "world/get", Some("value")),
    ("remove", "world/remove", Some("oldValue")),
    ("set", "world/set", Some("version")),
    ("merge", "world/merge", Some("version")),
    ("snapshot", "world/snapshot", Some("state")),
    ("decide", "decision/decide", None),
    ("decideMany", "decision/decideMany", Some("results")),
    ("generate", "content/generate", Some("content")),
];

/// One scene in play.
struct Player {
    host: Host,
    tools: Vec<Value>,
    last_id: u64,
    /// Responses that have come and not yet been asked for.
    responses: HashMap<u64, Value>,
    /// Events by the id of their request.
    events: HashMap<u64, Vec<Value>>,
    started: HashMap<String, (u64, Value)>,
    saved: HashMap<String, Value>,
    handled: Vec<Value>,
    /// Open tool calls, by their ids, and the tools whose calls were cancelled.
    open: HashMap<String, String>,
    cancelled: Vec<String>,
    /// Subscriptions by their names in the scene, and what they have heard.
    subscriptions: HashMap<String, Value>,
    changes: Vec<Value>,
}

impl Player {
    fn new(scene: &Value) -> Self {
        Self {
            host: Host::with_options(EmbeddedOptions::default()),
            tools: scene["tools"].as_array().cloned().unwrap_or_default(),
            last_id: 0,
            responses: HashMap::new(),
            events: HashMap::new(),
            started: HashMap::new(),
            saved: HashMap::new(),
            handled: Vec::new(),
            open: HashMap::new(),
            cancelled: Vec::new(),
            subscriptions: HashMap::new(),
            changes: Vec::new(),
        }
    }

    fn play(&mut self, step: &Value) {
        match step["do"].as_str().unwrap() {
            "finish" => {
                let (id, begun) = self.started.remove(step["what"].as_str().unwrap()).unwrap();
                self.finish(&begun, id, step);
            }
            "callBlocking" => self.call_blocking(step),
            "handled" => {
                let expected = step["calls"].as_array().unwrap();
                if step["wait"] == true {
                    self.hear_until(|player| player.handled.len() >= expected.len());
                }
                check(&step["calls"], &json!(self.handled));
            }
            "cancelled" => {
                let (tool, count) = (step["tool"].as_str().unwrap(), step["count"].as_u64().unwrap());
                let cancelled =
                    |player: &Self| player.cancelled.iter().filter(|name| *name == tool).count() as u64;
                self.hear_until(|player| cancelled(player) >= count);
                assert_eq!(cancelled(self), count);
            }
            "subscribe" => {
                let id = self.send("world/subscribe", &self.params(step));
                let result = self.response(id)["result"].clone();
                let name = step["as"].as_str().unwrap().to_owned();
                self.subscriptions.insert(name, result["subscription"].clone());
            }
            "unsubscribe" => {
                let subscription = &self.subscriptions[step["as"].as_str().unwrap()];
                let params = json!({"world": step["world"], "subscription": subscription});
                let id = self.send("world/unsubscribe", &params);
                self.response(id);
            }
            "changes" => {
                let subscription = &self.subscriptions[step["as"].as_str().unwrap()];
                let heard = self.changes.iter().filter(|change| change["subscription"] == *subscription);
                check(&step["changes"], &heard.cloned().collect());
            }
            _ => {
                let id = self.send(method(step), &self.params(step));
                match step["start"].as_str() {
                    Some(name) => {
                        self.started.insert(name.to_owned(), (id, step.clone()));
                    }
                    None => self.finish(step, id, step),
                }
            }
        }
    }

    /// The params of a step: what it says, the handle, and tools in place of their names.
    fn params(&self, step: &Value) -> Value {
        let arguments =
            if step["do"] == "request" || step["do"] == "callBlocking" { "params" } else { "arguments" };
        let mut params = self.filled_in(&step[arguments]).as_object().cloned().unwrap_or_default();
        for handle in ["session", "npc", "world"] {
            if let Some(id) = step.get(handle) {
                params.insert(handle.to_owned(), id.clone());
            }
        }
        if step["stream"] == true {
            params.insert("stream".to_owned(), json!(true));
        }
        if step["do"] != "request"
            && let Some(names) = params.get_mut("tools").and_then(Value::as_array_mut)
        {
            for name in names {
                *name = self.definition(name.as_str().unwrap());
            }
        }
        Value::Object(params)
    }

    fn filled_in(&self, value: &Value) -> Value {
        match value {
            Value::Object(members) => match members.get("$saved").and_then(Value::as_str) {
                Some(name) => self.saved[name].clone(),
                None => members.iter().map(|(name, value)| (name.clone(), self.filled_in(value))).collect(),
            },
            Value::Array(items) => items.iter().map(|item| self.filled_in(item)).collect(),
            other => other.clone(),
        }
    }

    fn definition(&self, name: &str) -> Value {
        let tool = self.tools.iter().find(|tool| tool["name"] == name).unwrap().as_object().unwrap();
        let of_protocol = ["name", "description", "parameters", "timeoutSeconds"];
        let members = tool.iter().filter(|(name, _)| of_protocol.contains(&name.as_str()));
        Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.host.request(self.last_id, method, params);
        self.last_id
    }

    /// Compares what came with what `expected`, the step itself or its end, says.
    fn finish(&mut self, begun: &Value, id: u64, expected: &Value) {
        let response = self.response(id);
        if let Some(result) = checked(expected, &response) {
            let member =
                METHODS.iter().find(|(name, ..)| begun["do"] == *name).and_then(|(.., member)| *member);
            let result = member.map_or_else(|| result.clone(), |member| result[member].clone());
            if let Some(expected) = expected.get("result") {
                check(expected, &result);
            }
            if let Some(name) = expected["save"].as_str() {
                self.saved.insert(name.to_owned(), result);
            }
        }
        let events = self.events.remove(&id).unwrap_or_default();
        check_streamed(expected, &events);
    }

    fn response(&mut self, id: u64) -> Value {
        self.hear_until(|player| player.responses.contains_key(&id));
        self.responses.remove(&id).unwrap()
    }

    fn hear_until(&mut self, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            let message = self.host.next();
            self.hear(&message);
        }
    }

    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            None => {
                self.responses.insert(message["id"].as_u64().unwrap(), message.clone());
            }
            Some("session/event" | "npc/event") => {
                let request = params["requestId"].as_u64().unwrap();
                self.events.entry(request).or_default().push(params["event"].clone());
            }
            Some("world/changed") => self.changes.push(params.clone()),
            Some("tool/call") => self.call_tool(message),
            Some("tool/cancel") => self.cancelled.extend(self.open.remove(params["id"].as_str().unwrap())),
            Some(other) => panic!("an unknown message: {other}"),
        }
    }

    fn call_tool(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        let name = params["call"]["name"].as_str().unwrap();
        let tool = self.tools.iter().find(|tool| tool["name"] == name).unwrap();
        if tool["registered"] == false {
            let error = json!({"code": -32601, "message": format!("There is no tool '{name}'.")});
            return self.host.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        let mut handled = json!({"tool": name, "arguments": params["call"]["arguments"]});
        for owner in ["session", "npc"] {
            handled[owner] = params[owner].clone();
        }
        self.handled.push(handled);
        let answer = &tool["answer"];
        let result = if let Some(failure) = answer.get("failure") {
            json!({"output": failure, "isError": true})
        } else if let Some(output) = answer.get("output") {
            // A host says that there is nothing to tell with an empty text.
            json!({"output": if output.is_null() { json!("") } else { output.clone() }})
        } else {
            self.open.insert(id.as_str().unwrap().to_owned(), name.to_owned());
            return;
        };
        self.host.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn call_blocking(&mut self, step: &Value) {
        let limit = std::time::Duration::from_secs_f64(step["timeoutSeconds"].as_f64().unwrap());
        let (method, params) = (step["method"].as_str().unwrap(), self.params(step));
        let bridge = &self.host;
        let response =
            thread::scope(|scope| scope.spawn(|| bridge.call_within(limit, method, &params)).join());
        if let Some(result) = checked(step, &response.unwrap())
            && let Some(expected) = step.get("result")
        {
            check(expected, result);
        }
    }
}

fn method(step: &Value) -> &str {
    if step["do"] == "request" {
        return step["method"].as_str().unwrap();
    }
    let method = METHODS.iter().find(|(name, ..)| step["do"] == *name);
    method.unwrap_or_else(|| panic!("an unknown step: {step}")).1
}

/// The result of a response; `None` when it is the expected error.
fn checked<'a>(step: &Value, response: &'a Value) -> Option<&'a Value> {
    match (step.get("error"), response.get("error")) {
        (None, None) => Some(&response["result"]),
        (Some(expected), Some(error)) => {
            let error =
                json!({"code": error["code"], "name": error["data"]["code"], "message": error["message"]});
            check(expected, &error);
            None
        }
        _ => panic!("{step}: {response}"),
    }
}

fn check_streamed(step: &Value, events: &[Value]) {
    if let Some(expected) = step.get("shown") {
        let mut shown = String::new();
        for event in events {
            match event["type"].as_str().unwrap() {
                "text" if event["isReset"] == true => event["text"].as_str().unwrap().clone_into(&mut shown),
                "text" | "lineDelta" => shown.push_str(event["delta"].as_str().unwrap()),
                "lineReset" => event["line"].as_str().unwrap().clone_into(&mut shown),
                _ => {}
            }
        }
        assert_eq!(*expected, shown);
    }
    if let Some(expected) = step.get("emotions") {
        let emotions = events.iter().filter(|event| event["type"] == "emotion");
        check(expected, &emotions.map(|event| event["emotion"].clone()).collect());
    }
    let mut types = events.iter().map(|event| &event["type"]);
    for expected in step["events"].as_array().into_iter().flatten() {
        assert!(types.any(|kind| kind == expected), "{expected} is missing among {events:?}");
    }
}

fn check(expected: &Value, actual: &Value) {
    assert!(holds(expected, actual), "expected {expected}\nbut it was {actual}");
}

fn holds(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(members), _) if members.contains_key("$contains") => {
            let part = members["$contains"].as_str().unwrap().to_lowercase();
            actual.as_str().is_some_and(|text| text.to_lowercase().contains(&part))
        }
        (Value::Object(members), Value::Object(actual)) if members.contains_key("$keys") => actual
            .keys()
            .map(String::as_str)
            .eq(members["$keys"].as_array().unwrap().iter().filter_map(Value::as_str)),
        (Value::Object(members), Value::Object(actual)) => {
            members.iter().all(|(name, expected)| match actual.get(name) {
                None => expected["$absent"] == true,
                Some(actual) => expected["$absent"] != true && holds(expected, actual),
            })
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| holds(expected, actual))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        _ => expected == actual,
    }
}

#[test]
fn every_scene_plays_as_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/scenes.json");
    let scenes: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for scene in scenes["scenes"].as_array().unwrap() {
        let mut player = Player::new(scene);
        for (number, step) in scene["steps"].as_array().unwrap().iter().enumerate() {
            let outcome = catch_unwind(AssertUnwindSafe(|| player.play(step)));
            assert!(outcome.is_ok(), "in step {} of the scene {}", number + 1, scene["name"]);
        }
    }
}
