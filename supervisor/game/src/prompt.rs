//! What a character is shown in a turn: a scene of game state, situation and the player's words.

use std::sync::Arc;

use oam_agent::{ToolRecord, json_text};
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use crate::wording;

/// The prompt of a turn. `game_state` is a summary of the world, one value a line; it and `context` are left out when
/// they are blank. A blank `line` is the player's silence.
pub(crate) fn turn_prompt(game_state: &str, context: Option<&Value>, line: &str) -> String {
    scene(game_state, context.and_then(situation).as_deref(), line)
}

/// The prompt of a bark: a moment in which the player says nothing.
///
/// It is the same scene as that of a turn. Asked outright for a line, guardrails block nearly always.
pub(crate) fn bark_prompt(game_state: &str, situation: Option<&Value>) -> String {
    let situation = situation.and_then(self::situation);
    scene(game_state, Some(situation.as_deref().unwrap_or(wording::ORDINARY_MOMENT)), "")
}

/// The prompt of a blocked turn's second try, in which the character answers in text and without tools. What it has
/// looked up already stands in the prompt, so nothing is done twice.
pub(crate) fn text_retry_prompt(turn_prompt: &str, looked_up: &[Arc<ToolRecord>]) -> String {
    const MOST_FACTS: usize = 6;
    let mut lines = vec![turn_prompt.to_owned()];
    let facts = looked_up.iter().filter(|record| !record.output.is_error()).take(MOST_FACTS);
    let facts: Vec<_> = facts.map(|record| fact(record)).collect();
    if !facts.is_empty() {
        lines.push(wording::FACTS_LOOKED_UP.to_owned());
        lines.extend(facts);
    }
    lines.push(wording::ANSWER_AS_TEXT.to_owned());
    lines.join("\n")
}

fn scene(game_state: &str, situation: Option<&str>, line: &str) -> String {
    let mut lines = Vec::new();
    if !game_state.trim().is_empty() {
        lines.push(format!("{}\n{}", wording::GAME_STATE, game_state.trim_end()));
    }
    lines.extend(situation.map(|situation| format!("{}: {situation}", wording::SITUATION)));
    let words = match line.trim() {
        "" => wording::SILENCE,
        words => words,
    };
    lines.push(format!("{}: {words}", wording::PLAYER));
    lines.join("\n")
}

/// A situation as text; `None` when there is none.
fn situation(context: &Value) -> Option<String> {
    match context {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        value => Some(json_text::compact(value)),
    }
}

fn fact(record: &ToolRecord) -> String {
    const LONGEST: usize = 400;
    let mut output = record.output.model_text();
    if let Some((cut, _)) = output.grapheme_indices(true).nth(LONGEST) {
        output.truncate(cut);
    }
    format!("- {} {} → {output}", record.call.name, json_text::compact(&record.call.arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use oam_agent::{CallId, ToolCall, ToolOutput};
    use serde_json::json;
    use std::time::Duration;

    const STATE: &str = "player.name: Aria\nplayer.gold: 60\ntime_of_day: evening";

    fn record(name: &str, arguments: &Value, output: ToolOutput) -> Arc<ToolRecord> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = Arc::new(ToolCall { id: CallId::random(), name: name.into(), arguments });
        Arc::new(ToolRecord { call, output, duration: Duration::ZERO })
    }

    #[test]
    fn a_turn_is_a_scene() {
        expect![[r"
            Game state:
            player.name: Aria
            player.gold: 60
            time_of_day: evening
            Situation: The player just paid 45 gold.
            Player: Got any iron swords?"]]
        .assert_eq(&turn_prompt(
            STATE,
            Some(&json!(" The player just paid 45 gold. ")),
            " Got any iron swords?\n",
        ));
    }

    #[test]
    fn what_is_blank_is_left_out() {
        let cases = [
            (json!(null), "Player: Hi"),
            (json!(" \n"), "Player: Hi"),
            (json!({}), "Situation: {}\nPlayer: Hi"),
            (
                json!({"hp": 3.0, "place": "the cave"}),
                "Situation: {\"hp\":3,\"place\":\"the cave\"}\nPlayer: Hi",
            ),
        ];
        for (context, prompt) in cases {
            assert_eq!(turn_prompt("\n", Some(&context), "Hi"), prompt);
        }
        assert_eq!(turn_prompt("", None, " "), "Player: (The player says nothing.)");
    }

    #[test]
    fn a_bark_is_a_scene_in_which_nobody_speaks() {
        expect![[r"
            Game state:
            player.name: Aria
            player.gold: 60
            time_of_day: evening
            Situation: Rain begins to fall.
            Player: (The player says nothing.)"]]
        .assert_eq(&bark_prompt(STATE, Some(&json!("Rain begins to fall."))));
        let ordinary = "Situation: An ordinary moment.\nPlayer: (The player says nothing.)";
        for blank in [None, Some(json!(null)), Some(json!(" "))] {
            assert_eq!(bark_prompt("", blank.as_ref()), ordinary);
        }
    }

    #[test]
    fn the_second_try_is_told_what_was_looked_up() {
        let looked_up = [
            record(
                "check_inventory",
                &json!({"item": "iron sword"}),
                ToolOutput::Json(json!({"stock": 3.0})),
            ),
            record("wave", &json!({}), ToolOutput::Error("Nobody is there.".into())),
            record("ring_bell", &json!({}), ToolOutput::Text("The bell rings.".into())),
        ];
        expect![[r#"
            Player: Swords?
            Facts you just looked up:
            - check_inventory {"item":"iron sword"} → {"stock":3}
            - ring_bell {} → The bell rings.
            (The answer is one short spoken line in character. It begins with the emotion in square brackets, such as [curious].)"#]]
        .assert_eq(&text_retry_prompt("Player: Swords?", &looked_up));
        expect![[r"
            Player: Swords?
            (The answer is one short spoken line in character. It begins with the emotion in square brackets, such as [curious].)"]]
        .assert_eq(&text_retry_prompt("Player: Swords?", &looked_up[1..2]));
    }

    #[test]
    fn what_was_looked_up_is_bounded() {
        let looked_up =
            vec![record("read", &json!({}), ToolOutput::Text("👩‍👩‍👧".repeat(500))); 9];
        let prompt = text_retry_prompt("Player: Well?", &looked_up);
        assert_eq!(prompt.matches("- read {} → ").count(), 6);
        assert_eq!(prompt.matches("👩‍👩‍👧").count(), 6 * 400);
    }
}
