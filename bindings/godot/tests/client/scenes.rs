//! The scenes that all bindings play (bindings/testdata/README.md), through the client that the nodes ask through.

use std::{collections::HashMap, time::Duration};

use oam_godot::client::{RequestError, ToolAnswer};
use serde_json::{Map, Value, json};

use crate::{
    game::{Game, Handler, Ticket},
    testdata::{self, check, text},
};

#[test]
fn all_scenes_go_as_written() {
    testdata::play_all(Stage::set, Stage::play);
}

struct Stage {
    game: Game,
    /// Definitions of tools that are handed on without a handler.
    unregistered: HashMap<String, Value>,
    /// Steps that were begun under a name.
    begun: HashMap<String, (Ticket, Value)>,
    saved: HashMap<String, Value>,
    subscriptions: HashMap<String, (Ticket, Value)>,
}

impl Stage {
    fn set(scene: &Value) -> Self {
        let mut stage = Self {
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

    fn play(&mut self, step: &Value) {
        match text(step, "do") {
            "finish" => {
                let (ticket, begun) = self.begun.remove(text(step, "what")).unwrap();
                self.finish(&begun, ticket, step);
            }
            "callBlocking" => {
                let limit = step["timeoutSeconds"].as_f64().map(Duration::from_secs_f64);
                let outcome = self.game.client.call(testdata::method(step), self.params(step), limit);
                testdata::check_outcome(step, &outcome.map_err(|error| as_compared(&error)));
            }
            "handled" => self.check_handled(step),
            "cancelled" => {
                let (tool, count) = (text(step, "tool"), step["count"].as_u64().unwrap());
                let count_of =
                    |game: &Game| game.cancelled.iter().filter(|name| *name == tool).count() as u64;
                self.game.pump_until(|game| count_of(game) >= count);
                assert_eq!(count_of(&self.game), count);
            }
            "changes" => {
                let (ticket, _) = self.subscriptions[text(step, "as")];
                let changes = self.game.changes.get(&ticket).map_or(&[][..], Vec::as_slice);
                check(&step["changes"], &changes.iter().map(change_as_notified).collect());
            }
            "subscribe" => {
                let ticket = self.begin(step);
                let subscription = testdata::result_of(step, self.game.finish(ticket).unwrap());
                self.subscriptions.insert(text(step, "as").to_owned(), (ticket, subscription));
            }
            "unsubscribe" => {
                let (_, subscription) = &self.subscriptions[text(step, "as")];
                let params = json!({"subscription": subscription});
                self.game.ask(testdata::method(step), params).unwrap();
            }
            _ => {
                let ticket = self.begin(step);
                match step["start"].as_str() {
                    Some(name) => {
                        self.begun.insert(name.to_owned(), (ticket, step.clone()));
                    }
                    None => self.finish(step, ticket, step),
                }
            }
        }
    }

    fn begin(&mut self, step: &Value) -> Ticket {
        let params = self.params(step);
        self.game.begin(testdata::method(step), params)
    }

    fn params(&self, step: &Value) -> Value {
        let mut params = testdata::params(step, &self.saved);
        if step["do"] != "request" {
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

    /// Compares what came with what `expected`, the step itself or its end, says.
    fn finish(&mut self, begun: &Value, ticket: Ticket, expected: &Value) {
        let outcome = self.game.finish(ticket).map(|result| testdata::result_of(begun, result));
        let outcome = outcome.map_err(|error| as_compared(&error));
        testdata::check_outcome(expected, &outcome);
        if let (Some(name), Ok(result)) = (expected["save"].as_str(), outcome) {
            self.saved.insert(name.to_owned(), result);
        }
        let streamed = self.game.streamed(ticket);
        if let Some(shown) = expected.get("shown") {
            assert_eq!(*shown, streamed.shown);
            assert_eq!(*shown, streamed.deltas);
        }
        if let Some(emotions) = expected.get("emotions") {
            assert_eq!(*emotions, json!(streamed.emotions));
        }
        testdata::check_events(expected, streamed.events.iter().map(String::as_str));
    }

    fn check_handled(&mut self, step: &Value) {
        let expected = step["calls"].as_array().unwrap();
        if step["wait"] == true {
            self.game.pump_until(|game| game.calls.len() >= expected.len());
        }
        let calls = self.game.calls.iter().map(|call| {
            json!({"tool": call.tool, "arguments": call.arguments, "session": call.session, "npc": call.npc})
        });
        check(&step["calls"], &calls.collect());
    }
}

fn as_compared(error: &RequestError) -> Value {
    json!({"code": error.code, "name": error.name, "message": error.message})
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
