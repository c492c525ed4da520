//! How an answer grows: an event that can take in the events after it.

use std::borrow::Cow;

use oam_agent::{TextEvent, json_text};
use serde::Serialize;

use crate::message::EventContext;

/// One event in which the answer of a turn grew, or several that became one.
#[derive(Debug, Clone)]
pub enum Growth<'a> {
    /// Of a session's answer, as `text`.
    Text(Cow<'a, TextEvent>),
    /// Of an NPC's line, as `lineDelta`.
    LineDelta(Cow<'a, str>),
    /// An NPC's line was rewritten: `lineReset`.
    LineReset(Cow<'a, str>),
}

impl Growth<'_> {
    pub(super) fn into_owned(self) -> Growth<'static> {
        match self {
            Self::Text(event) => Growth::Text(Cow::Owned(event.into_owned())),
            Self::LineDelta(delta) => Growth::LineDelta(Cow::Owned(delta.into_owned())),
            Self::LineReset(line) => Growth::LineReset(Cow::Owned(line.into_owned())),
        }
    }

    /// What it takes in memory, about.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(event) => event.delta.len() + event.text.len(),
            Self::LineDelta(text) | Self::LineReset(text) => text.len(),
        }
    }

    /// Writes the notification, with its line end.
    pub(super) fn write(&self, out: &mut Vec<u8>, context: &EventContext) {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
        enum Event<'e> {
            Text { delta: &'e str, text: &'e str, is_reset: bool },
            LineDelta { delta: &'e str },
            LineReset { line: &'e str },
        }

        let mut write = |event: Event<'_>| {
            context.write_notification(out, |out| json_text::write(out, &event));
            out.push(b'\n');
        };
        match self {
            Self::Text(event) => event.text.read(|text| {
                let TextEvent { delta, is_reset, .. } = &**event;
                // What was merged behind a reset is in the text alone.
                let delta = if *is_reset { text } else { delta };
                write(Event::Text { delta, text, is_reset: *is_reset });
            }),
            Self::LineDelta(delta) => write(Event::LineDelta { delta }),
            Self::LineReset(line) => write(Event::LineReset { line }),
        }
    }
}

impl Growth<'static> {
    /// Takes in the next event of the same turn.
    pub(super) fn append(&mut self, next: Growth<'_>) {
        match (self, next) {
            (Self::Text(event), Growth::Text(next)) => append_text(event.to_mut(), &next),
            (Self::LineDelta(text) | Self::LineReset(text), Growth::LineDelta(delta)) => {
                text.to_mut().push_str(&delta);
            }
            // A turn has text or a line, never both; and a rewritten line is all that counts.
            (growth, next) => *growth = next.into_owned(),
        }
    }
}

fn append_text(event: &mut TextEvent, next: &TextEvent) {
    if next.is_reset {
        event.is_reset = true;
        event.delta = String::new();
    } else if !event.is_reset {
        event.delta.push_str(&next.delta);
    }
    event.text = next.text.clone();
}
