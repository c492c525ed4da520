//! What can be chosen: at least one option, each with an id of its own.

use std::{collections::HashSet, fmt, sync::Arc};

use serde::Serialize;

/// The id of an option: not blank, without white space around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct OptionId(Arc<str>);

impl OptionId {
    /// The id that `text` is when trimmed, unless it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionOption {
    /// What the game calls it.
    pub id: OptionId,
    /// What it means, for the model; may be blank where the id says it all.
    pub description: String,
}

/// The options of one decision, and which of them stands in when the model will not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionOptions {
    options: Vec<DecisionOption>,
    fallback: Option<OptionId>,
}

/// Why options cannot be decided between.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOptions {
    /// There is none.
    #[error("There are no options to decide between.")]
    Empty,
    /// Two options share an id.
    #[error("Duplicate option id '{0}'.")]
    Duplicate(OptionId),
}

impl DecisionOptions {
    /// These options, in the order in which the model is shown them. Ids that differ in case differ.
    pub fn new(options: Vec<DecisionOption>) -> Result<Self, InvalidOptions> {
        if options.is_empty() {
            return Err(InvalidOptions::Empty);
        }
        let mut ids = HashSet::with_capacity(options.len());
        if let Some(twice) = options.iter().find(|option| !ids.insert(&option.id)) {
            return Err(InvalidOptions::Duplicate(twice.id.clone()));
        }
        Ok(Self { options, fallback: None })
    }

    /// The same options, of which the one called `id` (white space around it does not count) stands in when guardrails
    /// or the model itself refuse a decision. `None` when no option has this id.
    #[must_use]
    pub fn with_fallback(mut self, id: &str) -> Option<Self> {
        let fallback = self.ids().find(|option| option.as_str() == id.trim())?.clone();
        self.fallback = Some(fallback);
        Some(self)
    }

    /// The options.
    pub fn as_slice(&self) -> &[DecisionOption] {
        &self.options
    }

    /// The option that stands in.
    pub fn fallback(&self) -> Option<&OptionId> {
        self.fallback.as_ref()
    }

    /// The only option, if there is just one.
    pub(super) fn only(&self) -> Option<&OptionId> {
        match &*self.options {
            [only] => Some(&only.id),
            _ => None,
        }
    }

    /// The option that a model means by `choice`: white space around it does not count, and its case only where
    /// that decides between two.
    pub(super) fn meant_by(&self, choice: &str) -> Option<&OptionId> {
        let choice = choice.trim();
        let in_lower_case = choice.to_lowercase();
        self.ids()
            .find(|id| id.as_str() == choice)
            .or_else(|| self.ids().find(|id| id.as_str().to_lowercase() == in_lower_case))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &OptionId> {
        self.options.iter().map(|option| &option.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(ids: &[&str]) -> Result<DecisionOptions, InvalidOptions> {
        let option =
            |id: &&str| DecisionOption { id: OptionId::new(id).unwrap(), description: String::new() };
        DecisionOptions::new(ids.iter().map(option).collect())
    }

    #[test]
    fn ids_are_trimmed_and_never_blank() {
        assert_eq!(OptionId::new(" run away\n").unwrap().as_str(), "run away");
        for blank in ["", " ", "\t\u{a0}\n"] {
            assert_eq!(OptionId::new(blank), None, "{blank:?}");
        }
    }

    #[test]
    fn options_are_some_and_no_two_are_called_the_same() {
        assert_eq!(options(&[]), Err(InvalidOptions::Empty));
        let error = options(&["a", "b", " a "]).unwrap_err();
        assert_eq!(error.to_string(), "Duplicate option id 'a'.");
        assert!(options(&["a", "A"]).is_ok(), "case tells ids apart");
    }

    #[test]
    fn only_an_option_can_stand_in() {
        let options = options(&["a", "b"]).unwrap();
        assert_eq!(options.fallback(), None);
        for (id, fallback) in [("b", Some("b")), (" b ", Some("b")), ("B", None), ("c", None), ("", None)] {
            let options = options.clone().with_fallback(id);
            let stands_in = options.as_ref().and_then(DecisionOptions::fallback).map(OptionId::as_str);
            assert_eq!(stands_in, fallback, "{id:?}");
        }
    }

    #[test]
    fn a_choice_may_be_written_carelessly() {
        let options = options(&["flee", "Flee", "Überfall"]).unwrap();
        let cases = [
            ("flee", Some("flee")),
            ("Flee", Some("Flee")),
            (" FLEE\n", Some("flee")),
            ("überFALL", Some("Überfall")),
            ("flee.", None),
            ("", None),
        ];
        for (choice, meant) in cases {
            assert_eq!(options.meant_by(choice).map(OptionId::as_str), meant, "{choice:?}");
        }
    }
}
