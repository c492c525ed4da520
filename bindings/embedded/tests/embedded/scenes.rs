//! Plays bindings/testdata/scenes.json as a host that speaks the protocol itself; the README beside it tells what the steps
//! mean.

use std::{collections::HashMap, thread, time::Duration};

use oam_embedded::EmbeddedOptions;
use serde_json::{Map, Value, json};

use crate::{
    host::Host,
    testdata::{self, check, text},
};

/// One scene in play.
struct Player {
    host: Host,
    tools: Vec<Value>,
    last_id: u64,
    /// Outcomes that have come and not yet been asked for.
    outcomes: HashMap<u64, Result<Value, Value>>,
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
            outcomes: HashMap::new(),
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
        match text(step, "do") {
            "finish" => {
                let (id, begun) = self.started.remove(text(step, "what")).unwrap();
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
                let (tool, count) = (text(step, "tool"), step["count"].as_u64().unwrap());
                let cancelled =
                    |player: &Self| player.cancelled.iter().filter(|name| *name == tool).count() as u64;
                self.hear_until(|player| cancelled(player) >= count);
                assert_eq!(cancelled(self), count);
            }
            "subscribe" => {
                let id = self.send(step, self.params(step));
                let subscription = testdata::result_of(step, self.outcome(id).unwrap());
                self.subscriptions.insert(text(step, "as").to_owned(), subscription);
            }
            "unsubscribe" => {
                let mut params = self.params(step);
                params.insert("subscription".to_owned(), self.subscriptions[text(step, "as")].clone());
                let id = self.send(step, params);
                self.outcome(id).unwrap();
            }
            "changes" => {
                let subscription = &self.subscriptions[text(step, "as")];
                let heard = self.changes.iter().filter(|change| change["subscription"] == *subscription);
                check(&step["changes"], &heard.cloned().collect());
            }
            _ => {
                let id = self.send(step, self.params(step));
                match step["start"].as_str() {
                    Some(name) => {
                        self.started.insert(name.to_owned(), (id, step.clone()));
                    }
                    None => self.finish(step, id, step),
                }
            }
        }
    }

    /// The params of a step, with tools in place of their names.
    fn params(&self, step: &Value) -> Map<String, Value> {
        let mut params = testdata::params(step, &self.saved);
        if step["do"] != "request"
            && let Some(names) = params.get_mut("tools").and_then(Value::as_array_mut)
        {
            for name in names {
                *name = self.definition(name.as_str().unwrap());
            }
        }
        params
    }

    fn definition(&self, name: &str) -> Value {
        let tool = self.tools.iter().find(|tool| tool["name"] == name).unwrap().as_object().unwrap();
        let of_protocol = ["name", "description", "parameters", "timeoutSeconds"];
        let members = tool.iter().filter(|(name, _)| of_protocol.contains(&name.as_str()));
        Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
    }

    fn send(&mut self, step: &Value, params: Map<String, Value>) -> u64 {
        self.last_id += 1;
        self.host.request(self.last_id, testdata::method(step), &params.into());
        self.last_id
    }

    /// Compares what came with what `expected`, the step itself or its end, says.
    fn finish(&mut self, begun: &Value, id: u64, expected: &Value) {
        let outcome = self.outcome(id).map(|result| testdata::result_of(begun, result));
        testdata::check_outcome(expected, &outcome);
        if let (Some(name), Ok(result)) = (expected["save"].as_str(), outcome) {
            self.saved.insert(name.to_owned(), result);
        }
        let events = self.events.remove(&id).unwrap_or_default();
        check_streamed(expected, &events);
    }

    fn outcome(&mut self, id: u64) -> Result<Value, Value> {
        self.hear_until(|player| player.outcomes.contains_key(&id));
        self.outcomes.remove(&id).unwrap()
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
                self.outcomes.insert(message["id"].as_u64().unwrap(), outcome(message));
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
        let limit = Duration::from_secs_f64(step["timeoutSeconds"].as_f64().unwrap());
        let (method, params) = (testdata::method(step), self.params(step).into());
        let bridge = &self.host;
        let response =
            thread::scope(|scope| scope.spawn(|| bridge.call_within(limit, method, &params)).join());
        testdata::check_outcome(step, &outcome(&response.unwrap()));
    }
}

/// The result of a response, or what is compared of its error.
fn outcome(response: &Value) -> Result<Value, Value> {
    match response.get("error") {
        None => Ok(response["result"].clone()),
        Some(error) => {
            Err(json!({"code": error["code"], "name": error["data"]["code"], "message": error["message"]}))
        }
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
    testdata::check_events(step, events.iter().map(|event| text(event, "type")));
}

#[test]
fn every_scene_plays_as_written() {
    testdata::play_all(Player::new, Player::play);
}
