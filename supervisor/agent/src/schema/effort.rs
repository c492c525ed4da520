//! How long may a check take?
//!
//! The work is counted in looks: at a part of a value, with one of the types that it may have. A look takes some 20 to 100 ns.
//! Only unions make many of them, where each alternative is tried on each part, and on what is in it.

use serde_json::Value;

/// As many looks as checking a value and ordering it may take: a second at most.
pub(super) const MAX_LOOKS: usize = 10_000_000;
/// What others can be made to wait for: a millisecond at most.
const SHORT: usize = 10_000;
/// How many JSON values of a schema are read in that time.
const SHORT_SCHEMA: usize = 5_000;
/// A look at text takes as long as looking it through up to here.
pub(super) const TEXT: usize = 64;

/// The looks that are left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looks {
    left: usize,
}

/// None is left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Looks {
    pub(super) fn new(most: usize) -> Self {
        Self { left: most }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn spend(&mut self, looks: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(looks).ok_or(TooLarge)?;
        Ok(())
    }

    /// What it takes to look a text through beyond the look at its beginning.
    pub(super) fn spend_on_text(&mut self, text: &str) -> Result<(), TooLarge> {
        self.spend(text.len() / TEXT)
    }
}

/// Whether reading the types of `schema` may take long.
pub(super) fn is_large_schema(schema: &Value) -> bool {
    is_more_than(schema, SHORT_SCHEMA)
}

/// Whether it may take long to try so many alternatives on the parts of `value`.
pub(super) fn is_large_for_value(alternatives: usize, value: &Value) -> bool {
    is_more_than(value, SHORT / alternatives)
}

/// The same for a value that is still text.
pub(super) fn is_large_for_text(alternatives: usize, text: &str) -> bool {
    // A value and what parts it from the next one are at least two bytes.
    text.len().div_ceil(2) > SHORT / alternatives
}

/// Whether a value has more parts. Every [`TEXT`] bytes of text are one more.
fn is_more_than(value: &Value, most: usize) -> bool {
    let mut parts = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        parts += 1;
        match value {
            Value::String(text) => parts += text.len() / TEXT,
            Value::Array(elements) => open.extend(elements.iter().take(most)),
            Value::Object(members) => {
                for (key, member) in members.iter().take(most) {
                    parts += key.len() / TEXT;
                    open.push(member);
                }
            }
            _ => {}
        }
        if parts > most {
            return true;
        }
    }
    false
}
