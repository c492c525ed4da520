//! A growing reply as events for the game: the emotion, then the line piece by piece.
//!
//! A turn may take several attempts, and a model may rewrite what it wrote. The game sees none of that: it appends
//! each delta, replaces the line at a reset, and ends with exactly the line of the turn's result.

use std::sync::Arc;

use oam_agent::{Execution, ToolCall, ToolRecord};
use serde::Serialize;

use crate::{
    emotion::Emotion,
    reply::{Draft, Reply},
};

/// Something that happened while a character made up its reply. Serializes as the `event` object of the protocol's
/// `npc/event`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DialogueEvent {
    /// How the character feels. A later one replaces it.
    Emotion {
        /// The emotion.
        emotion: Emotion,
    },
    /// The line grew.
    LineDelta {
        /// What to append to it; never empty.
        delta: String,
    },
    /// The line was rewritten.
    LineReset {
        /// What to show instead.
        line: String,
    },
    /// A tool call began. A client tool is to be executed when it is asked for, not now.
    ToolCallStarted {
        /// The call.
        call: Arc<ToolCall>,
        /// Who executes it.
        execution: Execution,
    },
    /// A tool call ended.
    ToolCallCompleted {
        /// The call and what came back.
        record: Arc<ToolRecord>,
    },
}

/// What the game has been told of the reply of one turn, over all its attempts.
#[derive(Debug, Default)]
pub(crate) struct ReplyStream {
    emotion: Option<Emotion>,
    line: String,
}

impl ReplyStream {
    /// Tells of a reply that is still growing.
    pub(crate) fn show(&mut self, draft: Draft<'_>) -> impl Iterator<Item = DialogueEvent> + use<> {
        let emotion = draft.emotion.and_then(|emotion| self.feel(emotion));
        // A new attempt starts from nothing: what is the beginning of the shown line may yet catch up with it.
        let is_behind = self.line.starts_with(draft.line);
        let line = if is_behind { None } else { self.say(draft.line) };
        emotion.into_iter().chain(line)
    }

    /// Tells what the reply has become in the end. At the least, the game learns the emotion.
    pub(crate) fn finish(mut self, reply: &Reply) -> impl Iterator<Item = DialogueEvent> + use<> {
        let (emotion, line) = (self.feel(reply.emotion), self.say(&reply.line));
        emotion.into_iter().chain(line)
    }

    fn feel(&mut self, emotion: Emotion) -> Option<DialogueEvent> {
        let is_new = self.emotion.replace(emotion) != Some(emotion);
        is_new.then_some(DialogueEvent::Emotion { emotion })
    }

    fn say(&mut self, line: &str) -> Option<DialogueEvent> {
        match line.strip_prefix(&*self.line) {
            Some("") => None,
            Some(delta) => {
                let delta = delta.to_owned();
                self.line.push_str(&delta);
                Some(DialogueEvent::LineDelta { delta })
            }
            None => {
                line.clone_into(&mut self.line);
                Some(DialogueEvent::LineReset { line: line.to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use oam_agent::{CallId, ToolOutput, json_text, partial_json};
    use proptest::{collection, prelude::*};
    use serde_json::{Value, json};

    use super::*;
    use crate::{npc::NpcOptions, persona::Persona, reply::ReplyReader};

    fn reader() -> ReplyReader {
        ReplyReader::new(&Persona::new("Bo"), &NpcOptions::default())
    }

    /// The events of a turn, shortened.
    fn told(events: &[DialogueEvent]) -> Vec<String> {
        let told = events.iter().map(|event| match event {
            DialogueEvent::Emotion { emotion } => format!("({emotion})"),
            DialogueEvent::LineDelta { delta } => format!("+{delta}"),
            DialogueEvent::LineReset { line } => format!("={line}"),
            other => format!("{other:?}"),
        });
        told.collect()
    }

    /// What a game shows after these events.
    fn played(events: &[DialogueEvent]) -> (Option<Emotion>, String) {
        let (mut feeling, mut shown) = (None, String::new());
        for event in events {
            match event {
                DialogueEvent::Emotion { emotion } => feeling = Some(*emotion),
                DialogueEvent::LineDelta { delta } => shown.push_str(delta),
                DialogueEvent::LineReset { line } => shown.clone_from(line),
                _ => {}
            }
        }
        (feeling, shown)
    }

    /// Every beginning of `text`.
    fn growing(text: &str) -> impl Iterator<Item = &str> {
        text.char_indices().map(|(at, _)| &text[..at]).chain([text])
    }

    #[test]
    fn events_are_protocol_objects() {
        let arguments = json!({"gate": "north"}).as_object().cloned().unwrap_or_default();
        let call = Arc::new(ToolCall { id: CallId::random(), name: "open_gate".into(), arguments });
        let output = ToolOutput::Json(json!({"opened": true}));
        let record =
            Arc::new(ToolRecord { call: Arc::clone(&call), output, duration: Duration::from_millis(10) });
        let events = [
            DialogueEvent::Emotion { emotion: Emotion::Proud },
            DialogueEvent::LineDelta { delta: " iron swords".into() },
            DialogueEvent::LineReset { line: "Hm.".into() },
            DialogueEvent::ToolCallStarted { call: Arc::clone(&call), execution: Execution::Local },
            DialogueEvent::ToolCallCompleted { record },
        ];
        let lines: Vec<_> = events.iter().map(json_text::compact).collect();
        expect![[r#"
            {"type":"emotion","emotion":"proud"}
            {"type":"lineDelta","delta":" iron swords"}
            {"type":"lineReset","line":"Hm."}
            {"type":"toolCallStarted","call":{"id":"call_1","name":"open_gate","arguments":{"gate":"north"}},"execution":"local"}
            {"type":"toolCallCompleted","record":{"call":{"id":"call_1","name":"open_gate","arguments":{"gate":"north"}},"output":{"opened":true},"isError":false,"durationSeconds":0.01}}"#]]
        .assert_eq(&lines.join("\n").replace(call.id.as_str(), "call_1"));
    }

    #[test]
    fn the_emotion_comes_first_then_the_line_grows() {
        let mut stream = ReplyStream::default();
        let text = "{\"emotion\": \"happy\", \"line\": \"Bo: Hi!\", \"player_options\": []}";
        let mut events = Vec::new();
        for value in growing(text).filter_map(partial_json::parse_prefix) {
            events.extend(stream.show(reader().structured_so_far(&value)));
        }
        events.extend(stream.finish(&reader().fallback("Hi!")));
        assert_eq!(told(&events), ["(happy)", "+H", "+i", "+!", "(neutral)"]);
    }

    #[test]
    fn an_attempt_that_begins_the_same_is_waited_for() {
        let mut stream = ReplyStream::default();
        let mut events = Vec::new();
        for text in
            ["[sad] Hello th", "", "[sad] He", "[sad] Hello th", "[sad] Hello there", "[sad] Hello you"]
        {
            events.extend(stream.show(reader().text_so_far(text)));
        }
        events.extend(stream.finish(&reader().text("[sad] Hello")));
        assert_eq!(told(&events), ["(sad)", "+Hello th", "+ere", "=Hello you", "=Hello"]);
    }

    #[test]
    fn a_fallback_line_replaces_what_was_shown() {
        let mut stream = ReplyStream::default();
        let mut events: Vec<_> = stream.show(reader().text_so_far("[angry] Get ou")).collect();
        events.extend(stream.finish(&reader().fallback("Hmm.")));
        assert_eq!(told(&events), ["(angry)", "+Get ou", "(neutral)", "=Hmm."]);
    }

    #[test]
    fn a_turn_without_a_stream_still_tells_all() {
        let all = |line| told(&ReplyStream::default().finish(&reader().fallback(line)).collect::<Vec<_>>());
        assert_eq!(all("Hmm."), ["(neutral)", "+Hmm."]);
        assert_eq!(all(""), ["(neutral)"]);
    }

    #[derive(Debug, Clone)]
    enum Attempt {
        Structured(String, String),
        Text(String),
    }

    fn attempt() -> impl Strategy<Value = Attempt> {
        let line = "(\\[?(happy|sad|odd)\\] ?)?(Bo: ?)?[\"“”'aBo ]{0,6}|.{0,12}";
        prop_oneof![
            ("happy|sad|odd", line).prop_map(|(emotion, line)| Attempt::Structured(emotion, line)),
            line.prop_map(Attempt::Text),
        ]
    }

    fn structured(emotion: &str, line: &str) -> Value {
        json!({"emotion": emotion, "line": line})
    }

    proptest! {
        #[test]
        fn a_game_that_plays_the_events_shows_the_reply(
            attempts in collection::vec((attempt(), any::<bool>()), 1..4),
            piece_len in 1..4_usize,
            ends_blocked in any::<bool>(),
        ) {
            let reader = reader();
            let mut stream = ReplyStream::default();
            let mut events = Vec::new();
            let mut reply = reader.fallback("");
            for (attempt, is_cut_off) in &attempts {
                let (Attempt::Structured(_, text) | Attempt::Text(text)) = attempt;
                let pieces = text.chars().count() + 1;
                for piece in growing(text).take(if *is_cut_off { pieces / 2 } else { pieces }).step_by(piece_len) {
                    match attempt {
                        Attempt::Structured(emotion, _) => {
                            events.extend(stream.show(reader.structured_so_far(&structured(emotion, piece))));
                        }
                        Attempt::Text(_) => events.extend(stream.show(reader.text_so_far(piece))),
                    }
                }
                reply = match attempt {
                    Attempt::Structured(emotion, line) => reader.structured(&structured(emotion, line)),
                    Attempt::Text(text) => reader.text(text),
                };
            }
            if ends_blocked {
                reply = reader.fallback("Hmm.");
            }
            events.extend(stream.finish(&reply));
            prop_assert_eq!(played(&events), (Some(reply.emotion), reply.line));
            prop_assert!(!told(&events).contains(&"+".to_owned()), "an empty delta");
        }

        #[test]
        fn a_line_without_quotes_grows_without_a_reset(emotion in "happy|sad|odd", line in "(bo: )?[a-zA-Z .!]{0,20}") {
            for is_text in [false, true] {
                let reader = reader();
                let mut stream = ReplyStream::default();
                let mut events = Vec::new();
                for piece in growing(&line) {
                    let (text, value) = (format!("[{emotion}] {piece}"), structured(&emotion, piece));
                    let draft = if is_text { reader.text_so_far(&text) } else { reader.structured_so_far(&value) };
                    events.extend(stream.show(draft));
                }
                events.extend(stream.finish(&reader.structured(&structured(&emotion, &line))));
                let told = told(&events);
                prop_assert!(!told.iter().any(|event| event.starts_with('=')), "{told:?}");
                prop_assert_eq!(told.iter().filter(|event| event.starts_with('(')).count(), 1);
            }
        }
    }
}
