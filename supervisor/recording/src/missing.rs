//! What is said to somebody who asks what is not recorded.

use std::fmt::Write as _;

use oam_agent::json_text;

use crate::{
    owner::Owner,
    question::{News, Question, StepKey},
    step::RecordedStep,
};

/// A question that is not recorded.
#[derive(Debug)]
pub(crate) struct Missing<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) question: &'a Question,
    pub(crate) key: &'a StepKey,
    pub(crate) instead: Instead<'a>,
}

/// What is recorded instead.
#[derive(Debug)]
pub(crate) enum Instead<'a> {
    /// Nothing of this owner. Those that there is something of.
    Others(Vec<&'a Owner>),
    /// So many conversations, which have all been played.
    AllPlayed(usize),
    /// So many steps of this conversation, which have all been played.
    AllStepsPlayed(usize),
    /// A step that asks something else, counted from 1.
    Step { number: usize, step: &'a RecordedStep },
}

/// How many names, or outputs of tools, a message lists.
const MOST_LISTED: usize = 8;

/// How much of a text a message quotes, in characters.
const LONGEST_QUOTE: usize = 80;

impl Missing<'_> {
    /// What is missing, as full sentences.
    pub(crate) fn message(&self) -> String {
        let Self { owner, question, instead, .. } = self;
        let asked = asked(question);
        match instead {
            Instead::Others(others) => {
                let mut names: Vec<_> = others.iter().take(MOST_LISTED).map(ToString::to_string).collect();
                if others.len() > MOST_LISTED {
                    names.push(format!("{} more", others.len() - MOST_LISTED));
                }
                let known = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                format!("Nothing is recorded for {owner}, which {asked}. The recording has {known}.")
            }
            Instead::AllPlayed(count) => {
                format!(
                    "Everything that is recorded for {owner} has been played ({}); now it {asked}.",
                    counted(*count, "conversation")
                )
            }
            Instead::AllStepsPlayed(count) => {
                format!("The recording of {owner} ends after {}; now it {asked}.", counted(*count, "step"))
            }
            Instead::Step { number, step } => {
                let mut message =
                    format!("Step {number} of {owner} is not as it was recorded: {}.", self.difference(step));
                match self.texts(step) {
                    Some((recorded, asked)) => {
                        let _ = write!(message, " Recorded: {recorded}. Asked: {asked}.");
                    }
                    None => {
                        let _ = write!(message, " It {asked}.");
                    }
                }
                message
            }
        }
    }

    fn difference(&self, step: &RecordedStep) -> String {
        let turn = match (&step.question, &self.question.news) {
            (Some(Question { news: News::Prompt(recorded), .. }), News::Prompt(asked))
                if recorded != asked =>
            {
                "the prompt"
            }
            (Some(Question { news: News::Outputs(recorded), .. }), News::Outputs(asked))
                if recorded != asked =>
            {
                "what the tools returned"
            }
            _ => "what the turn asked and did",
        };
        let parts = [
            (self.key.turn != step.key.turn, turn),
            (self.key.instructions != step.key.instructions, "the instructions"),
            (self.key.tools != step.key.tools, "the tools"),
            (self.key.schema != step.key.schema, "the schema"),
        ];
        let parts: Vec<_> = parts.into_iter().filter_map(|(differs, part)| differs.then_some(part)).collect();
        match parts.as_slice() {
            // The step has been played already.
            [] => "it asks the same once more".to_owned(),
            [only] if only.ends_with('s') => format!("{only} differ"),
            [only] => format!("{only} differs"),
            [others @ .., last] => format!("{} and {last} differ", others.join(", ")),
        }
    }

    /// The first part that differs and whose texts are known, as it was recorded and as it is asked.
    fn texts(&self, step: &RecordedStep) -> Option<(String, String)> {
        let recorded = step.question.as_ref()?;
        match (&recorded.news, &self.question.news) {
            (recorded, asked) if recorded == asked => {}
            (News::Prompt(recorded), News::Prompt(asked)) => return Some(around_difference(recorded, asked)),
            (News::Outputs(recorded), News::Outputs(asked)) if recorded.len() == asked.len() => {
                let mut pairs = recorded.iter().zip(asked);
                return pairs
                    .find(|(recorded, asked)| recorded != asked)
                    .map(|(one, other)| around_difference(one, other));
            }
            (recorded, asked) => return Some((quoted_news(recorded), quoted_news(asked))),
        }
        let instructions =
            |question: &Question| question.instructions.as_deref().unwrap_or_default().to_owned();
        (self.key.instructions != step.key.instructions)
            .then(|| around_difference(&instructions(recorded), &instructions(self.question)))
    }
}

fn asked(question: &Question) -> String {
    match &question.news {
        News::Prompt(_) => format!("asks {}", quoted_news(&question.news)),
        News::Outputs(_) => format!("goes on after tools returned {}", quoted_news(&question.news)),
    }
}

fn quoted_news(news: &News) -> String {
    match news {
        News::Prompt(text) => quoted(text, LONGEST_QUOTE),
        News::Outputs(outputs) => {
            let share = LONGEST_QUOTE / outputs.len().clamp(1, MOST_LISTED);
            let mut listed: Vec<_> =
                outputs.iter().take(MOST_LISTED).map(|output| quoted(output, share)).collect();
            if outputs.len() > MOST_LISTED {
                listed.push("…".to_owned());
            }
            listed.join(", ")
        }
    }
}

/// The text as a JSON string; of a long one the first characters.
fn quoted(text: &str, longest: usize) -> String {
    if text.chars().nth(longest).is_none() {
        return json_text::compact(text);
    }
    let start: String = text.chars().take(longest - 1).collect();
    json_text::compact(&format!("{start}…"))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Both texts as messages show them, from shortly before the place where they begin to differ.
fn around_difference(one: &str, other: &str) -> (String, String) {
    /// Characters that are shown of what is equal.
    const BEFORE: usize = 20;
    let equal = one.char_indices().zip(other.chars()).take_while(|((_, one), other)| one == other);
    // Where the last of the equal characters begin, oldest first.
    let starts: Vec<usize> = equal.map(|((at, _), _)| at).collect();
    let start = starts.len().checked_sub(BEFORE).map_or(0, |first| starts[first]);
    let shown = |text: &str| {
        let mark = if start > 0 { "…" } else { "" };
        quoted(&format!("{mark}{}", &text[start..]), LONGEST_QUOTE)
    };
    (shown(one), shown(other))
}
