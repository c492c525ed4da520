//! What is read from the reply that a model gives, whole or still growing.

use serde_json::Value;

use super::{Draft, EMOTION, ENDS_CONVERSATION, LINE, PLAYER_OPTIONS, Reply};
use crate::{
    emotion::Emotion,
    line::{LineCleaner, same_words},
    npc::NpcOptions,
    persona::Persona,
    wording,
};

/// Reads a character's replies.
#[derive(Debug, Clone)]
pub(crate) struct ReplyReader {
    speaker: LineCleaner,
    player: LineCleaner,
    default_emotion: Emotion,
    player_option_count: usize,
    can_end_conversation: bool,
}

impl ReplyReader {
    pub(crate) fn new(persona: &Persona, options: &NpcOptions) -> Self {
        Self {
            speaker: LineCleaner::new(&persona.name),
            player: LineCleaner::new(wording::PLAYER),
            default_emotion: persona.default_emotion,
            player_option_count: options.player_option_count.into(),
            can_end_conversation: options.can_end_conversation,
        }
    }

    /// A reply that the model did not give.
    pub(crate) fn fallback(&self, line: impl Into<String>) -> Reply {
        Reply {
            emotion: self.default_emotion,
            line: line.into(),
            player_options: Vec::new(),
            ends_conversation: false,
        }
    }

    /// A whole structured reply.
    pub(crate) fn structured(&self, reply: &Value) -> Reply {
        let text = |key| reply.get(key).and_then(Value::as_str);
        let ends = reply.get(ENDS_CONVERSATION) == Some(&Value::Bool(true));
        Reply {
            emotion: text(EMOTION).and_then(Emotion::read).unwrap_or(self.default_emotion),
            line: self.speaker.clean(text(LINE).unwrap_or_default()).to_owned(),
            player_options: self.player_options(reply.get(PLAYER_OPTIONS)),
            ends_conversation: self.can_end_conversation && ends,
        }
    }

    /// A structured reply, as far as the model has written it.
    pub(crate) fn structured_so_far<'r>(&self, reply: &'r Value) -> Draft<'r> {
        let Some(members) = reply.as_object() else { return Draft::default() };
        let Some(line) = members.get(LINE) else { return Draft::default() };
        // The last member may still grow.
        let is_complete = members.keys().next_back().is_some_and(|last| last != EMOTION);
        let emotion = members.get(EMOTION).filter(|_| is_complete);
        Draft {
            emotion: emotion.and_then(Value::as_str).and_then(Emotion::read),
            line: self.speaker.clean_so_far(line.as_str().unwrap_or_default()),
        }
    }

    /// A whole reply in text.
    pub(crate) fn text(&self, text: &str) -> Reply {
        let (emotion, words) = match Tag::of(text) {
            Tag::Closed { tag, rest } => (Emotion::read(tag), rest),
            Tag::None => (None, text),
            // The model was cut off. An emotion is not spoken; anything else is better said than lost.
            Tag::Open => match Emotion::read(text) {
                Some(emotion) => (Some(emotion), ""),
                None => (None, text),
            },
        };
        let emotion = emotion.unwrap_or(self.default_emotion);
        Reply { emotion, ..self.fallback(self.speaker.clean(words)) }
    }

    /// A reply in text, as far as the model has written it.
    pub(crate) fn text_so_far<'r>(&self, text: &'r str) -> Draft<'r> {
        match Tag::of(text) {
            Tag::Open => Draft::default(),
            Tag::None => Draft { emotion: None, line: self.speaker.clean_so_far(text) },
            Tag::Closed { tag, rest } => {
                Draft { emotion: Emotion::read(tag), line: self.speaker.clean_so_far(rest) }
            }
        }
    }

    fn player_options(&self, options: Option<&Value>) -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        for option in options.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if kept.len() == self.player_option_count {
                break;
            }
            let option = self.player.clean(without_list_marker(option));
            if !option.is_empty() && !kept.iter().any(|kept| same_words(kept, option)) {
                kept.push(option.to_owned());
            }
        }
        kept
    }
}

/// The tag that a reply in text begins with.
enum Tag<'t> {
    None,
    /// There may be one: a bracket is open.
    Open,
    Closed {
        tag: &'t str,
        rest: &'t str,
    },
}

impl<'t> Tag<'t> {
    /// How many characters after a bracket that nothing closes it is clear that it opens no tag.
    const LONGEST_OPEN: usize = 24;

    fn of(text: &'t str) -> Self {
        let text = text.trim_start();
        let Some(inner) = text.strip_prefix('[') else { return Self::None };
        match inner.split_once(']') {
            Some((tag, rest)) => Self::Closed { tag, rest },
            None if text.chars().nth(Self::LONGEST_OPEN).is_some() => Self::None,
            None => Self::Open,
        }
    }
}

/// Without `- `, `* `, `• `, `1. ` or `2) ` before it.
fn without_list_marker(option: &str) -> &str {
    let option = option.trim();
    let unnumbered = option.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if unnumbered.len() < option.len() {
        unnumbered.strip_prefix(['.', ')'])
    } else {
        option.strip_prefix(['-', '*', '•'])
    };
    match rest {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => option,
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};
    use serde_json::json;

    use super::*;

    fn bo() -> Persona {
        Persona { default_emotion: Emotion::Amused, ..Persona::new("Bo") }
    }

    fn reader() -> ReplyReader {
        ReplyReader::new(&bo(), &NpcOptions::default())
    }

    #[test]
    fn a_structured_reply() {
        let reply = reader().structured(&json!({
            "emotion": "Gruff",
            "line": "Bo: \"Three swords.\"",
            "player_options": [" - Buy one.", "2) Player: \"Leave.\"", "BUY ONE.", 7, "", "1.5 gold", "More?"],
            "ends_conversation": true,
        }));
        assert_eq!(
            reply,
            Reply {
                emotion: Emotion::Annoyed,
                line: "Three swords.".into(),
                player_options: vec!["Buy one.".into(), "Leave.".into(), "1.5 gold".into()],
                ends_conversation: true,
            }
        );
    }

    #[test]
    fn whatever_comes_gives_a_reply() {
        let silence = reader().fallback("");
        for value in [
            json!(null),
            json!("Hello"),
            json!([]),
            json!({}),
            json!({"emotion": 1, "line": ["a"], "player_options": "a", "ends_conversation": "true"}),
        ] {
            assert_eq!(reader().structured(&value), silence, "{value}");
        }
    }

    #[test]
    fn only_a_character_that_may_ends_the_conversation() {
        let options =
            NpcOptions { can_end_conversation: false, player_option_count: 0, ..NpcOptions::default() };
        let value =
            json!({"emotion": "sad", "line": "Bye.", "player_options": ["a"], "ends_conversation": true});
        let reply = ReplyReader::new(&bo(), &options).structured(&value);
        assert_eq!(reply, Reply { emotion: Emotion::Sad, ..reader().fallback("Bye.") });
    }

    #[test]
    fn a_reply_in_text() {
        let cases = [
            ("[gruff] Three swords, lad.", Emotion::Annoyed, "Three swords, lad."),
            ("\n [ HAPPY! ]Bo: \"Hm.\"", Emotion::Happy, "Hm."),
            ("[sighs] Fine.", Emotion::Amused, "Fine."),
            ("No tag here.", Emotion::Amused, "No tag here."),
            (
                "[this is a very long aside without end",
                Emotion::Amused,
                "[this is a very long aside without end",
            ),
            ("[proud", Emotion::Proud, ""),
            ("[Nods.", Emotion::Amused, "[Nods."),
            ("[proud]", Emotion::Proud, ""),
            ("", Emotion::Amused, ""),
        ];
        for (text, emotion, line) in cases {
            assert_eq!(reader().text(text), Reply { emotion, ..reader().fallback(line) }, "{text:?}");
        }
    }

    #[test]
    fn nothing_of_a_tag_is_shown() {
        let cases = [
            (" [hap", None, ""),
            ("[happy]", Some(Emotion::Happy), ""),
            ("[happy] Bo: A", Some(Emotion::Happy), "A"),
            ("[sighs] Fine", None, "Fine"),
            ("[exactly twenty-four chr", None, ""),
            ("[one more than twenty-fou", None, "[one more than twenty-fou"),
        ];
        for (text, emotion, line) in cases {
            assert_eq!(reader().text_so_far(text), Draft { emotion, line }, "{text:?}");
        }
    }

    #[test]
    fn the_emotion_is_told_once_the_line_has_begun() {
        let cases = [
            (json!({"emotion": "happy"}), None, ""),
            (json!({"emotion": "happy", "line": ""}), Some(Emotion::Happy), ""),
            (json!({"emotion": "happy", "line": "Bo"}), Some(Emotion::Happy), ""),
            (json!({"emotion": "odd", "line": "Hm. "}), None, "Hm."),
            (json!({"line": "Hm.", "emotion": "warm"}), None, "Hm."),
            (json!({"emotion": "happy", "line": 4}), Some(Emotion::Happy), ""),
            (json!(["line"]), None, ""),
        ];
        for (value, emotion, line) in cases {
            assert_eq!(reader().structured_so_far(&value), Draft { emotion, line }, "{value}");
        }
    }

    #[test]
    fn list_markers_are_taken_off() {
        let cases = [
            ("- a", "a"),
            ("*  a", "a"),
            ("• a", "a"),
            ("10. a", "a"),
            ("2) a", "a"),
            ("45 gold?", "45 gold?"),
            ("1.5 gold", "1.5 gold"),
            ("*waves*", "*waves*"),
            ("-", "-"),
            ("", ""),
        ];
        for (option, bare) in cases {
            assert_eq!(without_list_marker(option), bare);
        }
    }

    proptest! {
        #[test]
        fn any_reply_is_read(
            text in any::<String>(),
            others in collection::vec("(- |1\\. |Player: )?[\"a-bA-B ]{0,3}", 0..8),
        ) {
            let reader = reader();
            let value = json!({"emotion": text, "line": text, "player_options": others});
            for reply in [reader.structured(&value), reader.text(&text), reader.text(&format!("[{text}"))] {
                prop_assert!(reply.player_options.len() <= 3);
                prop_assert!(reply.player_options.iter().all(|option| !option.is_empty()));
            }
            reader.structured_so_far(&value);
            reader.text_so_far(&text);
        }
    }
}
