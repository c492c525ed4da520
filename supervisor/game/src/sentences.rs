//! What a game wrote, as sentences that a model reads: closed with a full stop, lists in one line, blanks left out.

/// `Label: text`, if there is a text.
pub(crate) fn labelled(label: &str, text: Option<String>) -> Option<String> {
    text.map(|text| format!("{label}: {text}"))
}

/// `text` closed like a sentence; `None` when it is blank.
pub(crate) fn sentence(text: &str) -> Option<String> {
    const CLOSED: [char; 11] = ['.', '!', '?', '"', '\'', '…', '”', '’', '。', '！', '？'];
    let text = text.trim();
    match text.chars().next_back()? {
        last if CLOSED.contains(&last) => Some(text.to_owned()),
        _ => Some(format!("{text}.")),
    }
}

/// The items that are not blank as one sentence; `None` when there are none.
pub(crate) fn list(items: &[String]) -> Option<String> {
    let items: Vec<_> =
        items.iter().map(|item| without_full_stop(item)).filter(|it| !it.is_empty()).collect();
    sentence(&items.join("; "))
}

/// `text` as a part of a sentence.
pub(crate) fn without_full_stop(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_closed_like_sentences() {
        let cases = [
            ("Gruff", "Gruff."),
            (" Gruff. ", "Gruff."),
            ("Why?", "Why?"),
            ("Calls people 'lad'", "Calls people 'lad'"),
            ("He says “lad”", "He says “lad”"),
            ("無口。", "無口。"),
        ];
        for (text, closed) in cases {
            assert_eq!(sentence(text).as_deref(), Some(closed));
        }
        assert_eq!(sentence(" \n"), None);
    }

    #[test]
    fn lists_are_one_sentence() {
        let list_of = |items: &[&str]| list(&items.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(list_of(&[".", ""]), None);
        assert_eq!(list_of(&["Rest.", " ", "Wait..."]).as_deref(), Some("Rest; Wait..."));
    }
}
