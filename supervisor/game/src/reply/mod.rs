//! A character's reply: the form that a model is asked for, and what is read from the one it gives.
//!
//! A reply is structured, or text that begins with the emotion in brackets (`[gruff] Three swords, lad.`). Models are
//! held to the form but not trusted with it: whatever comes gives a [`Reply`], if only one without words.

mod form;
mod reader;

use crate::emotion::Emotion;

pub(crate) use form::reply_schema;
pub(crate) use reader::ReplyReader;

const EMOTION: &str = "emotion";
const LINE: &str = "line";
const PLAYER_OPTIONS: &str = "player_options";
const ENDS_CONVERSATION: &str = "ends_conversation";

/// What a character answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) emotion: Emotion,
    /// The spoken words, cleaned. Empty when the model gave none.
    pub(crate) line: String,
    /// What the player could answer.
    pub(crate) player_options: Vec<String>,
    pub(crate) ends_conversation: bool,
}

/// What can be shown of a reply that is still growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Draft<'r> {
    /// Once it is complete and recognised.
    pub(crate) emotion: Option<Emotion>,
    pub(crate) line: &'r str,
}
