//! A text that grows, at each point of its growth.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Serialize, Serializer};

/// A growing text as it was at some point. All points of one growth share its characters, so each costs no more than what
/// it adds.
#[derive(Clone, Default)]
pub struct TextSoFar {
    /// Only ever grows.
    grown: Arc<Mutex<String>>,
    /// Where the point is, in bytes.
    length: usize,
}

impl TextSoFar {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What `read` makes of the text. It must not grow one.
    pub fn read<R>(&self, read: impl FnOnce(&str) -> R) -> R {
        let grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        read(&grown[..self.length])
    }

    /// Goes on with `more`. Points reached before stay what they are.
    pub(crate) fn push_str(&mut self, more: &str) {
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        if grown.len() == self.length {
            grown.push_str(more);
            self.length = grown.len();
        } else {
            let other = [&grown[..self.length], more].concat();
            drop(grown);
            *self = other.into();
        }
    }

    /// Whether both are one point of one growth.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.grown, &other.grown) && self.length == other.length
    }
}

impl From<String> for TextSoFar {
    fn from(text: String) -> Self {
        let length = text.len();
        Self { grown: Arc::new(Mutex::new(text)), length }
    }
}

impl From<&str> for TextSoFar {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for TextSoFar {
    fn eq(&self, other: &Self) -> bool {
        // Texts of one growth are equal at the same point, and one lock is not taken twice.
        if Arc::ptr_eq(&self.grown, &other.grown) {
            return self.length == other.length;
        }
        self.length == other.length && self.to_string() == other.to_string()
    }
}

impl Eq for TextSoFar {}

impl fmt::Display for TextSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|text| f.write_str(text))
    }
}

impl fmt::Debug for TextSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|text| fmt::Debug::fmt(text, f))
    }
}

impl Serialize for TextSoFar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read(|text| serializer.serialize_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_stays_what_it_is_while_the_text_grows() {
        let mut text = TextSoFar::from("Hel");
        let before = text.clone();
        text.push_str("lo");
        assert_eq!((before.to_string().as_str(), text.to_string().as_str()), ("Hel", "Hello"));
        assert!(before != text && text == TextSoFar::from("Hello") && text.is(&text.clone()));
    }

    #[test]
    fn a_point_that_was_left_behind_goes_on_by_itself() {
        let mut text = TextSoFar::from("Hel");
        let mut other = text.clone();
        text.push_str("lo");
        other.push_str("p");
        assert_eq!((other.to_string().as_str(), text.to_string().as_str()), ("Help", "Hello"));
    }

    #[test]
    fn the_text_is_not_copied_to_grow() {
        let mut text = TextSoFar::from(String::with_capacity(16));
        let before = text.clone();
        text.push_str("Hello");
        assert!(Arc::ptr_eq(&before.grown, &text.grown));
    }
}
