//! What a character is told before a conversation: who it is, its rules, and what it remembers.
//!
//! The instructions change rarely, so a model can keep them; what changes from turn to turn (the memory) follows
//! them as a note of its own.

use std::fmt::Display;

use crate::{
    memory::{Memory, Relationship},
    npc::{NpcOptions, ReplyFormat},
    persona::Persona,
    sentences::{labelled, list, sentence, without_full_stop},
    wording,
};

/// Whether a character has its secrets in view, and what it may do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// They are not in the instructions at all: a small model tells what it knows.
    Hidden,
    /// They are, with a rule to keep them.
    Guarded,
    /// They are, and may be told.
    Shareable,
}

impl Secrets {
    /// What a relationship allows.
    pub(crate) fn of(options: &NpcOptions, relationship: Relationship) -> Self {
        match options.secrets_unlock_at_relationship {
            None => Self::Guarded,
            Some(threshold) if relationship.get() >= threshold => Self::Shareable,
            Some(_) => Self::Hidden,
        }
    }

    fn rule(self) -> Option<&'static str> {
        match self {
            Self::Hidden => None,
            Self::Guarded => Some(wording::GUARD_SECRET),
            Self::Shareable => Some(wording::SHARE_SECRET),
        }
    }
}

/// The instructions of a conversation. Fact tools are all but the memory tools.
pub(crate) fn instructions(
    persona: &Persona,
    options: &NpcOptions,
    secrets: Secrets,
    has_fact_tools: bool,
) -> String {
    let mut lines = sheet(persona, persona.max_sentences, secrets, has_fact_tools);
    lines.extend(extra(options));
    if options.memory_tools.remember_fact {
        lines.push(wording::WHEN_TO_REMEMBER.to_owned());
    }
    if options.memory_tools.change_relationship {
        lines.push(wording::WHEN_FEELINGS_CHANGE.to_owned());
    }
    if options.reply_format == ReplyFormat::Text {
        lines.push(wording::begin_with_emotion(&options.emotions));
    }
    lines.join("\n")
}

/// The instructions of a bark: one sentence, with nothing to look up and no secrets to tell.
pub(crate) fn bark_instructions(persona: &Persona, options: &NpcOptions) -> String {
    let mut lines = sheet(persona, 1, Secrets::Hidden, false);
    lines.extend(extra(options));
    lines.join("\n")
}

/// The note that follows the instructions; `None` when there is nothing to remember.
pub(crate) fn memory_note(memory: &Memory, offers_change_relationship: bool) -> Option<String> {
    let mut notes = Vec::new();
    if memory.relationship != Relationship::default() || offers_change_relationship {
        notes.push(wording::you_feel(memory.relationship));
    }
    notes.extend(labelled(wording::YOU_REMEMBER, list(&memory.facts)));
    let summary = memory.summary.as_deref().and_then(sentence);
    notes.extend(labelled(wording::EARLIER_CONVERSATION, summary));
    let note = |lines: Vec<String>| format!("{}\n{}", wording::MEMORY, lines.join("\n"));
    (!notes.is_empty()).then(|| note(notes.iter().map(bullet).collect()))
}

/// Persona and rules, line by line.
fn sheet(persona: &Persona, max_sentences: i64, secrets: Secrets, has_fact_tools: bool) -> Vec<String> {
    let name = persona.name.trim();
    let secret = list(&persona.secrets).filter(|_| secrets != Secrets::Hidden);
    let mut rules = vec![
        wording::speak_only_as(name),
        wording::reply_in_at_most(max_sentences.max(1)),
        (if has_fact_tools { wording::CHECK_FACTS } else { wording::ADMIT_IGNORANCE }).to_owned(),
    ];
    if secret.is_some() {
        rules.extend(secrets.rule().map(str::to_owned));
    }

    let mut lines = vec![wording::you_play(name, without_full_stop(&persona.role))];
    let facts = [
        (wording::PERSONALITY, sentence(&persona.personality)),
        (wording::SPEAKING_STYLE, sentence(&persona.speaking_style)),
        (wording::BACKGROUND, sentence(&persona.backstory)),
        (wording::GOALS, list(&persona.goals)),
        (wording::KNOWLEDGE, list(&persona.knowledge)),
        (wording::SECRET, secret),
    ];
    lines.extend(facts.into_iter().filter_map(|(label, text)| labelled(label, text)));
    lines.push(wording::RULES.to_owned());
    lines.extend(rules.iter().map(bullet));
    lines
}

fn extra(options: &NpcOptions) -> Option<String> {
    let text = options.extra_instructions.as_deref()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn bullet(text: impl Display) -> String {
    format!("- {text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npc::MemoryTools;
    use expect_test::expect;

    fn gorm() -> Persona {
        Persona {
            role: "the village blacksmith".into(),
            personality: "Gruff and proud, but fair. Secretly soft-hearted.".into(),
            speaking_style: "Short, blunt sentences. Calls people 'lad' or 'lass'.".into(),
            goals: vec!["Sell his weapons at a fair price".into()],
            ..Persona::new("Gorm")
        }
    }

    fn full() -> Persona {
        Persona {
            backstory: " Made tools for twenty years ".into(),
            goals: vec!["Sell his wares.".into(), "  ".into(), "Find an apprentice!".into()],
            knowledge: vec!["The mine to the north is haunted".into()],
            secrets: vec!["He forged the crown of glass.".into(), "He cannot read".into()],
            max_sentences: 1,
            ..gorm()
        }
    }

    #[test]
    fn the_smith_of_the_guide() {
        let text = instructions(&gorm(), &NpcOptions::default(), Secrets::Hidden, true);
        expect![[r"
            You play Gorm, the village blacksmith, a character in a video game.
            Personality: Gruff and proud, but fair. Secretly soft-hearted.
            Speaking style: Short, blunt sentences. Calls people 'lad' or 'lass'.
            Goals: Sell his weapons at a fair price.
            Rules:
            - Speak only as Gorm. Never say you are an AI, a model or an assistant.
            - Reply in at most 2 short sentences.
            - Use your tools to check facts about the world, such as items, prices, people and places. Never invent them."]]
        .assert_eq(&text);
        let tokens = text.chars().count().div_ceil(3);
        assert!(tokens <= 250, "{tokens} tokens, guessed high");
    }

    #[test]
    fn a_name_is_enough() {
        let options = NpcOptions::default();
        let guard = Persona { max_sentences: -3, role: " ".into(), ..Persona::new(" Guard ") };
        expect![[r"
            You play Guard, a character in a video game.
            Rules:
            - Speak only as Guard. Never say you are an AI, a model or an assistant.
            - Reply in at most 1 short sentence.
            - If you do not know something, say so in character. Never invent facts."]]
        .assert_eq(&instructions(&guard, &options, Secrets::Shareable, false));
    }

    #[test]
    fn everything_a_character_may_be_told() {
        let options = NpcOptions {
            memory_tools: MemoryTools::ALL,
            reply_format: ReplyFormat::Text,
            extra_instructions: Some("\nSetting: a frozen port.\n".into()),
            ..NpcOptions::default()
        };
        expect![[r"
            You play Gorm, the village blacksmith, a character in a video game.
            Personality: Gruff and proud, but fair. Secretly soft-hearted.
            Speaking style: Short, blunt sentences. Calls people 'lad' or 'lass'.
            Background: Made tools for twenty years.
            Goals: Sell his wares; Find an apprentice!
            You know: The mine to the north is haunted.
            Your secret: He forged the crown of glass; He cannot read.
            Rules:
            - Speak only as Gorm. Never say you are an AI, a model or an assistant.
            - Reply in at most 1 short sentence.
            - Use your tools to check facts about the world, such as items, prices, people and places. Never invent them.
            - Keep your secret. Tell it only if the player has truly earned your trust.
            Setting: a frozen port.
            Call remember_fact when the player says something worth remembering, such as a name, a promise or a wish.
            Call change_relationship when the player clearly pleases or offends you.
            Begin every reply with your emotion in square brackets, such as [curious]."]]
        .assert_eq(&instructions(&full(), &options, Secrets::Guarded, true));
    }

    #[test]
    fn a_secret_that_may_be_told() {
        let options = NpcOptions::default();
        expect![[r"
            You play Gorm, the village blacksmith, a character in a video game.
            Personality: Gruff and proud, but fair. Secretly soft-hearted.
            Speaking style: Short, blunt sentences. Calls people 'lad' or 'lass'.
            Background: Made tools for twenty years.
            Goals: Sell his wares; Find an apprentice!
            You know: The mine to the north is haunted.
            Your secret: He forged the crown of glass; He cannot read.
            Rules:
            - Speak only as Gorm. Never say you are an AI, a model or an assistant.
            - Reply in at most 1 short sentence.
            - If you do not know something, say so in character. Never invent facts.
            - The player has earned your trust. You may share your secret if asked about it."]]
        .assert_eq(&instructions(&full(), &options, Secrets::Shareable, false));
    }

    #[test]
    fn a_bark_is_one_sentence_without_secrets() {
        let options = NpcOptions {
            memory_tools: MemoryTools::ALL,
            reply_format: ReplyFormat::Text,
            extra_instructions: Some("It is winter.".into()),
            ..NpcOptions::default()
        };
        expect![[r"
            You play Gorm, the village blacksmith, a character in a video game.
            Personality: Gruff and proud, but fair. Secretly soft-hearted.
            Speaking style: Short, blunt sentences. Calls people 'lad' or 'lass'.
            Background: Made tools for twenty years.
            Goals: Sell his wares; Find an apprentice!
            You know: The mine to the north is haunted.
            Rules:
            - Speak only as Gorm. Never say you are an AI, a model or an assistant.
            - Reply in at most 1 short sentence.
            - If you do not know something, say so in character. Never invent facts.
            It is winter."]]
        .assert_eq(&bark_instructions(&Persona { max_sentences: 4, ..full() }, &options));
    }

    #[test]
    fn secrets_open_with_the_relationship() {
        let secrets = |threshold, relationship| {
            let options = NpcOptions { secrets_unlock_at_relationship: threshold, ..NpcOptions::default() };
            Secrets::of(&options, Relationship::new(relationship))
        };
        assert_eq!(secrets(Some(50), 49), Secrets::Hidden);
        assert_eq!(secrets(Some(50), 50), Secrets::Shareable);
        assert_eq!(secrets(Some(-10), -10), Secrets::Shareable);
        assert_eq!(secrets(None, 100), Secrets::Guarded);
    }

    #[test]
    fn the_memory_block() {
        let memory = Memory {
            facts: vec!["The player's name is Aria.".into()],
            relationship: Relationship::new(35),
            summary: Some("Aria bought an iron sword and promised to return.".into()),
        };
        expect![[r"
            Memory:
            - You feel friendly toward the player (35 on a scale from -100 to 100).
            - You remember: The player's name is Aria.
            - Earlier conversation: Aria bought an iron sword and promised to return."]]
        .assert_eq(&memory_note(&memory, false).unwrap());
    }

    #[test]
    fn the_memory_block_tells_only_what_there_is() {
        let blank = Memory { facts: vec![" ".into()], summary: Some("\n".into()), ..Memory::default() };
        assert_eq!(memory_note(&blank, false), None);
        let facts = Memory { facts: vec!["She likes axes.".into(), "She is a knight".into()], ..blank };
        let note = |offered| memory_note(&facts, offered).unwrap();
        assert_eq!(note(false), "Memory:\n- You remember: She likes axes; She is a knight.");
        assert!(note(true).contains("You feel neutral toward the player (0 on a scale from -100 to 100)."));
    }
}
