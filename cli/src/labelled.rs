//! What is told to people as a label and what there is to say of it, line by line.

use std::{borrow::Cow, fmt::Write as _};

/// The column behind the labels.
const INDENTATION: usize = 12;

/// Lines with labels.
#[derive(Debug, Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// Further lines of a text stand further in, so that none passes for one with a label or of a list.
    pub(crate) fn add(&mut self, label: &str, text: &str) {
        let text = text.replace('\n', &format!("\n{:INDENTATION$}  ", ""));
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "{label:INDENTATION$}{text}");
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// A name that somebody else chose, in quotes unless it is of letters, digits and what cannot pass for anything else between
/// fields. Characters that cannot be seen are told in it.
pub(crate) fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character.is_alphanumeric() || " -_./:+'&!".contains(character);
    if !name.is_empty() && name.trim() == name && name.chars().all(is_plain) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pass_for_anything_else() {
        for plain in ["tavern", "My Game 1.2", "Schänke-7", "酒場", "a/b:c_d"] {
            assert_eq!(quoted(plain), plain);
        }
        for (name, shown) in [
            ("", r#""""#),
            (" tavern", r#"" tavern""#),
            ("a, realm inn", r#""a, realm inn""#),
            ("(no name)", r#""(no name)""#),
            (r#""a\"#, r#""\"a\\""#),
            ("a\nRealms", r#""a\nRealms""#),
            ("\u{1b}[2J\u{9b}1m\u{7f}\r", r#""\u{1b}[2J\u{9b}1m\u{7f}\r""#),
            ("a\u{202e}b\u{200b}c\u{2028}d", r#""a\u{202e}b\u{200b}c\u{2028}d""#),
        ] {
            assert_eq!(quoted(name), shown);
        }
    }

    #[test]
    fn no_line_of_a_text_passes_for_another_one() {
        let mut lines = Lines::default();
        lines.add("Failed", "it broke\nRealms      7");
        lines.add("", "again");
        assert_eq!(
            lines.into_text(),
            "Failed      it broke\n              Realms      7\n            again\n"
        );
    }
}
