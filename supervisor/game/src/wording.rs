//! Every sentence that a model reads about a character, in one place.
//!
//! This file is for whoever designs the game's dialogue: read it to know what a character is told, change it to
//! change how all characters speak. What the game itself gives (the persona, the player's line, the situation) is put
//! in as it was given; [`instructions`](crate::instructions), [`prompt`](crate::prompt) and
//! [`reply`](crate::reply) only join the pieces.
//!
//! Three rules keep the texts working with a small model on the device:
//!
//! * **Short.** Instructions, conversation and answer share 8192 tokens, and every token of them costs time in every
//!   turn. A usual persona should stay below 250 tokens with its rules.
//! * **Gentle.** Guardrails read instructions and prompts too, and one violent word makes them stricter in every
//!   turn.
//! * **A scene, not an order.** Prompts show what happens (`Situation: …`, `Player: …`) and leave the answering to
//!   the instructions. The same request worded as an order is blocked far more often.

use serde_json::Value;

use crate::{emotion::AllowedEmotions, memory::Relationship};

// The character sheet.

pub(crate) fn you_play(name: &str, role: &str) -> String {
    if role.is_empty() {
        format!("You play {name}, a character in a video game.")
    } else {
        format!("You play {name}, {role}, a character in a video game.")
    }
}

pub(crate) const PERSONALITY: &str = "Personality";
pub(crate) const SPEAKING_STYLE: &str = "Speaking style";
pub(crate) const BACKGROUND: &str = "Background";
pub(crate) const GOALS: &str = "Goals";
pub(crate) const KNOWLEDGE: &str = "You know";
pub(crate) const SECRET: &str = "Your secret";

// The rules.

pub(crate) const RULES: &str = "Rules:";

pub(crate) fn speak_only_as(name: &str) -> String {
    format!("Speak only as {name}. Never say you are an AI, a model or an assistant.")
}

pub(crate) fn reply_in_at_most(sentences: i64) -> String {
    format!("Reply in {}.", at_most_short_sentences(sentences))
}

fn at_most_short_sentences(count: i64) -> String {
    let noun = if count == 1 { "sentence" } else { "sentences" };
    format!("at most {count} short {noun}")
}

/// For characters that can look facts up.
pub(crate) const CHECK_FACTS: &str = "Use your tools to check facts about the world, such as items, prices, people \
and places. Never invent them.";

/// For characters that cannot.
pub(crate) const ADMIT_IGNORANCE: &str =
    "If you do not know something, say so in character. Never invent facts.";

/// Where the secrets are always in view.
pub(crate) const GUARD_SECRET: &str =
    "Keep your secret. Tell it only if the player has truly earned your trust.";

/// Once the relationship is good enough.
pub(crate) const SHARE_SECRET: &str =
    "The player has earned your trust. You may share your secret if asked about it.";

// What follows the rules, where it applies.

pub(crate) const WHEN_TO_REMEMBER: &str = "Call remember_fact when the player says something worth remembering, \
such as a name, a promise or a wish.";

pub(crate) const WHEN_FEELINGS_CHANGE: &str =
    "Call change_relationship when the player clearly pleases or offends you.";

/// For replies in text. `emotions` are named where the game allows only some.
pub(crate) fn begin_with_emotion(emotions: &AllowedEmotions) -> String {
    let rule = "Begin every reply with your emotion in square brackets";
    match emotions.as_slice() {
        [one] => format!("{rule}: [{one}]."),
        [others @ .., last] if !emotions.are_all() => {
            let others: Vec<_> = others.iter().map(|emotion| format!("[{emotion}]")).collect();
            format!("{rule}: {} or [{last}].", others.join(", "))
        }
        _ => format!("{rule}, such as [curious]."),
    }
}

// The memory block, which follows the instructions.

pub(crate) const MEMORY: &str = "Memory:";
pub(crate) const YOU_REMEMBER: &str = "You remember";
pub(crate) const EARLIER_CONVERSATION: &str = "Earlier conversation";

pub(crate) fn you_feel(relationship: Relationship) -> String {
    let (attitude, number) = (relationship.attitude(), relationship.get());
    format!("You feel {attitude} toward the player ({number} on a scale from -100 to 100).")
}

// The memory tools: what the model is told of them, and what it hears back.

pub(crate) const REMEMBER_FACT: &str = "remember_fact";
pub(crate) const REMEMBER_FACT_DESCRIPTION: &str = "Remember a fact about the player or the world for later \
conversations. Use it for names, promises, deals and wishes.";
pub(crate) const FACT_DESCRIPTION: &str =
    "The fact in one short sentence, such as 'The player's name is Aria.'";

pub(crate) const REMEMBERED: &str = "Remembered.";
pub(crate) const ALREADY_KNOWN: &str = "You already know that.";
pub(crate) const EMPTY_FACT: &str = "The fact is empty.";

pub(crate) const CHANGE_RELATIONSHIP: &str = "change_relationship";
pub(crate) const CHANGE_RELATIONSHIP_DESCRIPTION: &str = "Change how you feel about the player. Use it when the \
player clearly pleases or offends you.";
pub(crate) const REASON_DESCRIPTION: &str = "Why your feelings change, in a few words.";

pub(crate) fn delta_description(limit: i64) -> String {
    format!("The change: up to {limit} if you like the player more now, down to -{limit} if less.")
}

pub(crate) fn you_now_feel(relationship: Relationship) -> String {
    format!("You now feel {} toward the player ({}).", relationship.attitude(), relationship.get())
}

/// A tool was called without an argument, or with one of another `kind` (`a string`) than it must be.
pub(crate) fn wrong_argument(tool: &str, argument: &str, kind: &str, got: Option<&Value>) -> String {
    let got = got.map_or_else(|| "nothing".to_owned(), oam_agent::json_text::abridged);
    format!("Argument '{argument}' of tool '{tool}' must be {kind}; got {got}.")
}

// Prompts.

pub(crate) const GAME_STATE: &str = "Game state:";
pub(crate) const SITUATION: &str = "Situation";
/// Who speaks to the character; also the label in what is summarized.
pub(crate) const PLAYER: &str = "Player";
/// Stands where the player's words would.
pub(crate) const SILENCE: &str = "(The player says nothing.)";
/// The situation of a bark that has none.
pub(crate) const ORDINARY_MOMENT: &str = "An ordinary moment.";

/// Heads the tool outputs in the prompt of a blocked turn's second try, in which tools are off.
pub(crate) const FACTS_LOOKED_UP: &str = "Facts you just looked up:";
/// Ends that prompt, worded as a stage direction.
pub(crate) const ANSWER_AS_TEXT: &str = "(The answer is one short spoken line in character. It begins with the \
emotion in square brackets, such as [curious].)";

// The form of a structured reply.

pub(crate) fn emotion_description(name: &str) -> String {
    format!("How {name} feels now.")
}

pub(crate) fn line_description(name: &str, sentences: i64, has_fact_tools: bool) -> String {
    let limit = at_most_short_sentences(sentences);
    let facts =
        if has_fact_tools { " Name the facts that a tool just gave, such as items and prices." } else { "" };
    format!("What {name} says aloud, in character: {limit}.{facts}")
}

pub(crate) fn player_options_description(count: u8) -> String {
    match count {
        1 => "One short reply the player could give.".to_owned(),
        count => format!("{count} short, different replies the player could give."),
    }
}

pub(crate) fn ends_conversation_description(name: &str) -> String {
    format!("True only if {name} ends the conversation now.")
}

/// Stands for a name that is too long to be repeated.
pub(crate) const THE_CHARACTER: &str = "the character";

// Summaries of older turns.

pub(crate) fn summary_instructions(name: &str) -> String {
    format!(
        "You keep {name}'s memory of talking with the player. Fold the new lines into the summary so far. Keep names, \
         promises, deals, items, prices, facts and feelings; leave out small talk. Where a line of {name} is JSON, only \
         its \"line\" was spoken. Answer with at most 100 words of plain prose in the third person and nothing else."
    )
}

// What a character says when the model gives it no words.

/// Used in rotation when the game gives no fallback lines of its own.
pub(crate) const FALLBACK_LINES: [&str; 3] =
    ["Let's talk about something else.", "I'd rather not speak of that.", "Hmm. Ask me something else."];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emotion::Emotion;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn memory_tools_as_the_model_sees_them() {
        let texts = [
            REMEMBER_FACT_DESCRIPTION,
            FACT_DESCRIPTION,
            CHANGE_RELATIONSHIP_DESCRIPTION,
            REASON_DESCRIPTION,
            &delta_description(10),
            REMEMBERED,
            ALREADY_KNOWN,
            EMPTY_FACT,
            &you_now_feel(Relationship::new(-70)),
            &wrong_argument(REMEMBER_FACT, "fact", "a string", Some(&json!(["x"]))),
            &wrong_argument(CHANGE_RELATIONSHIP, "delta", "an integer", None),
        ];
        expect![[r#"
            Remember a fact about the player or the world for later conversations. Use it for names, promises, deals and wishes.
            The fact in one short sentence, such as 'The player's name is Aria.'
            Change how you feel about the player. Use it when the player clearly pleases or offends you.
            Why your feelings change, in a few words.
            The change: up to 10 if you like the player more now, down to -10 if less.
            Remembered.
            You already know that.
            The fact is empty.
            You now feel hostile toward the player (-70).
            Argument 'fact' of tool 'remember_fact' must be a string; got ["x"].
            Argument 'delta' of tool 'change_relationship' must be an integer; got nothing."#]]
        .assert_eq(&texts.join("\n"));
    }

    #[test]
    fn emotions_are_named_where_only_some_are_allowed() {
        let rules = [
            begin_with_emotion(&AllowedEmotions::default()),
            begin_with_emotion(&AllowedEmotions::new([Emotion::Sad])),
            begin_with_emotion(&AllowedEmotions::new([Emotion::Sad, Emotion::Happy, Emotion::Proud])),
        ];
        expect![[r"
            Begin every reply with your emotion in square brackets, such as [curious].
            Begin every reply with your emotion in square brackets: [sad].
            Begin every reply with your emotion in square brackets: [sad], [happy] or [proud]."]]
        .assert_eq(&rules.join("\n"));
    }

    #[test]
    fn summaries_are_asked_for_by_name() {
        expect![[r#"You keep Gorm's memory of talking with the player. Fold the new lines into the summary so far. Keep names, promises, deals, items, prices, facts and feelings; leave out small talk. Where a line of Gorm is JSON, only its "line" was spoken. Answer with at most 100 words of plain prose in the third person and nothing else."#]].assert_eq(&summary_instructions("Gorm"));
    }
}
