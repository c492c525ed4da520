//! From what a model writes to what a character says.
//!
//! Models like to introduce a character's words (`Gorm: …`) and to put them in quotation marks. A [`LineCleaner`]
//! takes both off. It also cleans a line that is still growing, so that it can be shown at once: it then keeps back
//! what may turn out not to be spoken (the beginning of a label, a last quotation mark, white space at the end).
//! Mostly, what it lets through is the beginning of the clean line. Where a quotation turns out to be something else
//! it is not, and whoever shows it has to start over.
//!
//! Cleaning only ever cuts: the words are a part of the text.

/// Takes off what models put around the words of one speaker.
#[derive(Debug, Clone)]
pub(crate) struct LineCleaner {
    /// In the form in which text is compared. A name too long to be repeated has none.
    labels: Vec<String>,
}

/// The longest name that is looked for, in characters. Every piece of a growing line is compared with it.
const LONGEST_NAME: usize = 200;

impl LineCleaner {
    pub(crate) fn new(speaker: &str) -> Self {
        let name = speaker.trim();
        let labels = [
            format!("{name} says:"),
            format!("**{name}**:"),
            format!("**{name}:**"),
            format!("*{name}*:"),
            format!("{name}:"),
        ];
        let is_repeated = name.chars().nth(LONGEST_NAME).is_none();
        let labels = labels.iter().filter(|_| is_repeated);
        Self { labels: labels.map(|label| label.chars().flat_map(folded).collect()).collect() }
    }

    /// The words of a whole line; empty when there are none.
    pub(crate) fn clean<'t>(&self, text: &'t str) -> &'t str {
        without_quotes(self.without_label(text.trim()))
    }

    /// The words of a bark: of the first line that has any.
    pub(crate) fn clean_bark<'t>(&self, text: &'t str) -> &'t str {
        let mut lines = text.split(['\n', '\r']).map(|line| self.clean(line));
        lines.find(|words| !words.is_empty()).unwrap_or_default()
    }

    /// Those words of a line that can already be shown, when `text` is what has come of it so far.
    pub(crate) fn clean_so_far<'t>(&self, text: &'t str) -> &'t str {
        let text = text.trim_start();
        if self.labels.iter().any(|label| matches!(Beginning::of(text, label), Beginning::Undecided)) {
            return "";
        }
        without_quotes_so_far(self.without_label(text).trim_end())
    }

    fn without_label<'t>(&self, text: &'t str) -> &'t str {
        let rest = self.labels.iter().find_map(|label| match Beginning::of(text, label) {
            Beginning::Label { rest } => Some(rest),
            Beginning::Undecided | Beginning::Words => None,
        });
        rest.map_or(text, str::trim_start)
    }
}

/// Whether two texts are the same but for their case.
pub(crate) fn same_words(one: &str, other: &str) -> bool {
    one.chars().flat_map(folded).eq(other.chars().flat_map(folded))
}

/// A character without its case: some letters have several lower-case forms, or an upper-case form of two letters.
fn folded(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

/// How a text begins, seen from a label.
enum Beginning<'t> {
    Label {
        rest: &'t str,
    },
    /// The text is the beginning of the label.
    Undecided,
    Words,
}

impl<'t> Beginning<'t> {
    fn of(text: &'t str, label: &str) -> Self {
        let mut expected = label.chars();
        for (at, c) in text.char_indices() {
            if expected.as_str().is_empty() {
                return Self::Label { rest: &text[at..] };
            }
            if folded(c).any(|c| expected.next() != Some(c)) {
                return Self::Words;
            }
        }
        if expected.as_str().is_empty() { Self::Label { rest: "" } } else { Self::Undecided }
    }
}

/// What may close a quotation that `opening` opens.
fn closing_marks(opening: char) -> &'static [char] {
    match opening {
        '"' | '“' => &['"', '”'],
        '\'' | '‘' => &['\'', '’'],
        '«' => &['»'],
        '„' => &['“', '”', '"'],
        '「' => &['」'],
        _ => &[],
    }
}

/// Whether the quotation that `opening` opens ends within `inner`. An apostrophe does not count.
fn is_interrupted(opening: char, inner: &str) -> bool {
    let is_single = matches!(opening, '\'' | '‘');
    inner.contains(['"', '“', '”'])
        || (!is_single && inner.contains(|c| c == opening || closing_marks(opening).contains(&c)))
}

fn without_quotes(line: &str) -> &str {
    let mut inner = line.chars();
    let (Some(opening), Some(closing)) = (inner.next(), inner.next_back()) else { return line };
    let inner = inner.as_str();
    if closing_marks(opening).contains(&closing) && !is_interrupted(opening, inner) {
        inner.trim()
    } else {
        line
    }
}

/// A first `'` stays: it is more often an apostrophe (`'Tis …`).
fn without_quotes_so_far(line: &str) -> &str {
    let mut inner = line.chars();
    let opening = inner.next().filter(|&c| c != '\'' && !closing_marks(c).is_empty());
    let Some(opening) = opening else { return line };
    let inner = inner.as_str();
    let inner = inner.strip_suffix(closing_marks(opening)).unwrap_or(inner);
    if is_interrupted(opening, inner) { line } else { inner.trim() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_too_long_to_be_repeated_is_not_looked_for() {
        for (length, words) in [(LONGEST_NAME, "Aye."), (LONGEST_NAME + 1, "")] {
            let name = "é".repeat(length);
            let text = format!("{name}: Aye.");
            let words = if words.is_empty() { text.as_str() } else { words };
            assert_eq!(LineCleaner::new(&name).clean(&text), words, "{length}");
        }
    }

    #[test]
    fn labels_and_quotes_are_taken_off() {
        let cases = [
            ("  Aye, lad. \n", "Aye, lad."),
            ("Gorm: Aye.", "Aye."),
            ("GORM:Aye.", "Aye."),
            ("gorm says: Aye.", "Aye."),
            ("**Gorm**: Aye.", "Aye."),
            ("**Gorm:** Aye.", "Aye."),
            ("*gorm*:\nAye.", "Aye."),
            ("Gorm: \"Aye.\"", "Aye."),
            ("\"Aye.\"", "Aye."),
            ("“Aye.”", "Aye."),
            ("\"Aye.”", "Aye."),
            ("'Aye.'", "Aye."),
            ("‘I don’t know.’", "I don’t know."),
            ("« Oui. »", "Oui."),
            ("„Ja.“", "Ja."),
            ("「はい。」", "はい。"),
            ("'Tis late, lad.", "'Tis late, lad."),
            ("\"Aye,\" he said. \"Come in.\"", "\"Aye,\" he said. \"Come in.\""),
            ("'He said \"no\" to me.'", "'He said \"no\" to me.'"),
            ("«Oui», dit-il, «oui»", "«Oui», dit-il, «oui»"),
            ("\"Aye", "\"Aye"),
            ("Gorm Gorm: Aye.", "Gorm Gorm: Aye."),
            ("Gorm says hello.", "Gorm says hello."),
            ("Gormund: Aye.", "Gormund: Aye."),
            ("Gorm:", ""),
            ("\"\"", ""),
            ("\"", "\""),
            ("", ""),
        ];
        let gorm = LineCleaner::new(" Gorm ");
        for (text, words) in cases {
            assert_eq!(gorm.clean(text), words, "{text:?}");
        }
    }

    #[test]
    fn names_of_any_script_are_compared_without_case() {
        let cases = [
            ("Γιώργος", "ΓΙΏΡΓΟΣ: Ναι.", "Ναι."),
            ("Straße", "STRASSE: Ja.", "Ja."),
            ("İpek", "i\u{307}PEK: Evet.", "Evet."),
            ("剣士", "剣士: はい。", "はい。"),
            ("ß", "S: a", "S: a"),
            ("S", "ß: a", "ß: a"),
        ];
        for (name, text, words) in cases {
            assert_eq!(LineCleaner::new(name).clean(text), words, "{text}");
        }
    }

    #[test]
    fn a_bark_is_one_line() {
        let gorm = LineCleaner::new("Gorm");
        let cases = [
            ("\n\r\nGorm: \"Fine steel!\"\nAnd more.", "Fine steel!"),
            ("Gorm:\nFine steel!", "Fine steel!"),
            (" \n ", ""),
        ];
        for (text, words) in cases {
            assert_eq!(gorm.clean_bark(text), words, "{text:?}");
        }
    }

    #[test]
    fn a_growing_line_shows_no_more_than_its_words() {
        let cases = [
            ("  ", ""),
            ("Gor", ""),
            ("**Gorm", ""),
            ("Gorm says", ""),
            ("Gorm says hel", "Gorm says hel"),
            ("Gormund", "Gormund"),
            ("Gorm: ", ""),
            ("Gorm: A", "A"),
            ("Gorm: \"", ""),
            ("Gorm: \"Aye", "Aye"),
            ("\"Aye. ", "Aye."),
            ("\"Aye.\"", "Aye."),
            ("\"Aye,\" he", "\"Aye,\" he"),
            ("'Tis", "'Tis"),
            ("Aye \n", "Aye"),
        ];
        let gorm = LineCleaner::new("Gorm");
        for (text, words) in cases {
            assert_eq!(gorm.clean_so_far(text), words, "{text:?}");
        }
    }

    const NAME: &str = "[a-cA-Cß'*: ]{0,4}";
    const LINE: &str =
        "[ \n]{0,2}(\\*{0,2}[a-cA-Cß]{0,3}( says|\\*\\*)?:?\\*{0,2} ?)?[a-cß\"“”'‘’«»\\[\\] \n]{0,12}";

    proptest! {
        #[test]
        fn words_are_a_part_of_any_text(name in any::<String>(), text in any::<String>()) {
            let cleaner = LineCleaner::new(&name);
            for text in [text.clone(), format!("{name}: {text}"), format!("{} says:{text}", name.to_uppercase())] {
                for words in [cleaner.clean(&text), cleaner.clean_bark(&text), cleaner.clean_so_far(&text)] {
                    prop_assert!(text.contains(words));
                    prop_assert_eq!(words, words.trim());
                }
            }
        }

        #[test]
        fn a_growing_line_without_quotes_is_never_taken_back(name in NAME, line in LINE) {
            let line = line.replace(['"', '“', '”', '\'', '‘', '’', '«', '»'], "x");
            let cleaner = LineCleaner::new(&name);
            let words = cleaner.clean(&line);
            for (at, _) in line.char_indices() {
                let shown = cleaner.clean_so_far(&line[..at]);
                prop_assert!(words.starts_with(shown), "{shown:?} before {words:?}");
            }
        }
    }
}
