//! The course of a response: a message that grows, then calls, then the end.

use bytes::Bytes;

use super::{
    Echo,
    wire::{FunctionCall, Happening, Head, InMessage, Item, Message, Part, Response, Sequence, Status},
};
use crate::{
    api_error::ApiError,
    completion::{Call, Completed, Output, Teller, TokenUsage},
    wire,
};

/// Tells of a response.
#[derive(Debug)]
pub(crate) struct ResponseTeller {
    head: Head,
    /// The message that has begun and not ended.
    message: Option<OpenMessage>,
    /// What is complete.
    output: Vec<Item>,
    sequence: Sequence,
}

#[derive(Debug)]
struct OpenMessage {
    id: String,
    /// What was said so far, once anything was.
    text: Option<String>,
}

impl ResponseTeller {
    /// `model` is the model's own id.
    pub(crate) fn new(model: String, echo: Echo) -> Self {
        let head = Head { id: wire::id("resp_"), created_at: wire::unix_seconds(), model, echo };
        Self { head, message: None, output: Vec::new(), sequence: Sequence::default() }
    }

    fn tell_response(
        &mut self,
        name: &'static str,
        status: Status,
        usage: Option<TokenUsage>,
        error: Option<&ApiError>,
        events: &mut Vec<u8>,
    ) {
        let response = Response { head: &self.head, status, output: &self.output, usage, error };
        self.sequence.emit(events, name, &Happening::Response { response });
    }

    fn tell_in_message(
        &mut self,
        name: &'static str,
        id: &str,
        content_index: usize,
        what: InMessage<'_>,
        events: &mut Vec<u8>,
    ) {
        let output_index = self.output.len();
        let happening = Happening::InMessage { item_id: id, output_index, content_index, what };
        self.sequence.emit(events, name, &happening);
    }

    /// The open message, which begins if there is none.
    fn take_message(&mut self, events: &mut Vec<u8>) -> OpenMessage {
        self.message.take().unwrap_or_else(|| {
            let item = Message::new(Message::new_id(), Status::InProgress, Vec::new());
            let happening = Happening::Message { output_index: self.output.len(), item: &item };
            self.sequence.emit(events, "response.output_item.added", &happening);
            OpenMessage { id: item.id, text: None }
        })
    }

    /// The open message says more, which may be nothing.
    fn say(&mut self, more: &str, events: &mut Vec<u8>) {
        let OpenMessage { id, text } = self.take_message(events);
        let mut text = text.unwrap_or_else(|| {
            let part = Part::text(String::new());
            let what = InMessage::Part { part: &part };
            self.tell_in_message("response.content_part.added", &id, 0, what, events);
            String::new()
        });
        if !more.is_empty() {
            text.push_str(more);
            let what = InMessage::TextDelta { delta: more, logprobs: [] };
            self.tell_in_message("response.output_text.delta", &id, 0, what, events);
        }
        self.message = Some(OpenMessage { id, text: Some(text) });
    }

    /// The message ends: with a refusal, if there is one.
    fn end_message(&mut self, status: Status, refusal: Option<String>, events: &mut Vec<u8>) {
        let OpenMessage { id, text } = self.take_message(events);
        let mut content = Vec::new();
        if let Some(text) = text {
            let what = InMessage::Text { text: &text, logprobs: [] };
            self.tell_in_message("response.output_text.done", &id, 0, what, events);
            let part = Part::text(text);
            let what = InMessage::Part { part: &part };
            self.tell_in_message("response.content_part.done", &id, 0, what, events);
            content.push(part);
        }
        if let Some(refusal) = refusal {
            let index = content.len();
            let part = Part::Refusal { refusal: String::new() };
            let what = InMessage::Part { part: &part };
            self.tell_in_message("response.content_part.added", &id, index, what, events);
            let what = InMessage::RefusalDelta { delta: &refusal };
            self.tell_in_message("response.refusal.delta", &id, index, what, events);
            let what = InMessage::Refusal { refusal: &refusal };
            self.tell_in_message("response.refusal.done", &id, index, what, events);
            let part = Part::Refusal { refusal };
            let what = InMessage::Part { part: &part };
            self.tell_in_message("response.content_part.done", &id, index, what, events);
            content.push(part);
        }
        let item = Message::new(id, status, content);
        let happening = Happening::Message { output_index: self.output.len(), item: &item };
        self.sequence.emit(events, "response.output_item.done", &happening);
        self.output.push(Item::Message(item));
    }

    fn call(&mut self, call: Call, events: &mut Vec<u8>) {
        let output_index = self.output.len();
        let mut call = FunctionCall::from(call);
        let arguments = std::mem::take(&mut call.arguments);
        call.status = Status::InProgress;
        let happening = Happening::Call { output_index, item: &call };
        self.sequence.emit(events, "response.output_item.added", &happening);
        let happening = Happening::ArgumentsDelta { item_id: &call.id, output_index, delta: &arguments };
        self.sequence.emit(events, "response.function_call_arguments.delta", &happening);
        let happening = Happening::Arguments { item_id: &call.id, output_index, arguments: &arguments };
        self.sequence.emit(events, "response.function_call_arguments.done", &happening);
        call.arguments = arguments;
        call.status = Status::Completed;
        let happening = Happening::Call { output_index, item: &call };
        self.sequence.emit(events, "response.output_item.done", &happening);
        self.output.push(Item::Call(call));
    }

    fn fail(&mut self, error: &ApiError, events: &mut Vec<u8>) {
        // What was said is shown, but its message is not said to be done.
        if let Some(OpenMessage { id, text }) = self.message.take() {
            let content = text.map(Part::text).into_iter().collect();
            self.output.push(Item::Message(Message::new(id, Status::Incomplete, content)));
        }
        let ApiError { code, message, param, .. } = error;
        let happening = Happening::Error { code: *code, message, param: param.as_deref() };
        self.sequence.emit(events, "error", &happening);
        self.tell_response("response.failed", Status::Failed, None, Some(error), events);
    }
}

impl Teller for ResponseTeller {
    fn whole(self: Box<Self>, Completed { output, usage }: Completed) -> Bytes {
        let status = status_of(&output);
        let message = |part| vec![Item::Message(Message::new(Message::new_id(), status, vec![part]))];
        let output = match output {
            Output::Text { text, .. } => message(Part::text(text)),
            Output::ToolCalls(calls) => calls.into_iter().map(|call| Item::Call(call.into())).collect(),
            Output::Refusal(refusal) => message(Part::Refusal { refusal }),
        };
        wire::json(&Response { head: &self.head, status, output: &output, usage: Some(usage), error: None })
    }

    fn begin(&mut self, events: &mut Vec<u8>) {
        for name in ["response.created", "response.in_progress"] {
            self.tell_response(name, Status::InProgress, None, None, events);
        }
    }

    fn piece(&mut self, text: &str, events: &mut Vec<u8>) {
        self.say(text, events);
    }

    fn end(&mut self, end: Result<Completed, ApiError>, events: &mut Vec<u8>) {
        let Completed { output, usage } = match end {
            Ok(completed) => completed,
            Err(error) => return self.fail(&error, events),
        };
        let status = status_of(&output);
        match output {
            Output::Text { .. } => {
                // An answer may be empty, and is a message then as well.
                self.say("", events);
                self.end_message(status, None, events);
            }
            Output::ToolCalls(calls) => {
                if self.message.is_some() {
                    self.end_message(Status::Completed, None, events);
                }
                for call in calls {
                    self.call(call, events);
                }
            }
            Output::Refusal(refusal) => self.end_message(status, Some(refusal), events),
        }
        let name = if status == Status::Incomplete { "response.incomplete" } else { "response.completed" };
        self.tell_response(name, status, Some(usage), None, events);
    }
}

fn status_of(output: &Output) -> Status {
    match output {
        Output::Text { is_cut: true, .. } => Status::Incomplete,
        _ => Status::Completed,
    }
}
