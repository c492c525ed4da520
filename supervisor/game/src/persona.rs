//! A character sheet.

use serde::Serialize;

use crate::emotion::Emotion;

/// Who a character is. Only the name must be given; the model reads every field, so each should be a sentence or
/// two (docs/PROTOCOL.md, `npc/create`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Persona {
    /// `Gorm`. Not blank.
    pub name: String,
    /// `the village blacksmith`
    pub role: String,
    /// `Gruff and proud, but fair.`
    pub personality: String,
    /// `Short, blunt sentences.`
    pub speaking_style: String,
    /// Where the character comes from.
    pub backstory: String,
    /// What the character wants.
    pub goals: Vec<String>,
    /// What the character hides until trust is earned.
    pub secrets: Vec<String>,
    /// What the character knows without looking it up.
    pub knowledge: Vec<String>,
    /// Stands in where the model gives no emotion.
    pub default_emotion: Emotion,
    /// How many sentences a reply may have; what is below 1 counts as 1.
    pub max_sentences: i64,
}

impl Persona {
    /// A persona of which only the name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            role: String::new(),
            personality: String::new(),
            speaking_style: String::new(),
            backstory: String::new(),
            goals: Vec::new(),
            secrets: Vec::new(),
            knowledge: Vec::new(),
            default_emotion: Emotion::Neutral,
            max_sentences: 2,
        }
    }
}
