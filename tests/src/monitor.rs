//! The rules that hold for every exchange, checked on every message.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::message::{Id, Message, ToolCall};

/// Watches both directions of one connection and tells the first rule that is broken.
///
/// It remembers only requests and calls that are open, so it can watch a connection of any length.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Unanswered requests. An id may be in use several times.
    open: HashMap<Id, Request>,
    /// Tool calls sent by the bridge that are neither answered nor withdrawn.
    calls: HashMap<String, Option<Id>>,
    /// The highest `t-<n>` seen; each is used once.
    last_call: u64,
    answered: u64,
    /// The client asked to hear of workers.
    hears_of_workers: bool,
}

#[derive(Debug, Default)]
struct Request {
    uses: usize,
    /// The text of a turn, or the line of an NPC, as its events have told it.
    streamed: Option<String>,
    emotion: Option<String>,
    call_ids: HashSet<String>,
}

impl Request {
    /// Takes in an `npc/event`.
    fn hear_npc(&mut self, event: &Value) -> Result<(), String> {
        let text = |name: &str| event[name].as_str().ok_or_else(|| format!("an event without its {name}"));
        let line = self.streamed.get_or_insert_default();
        match event["type"].as_str() {
            Some("emotion") => self.emotion = Some(text("emotion")?.to_owned()),
            Some("lineDelta") if text("delta")?.is_empty() => return Err("a delta of nothing".to_owned()),
            Some("lineDelta") => line.push_str(text("delta")?),
            Some("lineReset") => text("line")?.clone_into(line),
            Some("toolCallStarted") if event["call"].is_object() && event["execution"].is_string() => {}
            Some("toolCallCompleted") if event["record"].is_object() => {}
            _ => return Err("no whole event of an NPC".to_owned()),
        }
        Ok(())
    }
}

impl Monitor {
    /// How many requests have been answered.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// How many requests wait for an answer.
    pub fn open_requests(&self) -> usize {
        self.open.values().map(|request| request.uses).sum()
    }

    /// How many tool calls wait for an answer of the client.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Notes a message on its way to the bridge.
    pub fn sent(&mut self, message: &Value) {
        if message["method"] == "initialize" && message["params"]["client"]["workerEvents"] == true {
            self.hears_of_workers = true;
        }
        let Some(id) = Id::of(&message["id"]) else { return };
        let is_answer = message.get("method").is_none()
            && (message.get("result").is_some() || message.get("error").is_some());
        if is_answer {
            if let Some(id) = message["id"].as_str() {
                self.calls.remove(id);
            }
        } else {
            self.open.entry(id).or_default().uses += 1;
        }
    }

    /// Reads a line of the bridge and checks it.
    ///
    /// # Errors
    /// The rule that the line breaks.
    pub fn received(&mut self, line: &str) -> Result<Message, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        if value["jsonrpc"] != "2.0" {
            return Err("not a JSON-RPC 2.0 message".to_owned());
        }
        let message = Message { value, line: line.to_owned() };
        match message.method() {
            None => self.response(&message)?,
            Some("tool/call") => self.tool_call(&message)?,
            Some("tool/cancel") => self.tool_cancel(&message)?,
            Some("session/event" | "npc/event") => self.event(&message)?,
            Some("world/changed") => world_changed(&message.value["params"])?,
            Some("supervisor/event") if self.hears_of_workers => {}
            Some(other) => return Err(format!("'{other}' is not a message of the bridge")),
        }
        Ok(message)
    }

    fn response(&mut self, message: &Message) -> Result<(), String> {
        let value = &message.value;
        match (value.get("result"), value.get("error")) {
            (Some(_), None) => {}
            (None, Some(error)) => {
                let whole = error["code"].is_i64()
                    && error["message"].is_string()
                    && error["data"]["code"].is_string();
                if !whole {
                    return Err("an error lacks code, message or data.code".to_owned());
                }
            }
            _ => return Err("a response has either a result or an error".to_owned()),
        }
        let Some(id) = message.answers() else {
            return match (&value["id"], value.get("error")) {
                (Value::Null, Some(_)) => Ok(()),
                _ => Err("a response without a usable id".to_owned()),
            };
        };
        let Some(request) = self.open.get_mut(&id) else {
            return Err(format!("a response to {id}, which is not open"));
        };
        if let Some(call) = self.calls.iter().find(|(_, of)| of.as_ref() == Some(&id) && request.uses == 1) {
            return Err(format!("{id} was answered while its call {} was open", call.0));
        }
        let result = &value["result"];
        if let (Some(told), Some(emotion)) = (request.emotion.take(), result["emotion"].as_str())
            && told != emotion
            && request.uses == 1
        {
            return Err(format!("{id} told the emotion {told} but answered {emotion}"));
        }
        let text = result["text"].as_str().or_else(|| result["line"].as_str());
        let streamed = request.streamed.take();
        if let (Some(streamed), Some(text)) = (streamed, text)
            && streamed != text
            && request.uses == 1
        {
            return Err(format!("{id} streamed {streamed:?} but answered {text:?}"));
        }
        request.uses -= 1;
        if request.uses == 0 {
            self.open.remove(&id);
        }
        self.answered += 1;
        Ok(())
    }

    fn tool_call(&mut self, message: &Message) -> Result<(), String> {
        let call = ToolCall::of(&message.value).ok_or("an incomplete tool/call")?;
        let number = call.id.strip_prefix("t-").and_then(|number| number.parse().ok()).unwrap_or(0);
        if number <= self.last_call {
            return Err(format!("tool/call {} comes after t-{}", call.id, self.last_call));
        }
        if !call.arguments.is_object() {
            return Err("the arguments of a tool/call are an object".to_owned());
        }
        self.last_call = number;
        let owner = message.request_id();
        if owner.is_some() && !self.request_of(message)?.call_ids.insert(call.call_id) {
            return Err("two calls with one call id".to_owned());
        }
        self.calls.insert(call.id, owner);
        Ok(())
    }

    /// A call may be withdrawn while its answer is under way, so withdrawing an answered call is no violation.
    fn tool_cancel(&mut self, message: &Message) -> Result<(), String> {
        let params = &message.value["params"];
        let texts = ["id", "callId", "reason"].iter().all(|name| params[name].is_string());
        if !texts {
            return Err("an incomplete tool/cancel".to_owned());
        }
        if message.request_id().is_some() {
            self.request_of(message)?;
        }
        self.calls.remove(params["id"].as_str().unwrap_or_default());
        Ok(())
    }

    fn event(&mut self, message: &Message) -> Result<(), String> {
        if message.request_id().is_none() {
            return Ok(());
        }
        let event = message.event().cloned().unwrap_or_default();
        let request = self.request_of(message)?;
        if request.uses > 1 {
            return Ok(());
        }
        if message.method() == Some("npc/event") {
            return request.hear_npc(&event);
        }
        if event["type"] != "text" {
            return Ok(());
        }
        let (Some(delta), Some(text), Some(reset)) =
            (event["delta"].as_str(), event["text"].as_str(), event["isReset"].as_bool())
        else {
            return Err("an incomplete text event".to_owned());
        };
        let streamed = request.streamed.get_or_insert_default();
        if reset {
            streamed.clear();
        }
        streamed.push_str(delta);
        if streamed != text {
            return Err(format!("the deltas add up to {streamed:?}, the event says {text:?}"));
        }
        Ok(())
    }

    fn request_of(&mut self, message: &Message) -> Result<&mut Request, String> {
        let id = message.request_id().ok_or("no usable requestId")?;
        self.open.get_mut(&id).ok_or_else(|| format!("about request {id}, which is not open"))
    }
}

fn world_changed(params: &Value) -> Result<(), String> {
    let names: Vec<_> = params.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let (texts, values) = names.split_at(names.len().min(3));
    let is_whole = texts == ["world", "subscription", "path"]
        && texts.iter().all(|name| params[name].is_string())
        && matches!(values, ["oldValue" | "newValue"] | ["oldValue", "newValue"]);
    if is_whole { Ok(()) } else { Err("a world/changed has other members than it should".to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Monitor;

    fn after_request_1(lines: &[serde_json::Value]) -> Result<(), String> {
        let mut monitor = Monitor::default();
        monitor.sent(&json!({"jsonrpc": "2.0", "id": 1, "method": "session/respond"}));
        lines.iter().try_for_each(|line| monitor.received(&line.to_string()).map(drop))
    }

    fn event(text: &str, delta: &str, reset: bool) -> serde_json::Value {
        json!({"jsonrpc": "2.0", "method": "session/event", "params": {"session": "s", "requestId": 1,
            "event": {"type": "text", "delta": delta, "text": text, "isReset": reset}}})
    }

    #[test]
    fn a_second_answer_is_a_violation() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        assert_eq!(after_request_1(std::slice::from_ref(&answer)), Ok(()));
        assert!(after_request_1(&[answer.clone(), answer]).is_err());
    }

    #[test]
    fn only_who_asked_hears_of_workers() {
        let event =
            json!({"jsonrpc": "2.0", "method": "supervisor/event", "params": {"event": {}}}).to_string();
        let mut monitor = Monitor::default();
        assert!(monitor.received(&event).is_err());
        monitor.sent(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"client": {"workerEvents": true}}}));
        assert!(monitor.received(&event).is_ok());
    }

    #[test]
    fn a_change_of_a_world_has_its_members_in_order() {
        let changed = |params: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"world/changed","params":{{{params}}}}}"#);
            Monitor::default().received(&line).is_ok()
        };
        assert!(changed(r#""world":"w","subscription":"sub1","path":"","oldValue":1,"newValue":null"#));
        assert!(changed(r#""world":"w","subscription":"sub1","path":"a","newValue":1"#));
        assert!(!changed(r#""world":"w","subscription":"sub1","path":"a""#));
        assert!(!changed(r#""world":"w","path":"a","subscription":"sub1","newValue":1"#));
        assert!(!changed(r#""world":"w","subscription":1,"path":"a","newValue":1"#));
    }

    #[test]
    fn an_event_after_the_answer_is_a_violation() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "a"}});
        assert_eq!(after_request_1(&[event("a", "a", false), answer.clone()]), Ok(()));
        assert!(after_request_1(&[answer, event("a", "a", false)]).is_err());
    }

    #[test]
    fn deltas_must_add_up_to_the_text() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "ab"}});
        let (a, b) = (event("a", "a", false), event("ab", "b", false));
        assert_eq!(after_request_1(&[a.clone(), b.clone(), answer.clone()]), Ok(()));
        assert_eq!(
            after_request_1(&[event("x", "x", false), event("ab", "ab", true), answer.clone()]),
            Ok(())
        );
        assert!(after_request_1(&[b, answer.clone()]).is_err());
        assert!(after_request_1(&[a, answer]).is_err());
    }

    #[test]
    fn what_is_heard_of_a_line_must_add_up_to_it() {
        let event = |event: serde_json::Value| {
            json!({"jsonrpc": "2.0", "method": "npc/event",
                "params": {"npc": "n", "requestId": 1, "event": event}})
        };
        let emotion = |emotion: &str| event(json!({"type": "emotion", "emotion": emotion}));
        let delta = |delta: &str| event(json!({"type": "lineDelta", "delta": delta}));
        let reset = |line: &str| event(json!({"type": "lineReset", "line": line}));
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"line": "Hm.", "emotion": "sad"}});
        let is_right = |events: &[serde_json::Value]| {
            after_request_1(&[events, std::slice::from_ref(&answer)].concat()).is_ok()
        };
        assert!(is_right(&[]), "not streamed");
        assert!(is_right(&[emotion("sad"), delta("H"), delta("m.")]));
        assert!(is_right(&[emotion("happy"), delta("Well"), emotion("sad"), reset("H"), delta("m.")]));
        assert!(!is_right(&[emotion("happy"), delta("Hm.")]));
        assert!(!is_right(&[emotion("sad"), delta("Hm")]));
        assert!(!is_right(&[emotion("sad")]));
        assert!(!is_right(&[emotion("sad"), delta(""), delta("Hm.")]));
        assert!(!is_right(&[event(json!({"type": "text"}))]));
    }

    #[test]
    fn a_call_left_open_is_a_violation() {
        let call = json!({"jsonrpc": "2.0", "id": "t-1", "method": "tool/call", "params": {"session": "s",
            "requestId": 1, "call": {"id": "call_1", "name": "look", "arguments": {}}}});
        let cancel = json!({"jsonrpc": "2.0", "method": "tool/cancel", "params": {"session": "s", "requestId": 1,
            "id": "t-1", "callId": "call_1", "reason": "why"}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        assert_eq!(after_request_1(&[call.clone(), cancel, answer.clone()]), Ok(()));
        assert!(after_request_1(&[call, answer]).is_err());
    }
}
