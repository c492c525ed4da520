//! What has been noted so far, and the text of the file that it makes.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use oam_agent::json_text;
use serde_json::{Map, Value};

use crate::{
    facts::ModelFacts,
    fingerprint::Fingerprint,
    form::{self, Before, VERSION},
    owner::Owner,
    question::StepKey,
    recording::Recording,
    step::RecordedStep,
};

/// What has been noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) model: Option<ModelFacts>,
    pub(crate) counts: BTreeMap<Fingerprint, u32>,
    /// Those of the file that is gone on with, in its order, then others in the order of their first steps.
    conversations: Vec<Conversation>,
    /// How many are of that file.
    earlier: usize,
    /// What else is in that file, beside the recording.
    beside: Map<String, Value>,
    by_key: HashMap<ConversationKey, usize>,
}

/// One model that was made, and what its steps have in common.
pub(crate) type ConversationKey = (u64, u64);

#[derive(Debug)]
struct Conversation {
    owner: Owner,
    /// What tells requests of one method apart; those of a file that is gone on with stay in its order.
    rank: Option<StepKey>,
    before: Before,
    steps: Vec<Note>,
}

/// A step of a conversation.
#[derive(Debug)]
pub(crate) enum Note {
    /// With what its line leaves out.
    Running(Box<(RecordedStep, Before)>),
    /// Its line.
    Ended(String),
}

impl Notes {
    /// Those of a file, to be gone on with.
    pub(crate) fn of_file(recording: Recording, beside: Map<String, Value>) -> Self {
        let Recording { model, counts, conversations, .. } = recording;
        let of_owner = |(owner, conversations): (Owner, Vec<Vec<RecordedStep>>)| {
            conversations.into_iter().map(move |steps| Conversation::of_file(owner.clone(), &steps))
        };
        let conversations: Vec<_> = conversations.into_iter().flat_map(of_owner).collect();
        let earlier = conversations.len();
        Self { model: Some(model), counts, conversations, earlier, beside, by_key: HashMap::new() }
    }

    /// Whether nothing has been asked that is not in the file already.
    pub(crate) fn is_empty(&self) -> bool {
        self.conversations.len() == self.earlier
    }

    pub(crate) fn begin(&mut self, owner: &Owner, key: ConversationKey, step: RecordedStep) -> StepPlace {
        let conversation = *self.by_key.entry(key).or_insert_with(|| {
            self.conversations.push(Conversation {
                owner: owner.clone(),
                rank: matches!(owner, Owner::Request(_)).then_some(step.key),
                before: Before::default(),
                steps: Vec::new(),
            });
            self.conversations.len() - 1
        });
        let Conversation { before, steps, .. } = &mut self.conversations[conversation];
        let left_out = before.clone();
        before.step(&step);
        steps.push(Note::Running(Box::new((step, left_out))));
        StepPlace { conversation, step: steps.len() - 1 }
    }

    pub(crate) fn document(&self) -> String {
        let mut text = format!("{{\"recording\":{{\"version\":{VERSION}");
        if let Some(model) = &self.model {
            let _ = write!(text, ",\n\"model\":{}", json_text::compact(model));
        }
        if !self.counts.is_empty() {
            let counts = self.counts.iter().map(|(of, count)| format!("\"{of}\":{count}"));
            text.push_str(",\n\"counts\":{");
            push_lines(&mut text, counts);
            text.push('}');
        }
        let mut conversations: Vec<_> = self.conversations.iter().collect();
        // The sort keeps the order of all else.
        conversations.sort_by_key(|it| (&it.owner, it.rank));
        for (section, member) in [("sessions", "session"), ("npcs", "npc"), ("requests", "request")] {
            let _ = write!(text, ",\n\"{section}\":[");
            let conversations = conversations.iter().filter_map(|conversation| {
                let (kind, name) = conversation.owner.kind_and_name();
                (kind == member).then(|| {
                    let mut text = format!("{{\"{member}\":{},\"steps\":[", json_text::compact(name));
                    push_lines(&mut text, conversation.steps.iter().map(Note::line));
                    text.push_str("]}");
                    text
                })
            });
            push_lines(&mut text, conversations);
            text.push(']');
        }
        text.push('}');
        for (name, value) in &self.beside {
            let _ = write!(text, ",\n{}:{}", json_text::compact(name), json_text::compact(value));
        }
        text.push_str("}\n");
        text
    }

    pub(crate) fn note(&mut self, place: StepPlace) -> &mut Note {
        &mut self.conversations[place.conversation].steps[place.step]
    }

    pub(crate) fn change(&mut self, place: StepPlace, change: impl FnOnce(&mut RecordedStep)) {
        if let Note::Running(running) = self.note(place) {
            change(&mut running.0);
        }
    }
}

impl Conversation {
    fn of_file(owner: Owner, steps: &[RecordedStep]) -> Self {
        let mut before = Before::default();
        let note = |step: &RecordedStep| {
            let line = form::line(step, &before);
            before.step(step);
            Note::Ended(line)
        };
        let steps = steps.iter().map(note).collect();
        Self { owner, rank: None, before, steps }
    }
}

/// Appends elements, each on lines of its own.
fn push_lines(text: &mut String, elements: impl Iterator<Item = impl AsRef<str>>) {
    let mut is_empty = true;
    for element in elements {
        text.push_str(if is_empty { "\n" } else { ",\n" });
        text.push_str(element.as_ref());
        is_empty = false;
    }
    if !is_empty {
        text.push('\n');
    }
}

impl Note {
    pub(crate) fn line(&self) -> Cow<'_, str> {
        match self {
            Self::Running(running) => form::line(&running.0, &running.1).into(),
            Self::Ended(line) => line.into(),
        }
    }
}

/// Where a step is noted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepPlace {
    conversation: usize,
    step: usize,
}
