//! What a host hears of an answer while it grows.

use serde_json::Value;

use crate::{
    event::{TextEvent, TurnEvent},
    host::TurnHost,
    model::StepSink,
};

/// What the host has heard of the answer, and what the model has said of it in this step. The two differ after a
/// retry or a step whose text was not the answer; then the host is told to start over.
pub(crate) struct Voice {
    is_heard: bool,
    shown: String,
    said: String,
    /// The host must be told to start over, whatever the model says next.
    must_reset: bool,
}

impl Voice {
    pub(crate) fn new(is_heard: bool) -> Self {
        Self { is_heard, shown: String::new(), said: String::new(), must_reset: false }
    }

    pub(crate) fn start_attempt(&mut self) {
        self.must_reset = !self.shown.is_empty();
    }

    pub(crate) fn start_step(&mut self) {
        self.said.clear();
    }

    fn say(&mut self, delta: &str, host: &mut dyn TurnHost) {
        if self.is_heard && !delta.is_empty() {
            self.said.push_str(delta);
            self.show(host);
        }
    }

    fn rewrite(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard {
            text.clone_into(&mut self.said);
            self.show(host);
        }
    }

    /// Makes what the host has heard equal the final answer.
    pub(crate) fn settle(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard && (self.must_reset || self.shown != text) {
            text.clone_into(&mut self.said);
            self.show(host);
        }
    }

    fn show(&mut self, host: &mut dyn TurnHost) {
        let (delta, is_reset) = match self.said.strip_prefix(&*self.shown) {
            Some("") if !self.must_reset => return,
            Some(rest) if !self.must_reset => (rest.to_owned(), false),
            _ => (self.said.clone(), true),
        };
        self.must_reset = false;
        if is_reset {
            self.shown.clone_from(&self.said);
        } else {
            self.shown.push_str(&delta);
        }
        host.event(TurnEvent::Text(TextEvent { delta, text: self.said.as_str().into(), is_reset }));
    }
}

/// Passes on what a model says during a step.
pub(crate) struct HostSink<'a> {
    pub(crate) voice: &'a mut Voice,
    pub(crate) host: &'a mut dyn TurnHost,
    /// Whether the host hears the structured answer grow.
    pub(crate) hears_partials: bool,
}

impl StepSink for HostSink<'_> {
    fn text(&mut self, delta: &str) {
        self.voice.say(delta, self.host);
    }

    fn reset(&mut self, text: &str) {
        self.voice.rewrite(text, self.host);
    }

    fn partial(&mut self, value: Value) {
        if self.hears_partials {
            self.host.event(TurnEvent::Partial { value });
        }
    }

    fn interrupted(&mut self, why: &str) {
        self.host.step_interrupted(why);
    }
}
