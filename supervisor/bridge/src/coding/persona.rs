//! Reading a persona (docs/PROTOCOL.md, `npc/create`).

use oam_game::{Emotion, Persona};

use crate::{message::BridgeError, params::Params};

const MEMBERS: &[&str] = &[
    "name",
    "role",
    "personality",
    "speakingStyle",
    "backstory",
    "goals",
    "secrets",
    "knowledge",
    "defaultEmotion",
    "maxSentences",
];

/// The persona at `key`, with warnings about members that mean nothing.
pub(crate) fn persona(
    params: &Params<'_>,
    key: &str,
    warnings: &mut Vec<String>,
) -> Result<Persona, BridgeError> {
    let value = params.value(key)?;
    let path = params.path(key);
    if !value.is_object() {
        return Err(BridgeError::invalid_params(format!(
            "'{path}' must be an object with at least a 'name'."
        )));
    }
    let members = Params::at(&path, value)?;
    warnings.extend(members.unknown_members(MEMBERS));
    persona_of(&members)
}

/// The persona that these members make.
fn persona_of(members: &Params<'_>) -> Result<Persona, BridgeError> {
    let name = members.string("name")?;
    if name.trim().is_empty() {
        return Err(BridgeError::invalid_params(format!("'{}' must not be empty.", members.path("name"))));
    }
    let text = |key| Ok::<_, BridgeError>(members.optional_string(key)?.unwrap_or_default().to_owned());
    let texts = |key| Ok::<_, BridgeError>(members.optional_texts(key)?.unwrap_or_default());
    let defaults = Persona::new(name);
    Ok(Persona {
        role: text("role")?,
        personality: text("personality")?,
        speaking_style: text("speakingStyle")?,
        backstory: text("backstory")?,
        goals: texts("goals")?,
        secrets: texts("secrets")?,
        knowledge: texts("knowledge")?,
        default_emotion: members
            .optional_string("defaultEmotion")?
            .and_then(Emotion::read)
            .unwrap_or(defaults.default_emotion),
        max_sentences: members.optional_integer("maxSentences", i64::MIN)?.unwrap_or(defaults.max_sentences),
        ..defaults
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Result<(Persona, Vec<String>), String> {
        let params = Params::new(Some(json!({"persona": value}))).unwrap();
        let mut warnings = Vec::new();
        let persona = persona(&params, "persona", &mut warnings).map_err(|error| error.message)?;
        Ok((persona, warnings))
    }

    #[test]
    fn only_the_name_must_be_given() {
        let nothing_else = json!({"name": "Gorm", "role": null, "goals": null, "defaultEmotion": null,
            "maxSentences": null, "secrets": []});
        for value in [json!({"name": "Gorm"}), nothing_else] {
            assert_eq!(read(&value), Ok((Persona::new("Gorm"), Vec::new())));
        }
    }

    #[test]
    fn every_member_is_read() {
        let value = json!({"name": "Gorm", "role": "the smith", "personality": "Gruff.", "speakingStyle": "Blunt.",
            "backstory": "Old.", "goals": ["Sell."], "secrets": ["Kind."], "knowledge": ["Iron."],
            "defaultEmotion": "Gruff", "maxSentences": 3.0});
        let (persona, warnings) = read(&value).unwrap();
        assert_eq!(persona.default_emotion, Emotion::Annoyed);
        let mut written = serde_json::to_value(&persona).unwrap();
        written["defaultEmotion"] = json!("Gruff");
        written["maxSentences"] = json!(3.0);
        assert_eq!(written, value);
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn an_unknown_emotion_is_neutral_and_unknown_members_are_told_of() {
        let (persona, warnings) =
            read(&json!({"mood": "x", "name": "Gorm", "defaultEmotion": "hangry", "age": null})).unwrap();
        assert_eq!(persona.default_emotion, Emotion::Neutral);
        assert_eq!(
            warnings,
            ["Unknown parameter 'persona.mood' was ignored.", "Unknown parameter 'persona.age' was ignored."]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            (json!(null), "Missing required parameter 'persona'."),
            (json!("Gorm"), "'persona' must be an object with at least a 'name'."),
            (json!([]), "'persona' must be an object with at least a 'name'."),
            (json!({}), "Missing required parameter 'persona.name'."),
            (json!({"name": null}), "Missing required parameter 'persona.name'."),
            (json!({"name": 7}), "Parameter 'persona.name' must be a string; got 7."),
            (json!({"name": " \n"}), "'persona.name' must not be empty."),
            (json!({"name": "a", "role": 1}), "Parameter 'persona.role' must be a string; got 1."),
            (json!({"name": "a", "goals": "b"}), "Parameter 'persona.goals' must be an array; got \"b\"."),
            (
                json!({"name": "a", "goals": ["b", 2]}),
                "Parameter 'persona.goals[1]' must be a string; got 2.",
            ),
            (
                json!({"name": "a", "defaultEmotion": 1}),
                "Parameter 'persona.defaultEmotion' must be a string; got 1.",
            ),
            (
                json!({"name": "a", "maxSentences": 1.5}),
                "Parameter 'persona.maxSentences' must be an integer; got 1.5.",
            ),
        ];
        for (value, message) in cases {
            assert_eq!(read(&value), Err(message.to_owned()), "{value}");
        }
    }
}
