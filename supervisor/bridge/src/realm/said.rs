//! What records keep of a conversation.

use std::ops::Not;

use oam_agent::transcript::{
    EntryId, Transcript,
    json::{SavedSetup, SavedTranscript},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

/// A part of a conversation, with the instructions and tools in force, unless they are those of before: a short turn
/// under long instructions is a short record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    transcript: Transcription,
    #[serde(default, skip_serializing_if = "Not::not")]
    same_setup: bool,
}

/// A transcript in its saved form.
#[derive(Debug)]
struct Transcription(SavedTranscript);

impl Serialize for Transcription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Transcription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        SavedTranscript::from_json(&value).map(Self).map_err(D::Error::custom)
    }
}

/// Which instructions and tools in force were recorded last.
#[derive(Debug, Default)]
pub(super) struct RecordedSetup(Option<EntryId>);

impl RecordedSetup {
    /// The one that was recorded before the realm was loaded.
    pub(super) fn before(said: &SavedTranscript) -> Self {
        Self(id(said.setup.as_ref()))
    }

    /// All of `said`, from which on its setup is known.
    pub(super) fn whole(&mut self, said: SavedTranscript) -> Said {
        self.0 = id(said.setup.as_ref());
        Said { transcript: Transcription(said), same_setup: false }
    }

    /// What `said` has that was not recorded.
    pub(super) fn news(&mut self, said: SavedTranscript) -> Said {
        if id(said.setup.as_ref()) != self.0 {
            return self.whole(said);
        }
        let said = SavedTranscript { setup: None, ..said };
        Said { transcript: Transcription(said), same_setup: true }
    }

    /// What `setup` has that was not recorded.
    pub(super) fn news_of_setup(&mut self, setup: Option<SavedSetup>) -> Said {
        self.news(SavedTranscript { setup, transcript: Transcript::default() })
    }
}

fn id(setup: Option<&SavedSetup>) -> Option<EntryId> {
    setup.map(|setup| setup.id.clone())
}

impl Said {
    /// What was said, after `before`.
    pub(super) fn after(self, before: &SavedTranscript) -> SavedTranscript {
        let Transcription(said) = self.transcript;
        if self.same_setup { SavedTranscript { setup: before.setup.clone(), ..said } } else { said }
    }

    /// What was said, with nothing before it.
    pub(super) fn alone(self) -> SavedTranscript {
        self.transcript.0
    }
}
