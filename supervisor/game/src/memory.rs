//! What a character remembers of the player, and what it is about to remember.
//!
//! A turn does not touch the [`Memory`] itself: tools write into [`MemoryChanges`], which are applied when the turn
//! succeeds and forgotten when it does not.

use serde::Serialize;

/// How a character feels about the player, from −100 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct Relationship(i8);

impl Relationship {
    const LIMIT: i8 = 100;

    /// The nearest value within the limits.
    pub fn new(value: i64) -> Self {
        let nearest = if value < 0 { -Self::LIMIT } else { Self::LIMIT };
        Self(i8::try_from(value).map_or(nearest, |value| value.clamp(-Self::LIMIT, Self::LIMIT)))
    }

    /// The value.
    pub fn get(self) -> i64 {
        i64::from(self.0)
    }

    /// The relationship after a change, kept within the limits.
    #[must_use]
    pub fn changed_by(self, delta: i64) -> Self {
        Self::new(self.get().saturating_add(delta))
    }

    /// The word for it: `friendly`.
    pub fn attitude(self) -> &'static str {
        match self.0 {
            ..-60 => "hostile",
            -60..-20 => "unfriendly",
            -20..=20 => "neutral",
            21..=60 => "friendly",
            61.. => "trusting",
        }
    }
}

/// What a character remembers (docs/PROTOCOL.md, `npc/create`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Memory {
    /// Oldest first.
    pub facts: Vec<String>,
    /// How it feels about the player.
    pub relationship: Relationship,
    /// What happened before the turns that are still remembered word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// What came of asking a character to remember a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remembered {
    /// It is new.
    New,
    /// The character knows it already.
    Known,
    /// There was no fact.
    Blank,
}

/// What a turn is about to change in a memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MemoryChanges {
    facts: Vec<String>,
    delta: i64,
}

impl Memory {
    /// Stages a fact, unless memory or changes hold an equal one. Letters and digits count, case does not.
    pub(crate) fn remember(&self, fact: &str, changes: &mut MemoryChanges) -> Remembered {
        let fact = fact.trim();
        if fact.is_empty() {
            return Remembered::Blank;
        }
        let essence = essence(fact);
        let mut known = self.facts.iter().chain(&changes.facts);
        if known.any(|known| self::essence(known) == essence) {
            return Remembered::Known;
        }
        changes.facts.push(fact.to_owned());
        Remembered::New
    }

    /// Stages a change of the relationship; returns what it then is.
    pub(crate) fn change_relationship(&self, delta: i64, changes: &mut MemoryChanges) -> Relationship {
        let relationship = self.relationship.changed_by(changes.delta).changed_by(delta);
        changes.delta = relationship.get() - self.relationship.get();
        relationship
    }

    /// Applies staged changes. Of more than `max_facts` facts the oldest are forgotten; that only happens when a new
    /// one is remembered.
    pub(crate) fn apply(&mut self, changes: MemoryChanges, max_facts: usize) {
        self.relationship = self.relationship.changed_by(changes.delta);
        if changes.facts.is_empty() {
            return;
        }
        self.facts.extend(changes.facts);
        let excess = self.facts.len().saturating_sub(max_facts);
        self.facts.drain(..excess);
    }
}

/// A fact as facts are compared.
fn essence(fact: &str) -> String {
    fact.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relationship_has_its_word() {
        let cases = [
            (-1000, -100, "hostile"),
            (-61, -61, "hostile"),
            (-60, -60, "unfriendly"),
            (-21, -21, "unfriendly"),
            (-20, -20, "neutral"),
            (20, 20, "neutral"),
            (21, 21, "friendly"),
            (60, 60, "friendly"),
            (61, 61, "trusting"),
            (i64::MAX, 100, "trusting"),
        ];
        for (given, kept, attitude) in cases {
            let relationship = Relationship::new(given);
            assert_eq!((relationship.get(), relationship.attitude()), (kept, attitude), "{given}");
        }
    }

    #[test]
    fn a_fact_is_remembered_once_however_it_is_written() {
        let memory = Memory { facts: vec!["The player's name is Aria.".into()], ..Memory::default() };
        let mut changes = MemoryChanges::default();
        let cases = [
            (" the players NAME is aria!", Remembered::Known),
            ("  ", Remembered::Blank),
            ("Aria likes axes.", Remembered::New),
            ("ARIA LIKES AXES", Remembered::Known),
        ];
        for (fact, outcome) in cases {
            assert_eq!(memory.remember(fact, &mut changes), outcome, "{fact}");
        }
        assert_eq!(memory.facts.len(), 1, "nothing is applied yet");
    }

    #[test]
    fn the_oldest_facts_make_room_for_new_ones() {
        let given = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut memory = Memory { facts: given(), ..Memory::default() };
        memory.apply(MemoryChanges::default(), 2);
        assert_eq!(memory.facts, given(), "what the game gave stays until something new is learnt");
        let mut changes = MemoryChanges::default();
        memory.remember("d", &mut changes);
        memory.apply(changes, 2);
        assert_eq!(memory.facts, ["c", "d"]);
    }

    #[test]
    fn staged_changes_of_the_relationship_add_up_within_the_limits() {
        let mut memory = Memory { relationship: Relationship::new(95), ..Memory::default() };
        let mut changes = MemoryChanges::default();
        assert_eq!(memory.change_relationship(10, &mut changes).get(), 100);
        assert_eq!(memory.change_relationship(-30, &mut changes).get(), 70);
        memory.apply(changes, 12);
        assert_eq!(memory.relationship.get(), 70);
    }
}
