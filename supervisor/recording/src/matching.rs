//! Which recorded step answers a question.
//!
//! Steps are found by what they ask. A conversation that asks something for the first time becomes that of the recorded
//! ones which begins so, or goes on so; from then on only its own steps answer it, each once. So conversations that
//! run beside each other find their answers in any order, and one changed question spoils no other.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::{question::StepKey, step::RecordedStep};

/// What happens to a question that is not recorded as it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// It fails.
    #[default]
    Strict,
    /// It gets the answer of the step that comes next in the recording, with a warning in the log.
    Lenient,
}

/// What was recorded of one owner, and what of it has been played.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    conversations: Vec<Conversation>,
    /// Those that nobody plays, in the order of the recording.
    free: BTreeSet<usize>,
    /// The same by their first steps. Some may be taken by now.
    free_by_first: HashMap<StepKey, VecDeque<usize>>,
    /// Which one is played by which conversation.
    taken: HashMap<(u64, u64), usize>,
}

#[derive(Debug)]
struct Conversation {
    steps: Vec<RecordedStep>,
    unplayed: BTreeSet<usize>,
    /// The same by what they ask.
    unplayed_by_key: HashMap<StepKey, BTreeSet<usize>>,
    /// The one after the step that was played last.
    next: usize,
}

/// Where a recorded step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) conversation: usize,
    /// Counted from 0.
    pub(crate) step: usize,
}

/// What there is for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A step that was recorded with this question.
    Same(Place),
    /// A step that was recorded with another one, but comes next.
    Next(Place),
    /// Nothing, or nothing that may be used. What would have come next, if anything would.
    Nothing(Option<Place>),
}

impl Recorded {
    pub(crate) fn new(conversations: Vec<Vec<RecordedStep>>) -> Self {
        let mut free_by_first = HashMap::<_, VecDeque<_>>::new();
        for (index, steps) in conversations.iter().enumerate() {
            if let Some(first) = steps.first() {
                free_by_first.entry(first.key).or_default().push_back(index);
            }
        }
        Self {
            free: (0..conversations.len()).collect(),
            conversations: conversations.into_iter().map(Conversation::new).collect(),
            free_by_first,
            taken: HashMap::new(),
        }
    }

    pub(crate) fn step(&self, place: Place) -> &RecordedStep {
        &self.conversations[place.conversation].steps[place.step]
    }

    /// How many conversations there are.
    pub(crate) fn count(&self) -> usize {
        self.conversations.len()
    }

    /// How many steps the conversation has.
    pub(crate) fn len(&self, conversation: usize) -> usize {
        self.conversations[conversation].steps.len()
    }

    /// The recorded conversation that `conversation` plays.
    pub(crate) fn taken_by(&self, conversation: (u64, u64)) -> Option<usize> {
        self.taken.get(&conversation).copied()
    }

    /// Finds the step for a question, and counts it as played.
    pub(crate) fn find(&mut self, conversation: (u64, u64), key: &StepKey, matching: Matching) -> Found {
        let index = match self.taken_by(conversation) {
            Some(index) => index,
            None => match self.choose(key, matching) {
                Ok(index) => {
                    self.free.remove(&index);
                    self.taken.insert(conversation, index);
                    index
                }
                Err(most_alike) => {
                    let first = |conversation| Place { conversation, step: 0 };
                    return Found::Nothing(most_alike.map(first));
                }
            },
        };
        let place = |step| Place { conversation: index, step };
        let recorded = &mut self.conversations[index];
        match (recorded.play_same(key), matching) {
            (Some(step), _) => Found::Same(place(step)),
            (None, Matching::Strict) => Found::Nothing(recorded.upcoming().map(place)),
            (None, Matching::Lenient) => {
                recorded.play_next().map_or(Found::Nothing(None), |step| Found::Next(place(step)))
            }
        }
    }

    /// The free conversation that asks this. The error is the one that is most alike, if none does.
    fn choose(&mut self, key: &StepKey, matching: Matching) -> Result<usize, Option<usize>> {
        if let Some(beginnings) = self.free_by_first.get_mut(key) {
            while let Some(index) = beginnings.pop_front() {
                if self.free.contains(&index) {
                    return Ok(index);
                }
            }
        }
        let asks_it = |index: &&usize| self.conversations[**index].unplayed_by_key.contains_key(key);
        if let Some(index) = self.free.iter().find(asks_it) {
            return Ok(*index);
        }
        let likeness = |index: &&usize| {
            let first = self.conversations[**index].steps.first();
            first.map_or(0, |first| first.key.likeness(key))
        };
        // Of several, the earliest.
        let most_alike = self.free.iter().rev().max_by_key(likeness).copied();
        match (most_alike, matching) {
            (Some(index), Matching::Lenient) => Ok(index),
            _ => Err(most_alike.filter(|index| self.len(*index) > 0)),
        }
    }
}

impl Conversation {
    fn new(steps: Vec<RecordedStep>) -> Self {
        let mut unplayed_by_key = HashMap::<_, BTreeSet<_>>::new();
        for (index, step) in steps.iter().enumerate() {
            unplayed_by_key.entry(step.key).or_default().insert(index);
        }
        Self { unplayed: (0..steps.len()).collect(), unplayed_by_key, next: 0, steps }
    }

    fn play_same(&mut self, key: &StepKey) -> Option<usize> {
        let same = self.unplayed_by_key.get(key)?.first().copied()?;
        self.played(same);
        Some(same)
    }

    /// What comes after the step that was played last.
    fn upcoming(&self) -> Option<usize> {
        self.unplayed.range(self.next..).next().copied()
    }

    fn play_next(&mut self) -> Option<usize> {
        let next = self.upcoming()?;
        self.played(next);
        Some(next)
    }

    fn played(&mut self, step: usize) {
        self.unplayed.remove(&step);
        self.next = step + 1;
        if let Some(same) = self.unplayed_by_key.get_mut(&self.steps[step].key) {
            same.remove(&step);
            if same.is_empty() {
                self.unplayed_by_key.remove(&self.steps[step].key);
            }
        }
    }
}
