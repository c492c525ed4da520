//! Where the guest's lines come from: lines given beforehand, or a person at the terminal.

use std::collections::VecDeque;

use super::show::{PLAYER_PROMPT, Show};
use crate::{
    console,
    failure::Failure,
    line_editor::{Entered, LineEditor, LinePrompt, Remember},
};

/// Somebody who talks to Mira.
#[derive(Debug)]
pub(crate) enum Player {
    /// Says these, then leaves.
    Reading(VecDeque<String>),
    /// Is asked.
    Typing(LineEditor),
}

/// What the guest does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Move {
    Say(String),
    Leave,
    /// Ctrl-C
    Interrupt,
}

/// What a line that is entered means.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Say(String),
    Leave,
    NoSuchSuggestion(usize),
}

impl Player {
    /// How many lines are still to be said, if that is known.
    pub(crate) fn remaining_lines(&self) -> Option<usize> {
        match self {
            Self::Reading(lines) => Some(lines.len()),
            Self::Typing(_) => None,
        }
    }

    /// There may be another line.
    pub(super) fn is_there(&self) -> bool {
        self.remaining_lines() != Some(0)
    }

    pub(super) async fn next(&mut self, show: &Show, suggestions: &[String]) -> Result<Move, Failure> {
        loop {
            let entered = match self {
                Self::Reading(lines) => {
                    let Some(line) = lines.pop_front() else { return Ok(Move::Leave) };
                    show.player(&line);
                    line
                }
                Self::Typing(editor) => match editor.read(prompt(), Remember::Yes).await? {
                    Entered::Line(line) => line,
                    Entered::End => return Ok(Move::Leave),
                    Entered::Interrupt => return Ok(Move::Interrupt),
                },
            };
            match meaning(&entered, suggestions) {
                Meaning::Say(line) => return Ok(Move::Say(line)),
                Meaning::Leave => return Ok(Move::Leave),
                Meaning::NoSuchSuggestion(number) => show.aside(&format!("There is no suggestion {number}.")),
            }
        }
    }
}

fn prompt() -> LinePrompt {
    LinePrompt::plain(PLAYER_PROMPT).styled(console::PROMPT)
}

fn meaning(entered: &str, suggestions: &[String]) -> Meaning {
    // A line that was pasted may hold several.
    let line = entered.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() || ["q", "quit", "exit", "bye"].contains(&line.to_lowercase().as_str()) {
        return Meaning::Leave;
    }
    match line.parse::<usize>() {
        Ok(number) => match number.checked_sub(1).and_then(|place| suggestions.get(place)) {
            Some(suggestion) => Meaning::Say(suggestion.clone()),
            None => Meaning::NoSuchSuggestion(number),
        },
        Err(_) => Meaning::Say(line),
    }
}

/// Whether somebody who says this is about to go.
pub(super) fn sounds_like_farewell(line: &str) -> bool {
    const FAREWELLS: [&str; 8] =
        ["bye", "goodnight", "good night", "farewell", "see you", "i'm off", "i must go", "leave"];
    let line = line.to_lowercase().replace('’', "'");
    FAREWELLS.iter().any(|farewell| line.contains(farewell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_a_suggestion_and_nothing_leaves() {
        let suggestions = ["An ale, please.".to_owned(), "Any news?".to_owned()];
        let say = |line: &str| Meaning::Say(line.to_owned());
        let cases = [
            ("2", say("Any news?")),
            (" 1 ", say("An ale, please.")),
            ("3", Meaning::NoSuchSuggestion(3)),
            ("0", Meaning::NoSuchSuggestion(0)),
            ("2 ales", say("2 ales")),
            ("two\nlines", say("two lines")),
            ("", Meaning::Leave),
            (" \t", Meaning::Leave),
            ("BYE", Meaning::Leave),
            ("q", Meaning::Leave),
            ("bye, Mira", say("bye, Mira")),
        ];
        for (entered, expected) in cases {
            assert_eq!(meaning(entered, &suggestions), expected, "{entered:?}");
        }
    }

    #[test]
    fn farewells_are_heard_in_the_middle_of_a_line() {
        for line in ["Well, goodbye!", "I’m off, Mira", "GOOD NIGHT", "Time to leave."] {
            assert!(sounds_like_farewell(line), "{line}");
        }
        assert!(!sounds_like_farewell("An ale, please."));
    }
}
