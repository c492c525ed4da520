//! The form of a structured reply, as a schema.

use oam_agent::schema::GenerationSchema;
use serde_json::{Map, json};

use super::{EMOTION, ENDS_CONVERSATION, LINE, PLAYER_OPTIONS};
use crate::{npc::NpcOptions, persona::Persona, wording};

/// The form of a structured reply. The emotion comes first, so that it sets the tone of the line.
pub(crate) fn reply_schema(
    persona: &Persona,
    options: &NpcOptions,
    has_fact_tools: bool,
) -> GenerationSchema {
    const LONGEST_NAME: usize = 100;
    let name = Some(persona.name.trim()).filter(|name| name.len() <= LONGEST_NAME);
    let name = name.unwrap_or(wording::THE_CHARACTER);
    let count = options.player_option_count;

    let mut properties = Map::new();
    properties.insert(
        EMOTION.to_owned(),
        json!({
            "type": "string",
            "enum": options.emotions,
            "description": wording::emotion_description(name),
        }),
    );
    let description = wording::line_description(name, persona.max_sentences.max(1), has_fact_tools);
    properties.insert(LINE.to_owned(), json!({"type": "string", "description": description}));
    if count > 0 {
        properties.insert(
            PLAYER_OPTIONS.to_owned(),
            json!({
                "type": "array",
                "items": {"type": "string"},
                "minItems": count,
                "maxItems": count,
                "description": wording::player_options_description(count),
            }),
        );
    }
    if options.can_end_conversation {
        let description = wording::ends_conversation_description(name);
        properties
            .insert(ENDS_CONVERSATION.to_owned(), json!({"type": "boolean", "description": description}));
    }
    let required: Vec<_> = properties.keys().cloned().collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let converted = GenerationSchema::from_json_schema(&schema, "DialogueReply");
    converted.expect("a small schema of supported types").schema
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::emotion::{AllowedEmotions, Emotion};

    fn schema_text(persona: &Persona, options: &NpcOptions) -> String {
        serde_json::to_string_pretty(reply_schema(persona, options, true).json()).unwrap()
    }

    #[test]
    fn the_form_of_a_reply() {
        let options = NpcOptions {
            emotions: AllowedEmotions::new([Emotion::Sad, Emotion::Happy]),
            ..NpcOptions::default()
        };
        expect![[r#"
            {
              "title": "DialogueReply",
              "type": "object",
              "properties": {
                "emotion": {
                  "type": "string",
                  "enum": [
                    "sad",
                    "happy"
                  ],
                  "description": "How Bo feels now."
                },
                "line": {
                  "type": "string",
                  "description": "What Bo says aloud, in character: at most 2 short sentences. Name the facts that a tool just gave, such as items and prices."
                },
                "player_options": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "minItems": 3,
                  "maxItems": 3,
                  "description": "3 short, different replies the player could give."
                },
                "ends_conversation": {
                  "type": "boolean",
                  "description": "True only if Bo ends the conversation now."
                }
              },
              "required": [
                "emotion",
                "line",
                "player_options",
                "ends_conversation"
              ],
              "additionalProperties": false,
              "x-order": [
                "emotion",
                "line",
                "player_options",
                "ends_conversation"
              ]
            }"#]]
        .assert_eq(&schema_text(&Persona::new("Bo"), &options));
    }

    #[test]
    fn the_leanest_form_of_a_reply() {
        let options =
            NpcOptions { player_option_count: 0, can_end_conversation: false, ..NpcOptions::default() };
        let persona = Persona { max_sentences: 0, ..Persona::new("Bo ".repeat(1000)) };
        let json = reply_schema(&persona, &options, false).json().clone();
        expect![[r#"{"title":"DialogueReply","type":"object","properties":{"emotion":{"type":"string","enum":["neutral","happy","sad","angry","afraid","surprised","suspicious","amused","disgusted","excited","curious","confused","worried","grateful","annoyed","proud"],"description":"How the character feels now."},"line":{"type":"string","description":"What the character says aloud, in character: at most 1 short sentence."}},"required":["emotion","line"],"additionalProperties":false,"x-order":["emotion","line"]}"#]].assert_eq(&oam_agent::json_text::compact(&json));
    }
}
