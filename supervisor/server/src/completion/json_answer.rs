//! The JSON object in an answer in prose.

use serde_json::Value;

/// What is added to the instructions for an answer that is to be a JSON object.
pub(super) const INSTRUCTION: &str =
    "Answer with one valid JSON object and nothing else: no explanation and no code fence.";

/// The text of the object that the answer is, or that a code fence or prose surrounds.
pub(super) fn object_in(answer: &str) -> Option<&str> {
    let answer = without_fence(answer.trim());
    match serde_json::from_str(answer) {
        Ok(Value::Object(_)) => return Some(answer),
        Ok(_) => return None,
        Err(_) => {}
    }
    let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    matches!(serde_json::from_str(object), Ok(Value::Object(_))).then_some(object)
}

fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inner) = inner else { return text };
    // The first line names the language, if there is one.
    let language = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
    inner[language..].trim()
}

#[cfg(test)]
mod tests {
    use super::object_in;

    #[test]
    fn an_object_is_found_in_what_models_put_around_it() {
        let cases = [
            (r#"{"a":1}"#, Some(r#"{"a":1}"#)),
            ("  {\"a\": {}}\n", Some(r#"{"a": {}}"#)),
            ("```json\n{\"a\":1}\n```", Some(r#"{"a":1}"#)),
            ("```{\"a\":1}```", Some(r#"{"a":1}"#)),
            ("Here it is:\n```\n{\"a\":\"}\"}\n```\nEnjoy!", Some(r#"{"a":"}"}"#)),
            ("Sure: {\"a\":1}.", Some(r#"{"a":1}"#)),
            (r#"[{"a":1}]"#, None),
            ("```json\n[1]\n```", None),
            ("I would rather not.", None),
            ("} {", None),
            ("```", None),
            ("``````", None),
            ("\"{}\"", None),
            ("", None),
        ];
        for (answer, object) in cases {
            assert_eq!(object_in(answer), object, "{answer:?}");
        }
    }
}
