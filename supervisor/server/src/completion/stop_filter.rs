//! Cutting an answer at the first of some texts.
//!
//! What could be the start of such a text is held back until it is known. Each character is looked at once for each text
//! (after Knuth, Morris and Pratt), so it does not matter into which pieces an answer is cut, nor how much is held back.

use std::borrow::Cow;

/// Lets an answer through until one of the texts occurs in it.
#[derive(Debug)]
pub(super) struct StopFilter {
    needles: Vec<Needle>,
    held: String,
    is_stopped: bool,
}

/// A text that is looked for.
#[derive(Debug)]
struct Needle {
    bytes: Box<[u8]>,
    /// For each length of a match: the length of the longest shorter one that it ends with.
    shorter: Box<[usize]>,
    /// How much of it the answer ends with.
    matched: usize,
}

impl StopFilter {
    /// None of the texts is empty.
    pub(super) fn new(stops: &[String]) -> Self {
        let needles = stops.iter().map(|stop| Needle::new(stop)).collect();
        Self { needles, held: String::new(), is_stopped: false }
    }

    /// More of the answer. Returns what is certain of it, which may be less or more.
    pub(super) fn push<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if self.is_stopped {
            return "".into();
        }
        if self.needles.is_empty() {
            return text.into();
        }
        let held = self.held.len();
        let found = text.bytes().enumerate().find_map(|(at, byte)| {
            // All see the byte; of those that end here the longest began first.
            let complete = self.needles.iter_mut().filter_map(|needle| needle.see(byte)).max();
            complete.map(|length| held + at + 1 - length)
        });
        self.held.push_str(text);
        let certain = found.unwrap_or_else(|| {
            let possible = self.needles.iter().map(|needle| needle.matched).max();
            self.held.len() - possible.unwrap_or(0)
        });
        let rest = self.held.split_off(certain);
        let certain = std::mem::replace(&mut self.held, rest);
        if found.is_some() {
            self.is_stopped = true;
            self.held.clear();
        }
        certain.into()
    }

    /// The answer is complete. Returns what was held back.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.restart();
        held
    }

    /// The answer begins anew; what was held back is forgotten.
    pub(super) fn restart(&mut self) {
        self.held.clear();
        for needle in &mut self.needles {
            needle.matched = 0;
        }
    }

    /// Whether one of the texts has occurred.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

impl Needle {
    fn new(text: &str) -> Self {
        let bytes: Box<[u8]> = text.as_bytes().into();
        let mut shorter = vec![0; bytes.len() + 1].into_boxed_slice();
        let mut length = 0;
        for at in 1..bytes.len() {
            while length > 0 && bytes[at] != bytes[length] {
                length = shorter[length];
            }
            length += usize::from(bytes[at] == bytes[length]);
            shorter[at + 1] = length;
        }
        Self { bytes, shorter, matched: 0 }
    }

    /// Its length, if it ends with this byte.
    fn see(&mut self, byte: u8) -> Option<usize> {
        while self.matched > 0 && self.bytes.get(self.matched) != Some(&byte) {
            self.matched = self.shorter[self.matched];
        }
        self.matched += usize::from(self.bytes[self.matched] == byte);
        (self.matched == self.bytes.len()).then_some(self.matched)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(stops: &[&str]) -> StopFilter {
        StopFilter::new(&stops.iter().map(|stop| (*stop).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_may_be_the_start_of_a_stop_is_held_back() {
        let mut filter = filter(&["END", "ENOUGH"]);
        let pieces = ["a E", "N", "x", "E", "NO", "UGH", "more"];
        let heard: Vec<_> = pieces.iter().map(|piece| filter.push(piece)).collect();
        assert_eq!(heard, ["a ", "", "ENx", "", "", "", ""]);
        assert!(filter.is_stopped());
        assert_eq!(filter.finish(), "");
    }

    #[test]
    fn at_the_end_held_text_is_released() {
        let mut filter = filter(&["END"]);
        assert_eq!(
            (filter.push("the EN"), filter.finish(), filter.is_stopped()),
            ("the ".into(), "EN".into(), false)
        );
    }

    #[test]
    fn of_stops_that_end_together_the_one_that_began_first_cuts() {
        assert_eq!(filter(&["c", "bc"]).push("abcd"), "a");
        assert_eq!(filter(&["abcd", "bc"]).push("xabcd"), "xa", "the first that is complete ends the answer");
    }

    /// The length of the text before the stop that is complete first.
    fn cut(text: &str, stops: &[String]) -> Option<usize> {
        (0..=text.len()).filter(|end| text.is_char_boundary(*end)).find_map(|end| {
            let complete = stops.iter().filter(|stop| text[..end].ends_with(&***stop)).map(String::len);
            complete.max().map(|length| end - length)
        })
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            pieces in prop::collection::vec("[abé]{0,6}", 0..12),
            stops in prop::collection::vec("[abé]{1,4}", 0..4),
        ) {
            let text = pieces.concat();
            let mut filter = StopFilter::new(&stops);
            let mut heard: String = pieces.iter().map(|piece| filter.push(piece)).collect();
            heard += &filter.finish();
            prop_assert_eq!(filter.is_stopped(), cut(&text, &stops).is_some());
            prop_assert_eq!(&heard, &text[..cut(&text, &stops).unwrap_or(text.len())]);
        }
    }
}
