//! What a host hears of an answer while it grows.

use serde_json::Value;

use crate::{
    event::{TextEvent, TurnEvent},
    host::TurnHost,
    model::StepSink,
    text_so_far::TextSoFar,
};

/// What the host has heard of the answer, and what the model has said of it in this step. The two differ after a
/// retry or a step whose text was not the answer; then the host is told to start over.
pub(crate) struct Voice {
    is_heard: bool,
    shown: TextSoFar,
    said: TextSoFar,
    /// The host must be told to start over, whatever the model says next.
    must_reset: bool,
}

impl Voice {
    pub(crate) fn new(is_heard: bool) -> Self {
        let nothing = TextSoFar::default();
        Self { is_heard, shown: nothing.clone(), said: nothing, must_reset: false }
    }

    pub(crate) fn start_attempt(&mut self) {
        self.must_reset = !self.shown.is_empty();
    }

    pub(crate) fn start_step(&mut self) {
        if !self.said.is_empty() {
            self.said = TextSoFar::default();
        }
    }

    fn say(&mut self, delta: &str, host: &mut dyn TurnHost) {
        if !self.is_heard || delta.is_empty() {
            return;
        }
        let is_all_shown = self.said.is(&self.shown) && !self.must_reset;
        self.said.push_str(delta);
        if is_all_shown {
            self.tell(delta.to_owned(), false, host);
        } else {
            self.show(host);
        }
    }

    fn rewrite(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard {
            self.said = text.into();
            self.show(host);
        }
    }

    /// Makes what the host has heard equal the final answer.
    pub(crate) fn settle(&mut self, text: &str, host: &mut dyn TurnHost) {
        if self.is_heard && (self.must_reset || self.shown.read(|shown| shown != text)) {
            self.said = text.into();
            self.show(host);
        }
    }

    fn show(&mut self, host: &mut dyn TurnHost) {
        let said = self.said.to_string();
        match self.shown.read(|shown| said.strip_prefix(shown)) {
            Some("") if !self.must_reset => {}
            Some(rest) if !self.must_reset => self.tell(rest.to_owned(), false, host),
            _ => self.tell(said, true, host),
        }
    }

    fn tell(&mut self, delta: String, is_reset: bool, host: &mut dyn TurnHost) {
        self.must_reset = false;
        self.shown = self.said.clone();
        host.event(TurnEvent::Text(TextEvent { delta, text: self.said.clone(), is_reset }));
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
