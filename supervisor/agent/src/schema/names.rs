//! Names of types: sanitised and unique within a schema.

use std::collections::HashMap;

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Longer names help nobody; names made of names would grow with every level.
const MAX_CHARS: usize = 256;

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Each name with the number to try next when it is wanted again.
    taken: HashMap<String, usize>,
}

impl Names {
    /// A name of its own for a type that is called `wanted`: `Item`, the next one `Item2`.
    pub(super) fn reserve(&mut self, wanted: &str) -> String {
        let base = sanitise(wanted);
        let Some(next) = self.taken.get(&base) else {
            self.taken.insert(base.clone(), 2);
            return base;
        };
        let mut number = *next;
        let name = loop {
            let name = format!("{base}{number}");
            number += 1;
            if !self.taken.contains_key(&name) {
                break name;
            }
        };
        self.taken.insert(name.clone(), 2);
        self.taken.insert(base, number);
        name
    }
}

/// `text` with `_` for everything that is not a letter, mark, number or `_`; it never starts with a decimal digit.
pub(super) fn sanitise(text: &str) -> String {
    let mut name = String::new();
    if text.starts_with(is_decimal_digit) {
        name.push('_');
    }
    name.extend(text.chars().take(MAX_CHARS).map(|c| if is_name_char(c) { c } else { '_' }));
    if name.is_empty() {
        name.push_str("Schema");
    }
    name
}

fn is_decimal_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { get_general_category(c) == Category::DecimalNumber }
}

fn is_name_char(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    matches!(
        get_general_category(c),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::NonspacingMark
            | Category::SpacingMark
            | Category::EnclosingMark
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_letters_marks_numbers_and_underscores() {
        let cases = [
            ("Item", "Item"),
            ("open gate!", "open_gate_"),
            ("Tür_漢字", "Tür_漢字"),
            ("e\u{301}", "e\u{301}"),
            ("½", "½"),
            ("3d", "_3d"),
            ("٣", "_٣"),
            ("a\u{1F600}b", "a_b"),
            ("", "Schema"),
            ("/~", "__"),
        ];
        for (text, name) in cases {
            assert_eq!(sanitise(text), name, "{text}");
        }
        assert_eq!(sanitise(&"x".repeat(1000)).len(), MAX_CHARS);
    }

    #[test]
    fn taken_names_get_a_number_from_2() {
        let mut names = Names::default();
        let given: Vec<_> =
            ["Item", "Item", "Item3", "Item", "Item2", "Item2"].map(|name| names.reserve(name)).into();
        assert_eq!(given, ["Item", "Item2", "Item3", "Item4", "Item22", "Item23"]);
    }
}
