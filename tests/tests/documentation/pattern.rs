//! The notation in which documents show messages: JSON with `…` for what does not matter.
//!
//! Inside a string `…` stands for any text, as a value for any value, and at the end of an object or array for
//! further members. Everything else is meant literally, the order of members included: it is part of the protocol.

use serde_json::Value;

/// What a message must look like.
#[derive(Debug)]
pub(crate) enum Pattern {
    Anything,
    /// The literal parts of a text, with any text between two of them.
    Text(Vec<String>),
    Literal(Value),
    Array {
        items: Vec<Pattern>,
        more: bool,
    },
    Object {
        members: Vec<(String, Pattern)>,
        more: bool,
    },
}

/// Stands for a bare `…` once the notation has become JSON. No document contains it: it is for private use.
const ELISION: &str = "\u{E000}";

impl Pattern {
    /// Reads the notation. Errors say where it is not JSON.
    pub(crate) fn parse(notation: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(&to_json(notation)).map_err(|error| error.to_string())?;
        Ok(Self::of(json))
    }

    fn of(json: Value) -> Self {
        match json {
            Value::String(text) if text == ELISION => Self::Anything,
            Value::String(text) => Self::text(&text),
            Value::Array(mut values) => {
                let more = values.pop_if(|last| last == ELISION).is_some();
                Self::Array { items: values.into_iter().map(Self::of).collect(), more }
            }
            Value::Object(mut members) => {
                let more = members.shift_remove(ELISION).is_some();
                let members = members.into_iter().map(|(name, value)| (name, Self::of(value))).collect();
                Self::Object { members, more }
            }
            literal => Self::Literal(literal),
        }
    }

    /// A text in which `…` stands for any text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.split('…').map(str::to_owned).collect())
    }

    /// Checks a value; the error names the first place that differs.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        self.check_at("message", value)
    }

    fn check_at(&self, place: &str, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::Anything, _) => Ok(()),
            (Self::Text(parts), Value::String(text)) if text_fits(parts, text) => Ok(()),
            (Self::Literal(literal), value) if literal == value => Ok(()),
            (Self::Array { items, more }, Value::Array(values)) => {
                if values.len() < items.len() || (values.len() > items.len() && !more) {
                    return Err(format!("{place} has {} elements", values.len()));
                }
                for (index, (item, value)) in items.iter().zip(values).enumerate() {
                    item.check_at(&format!("{place}[{index}]"), value)?;
                }
                Ok(())
            }
            (Self::Object { members, more }, Value::Object(values)) => {
                let mut found = values.iter();
                for (name, member) in members {
                    let value = if *more {
                        found.find(|(other, _)| *other == name)
                    } else {
                        found.next().filter(|(other, _)| *other == name)
                    };
                    let Some((_, value)) = value else {
                        return Err(format!("{place} has no member '{name}' in this position"));
                    };
                    member.check_at(&format!("{place}.{name}"), value)?;
                }
                match found.next() {
                    Some((name, _)) if !more => {
                        Err(format!("{place} has a member '{name}' that is not shown"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Err(format!("{place} differs")),
        }
    }
}

fn text_fits(parts: &[String], text: &str) -> bool {
    let [first, between @ .., last] = parts else { return parts.iter().all(|only| only == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    between.iter().all(|part| match rest.split_once(part.as_str()) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Replaces each `…` outside strings by something that is JSON in its place.
fn to_json(notation: &str) -> String {
    let mut json = String::with_capacity(notation.len());
    let mut open = Vec::new();
    let (mut in_string, mut escaped, mut previous) = (false, false, ' ');
    for char in notation.chars() {
        if in_string {
            in_string = escaped || char != '"';
            escaped = !escaped && char == '\\';
            json.push(char);
        } else {
            match char {
                '"' => in_string = true,
                '{' | '[' => open.push(char),
                '}' | ']' => drop(open.pop()),
                _ => {}
            }
            let names_a_member = open.last() == Some(&'{') && matches!(previous, '{' | ',');
            if char == '…' {
                json.extend(["\"", ELISION, "\""]);
                json.push_str(if names_a_member { ":0" } else { "" });
            } else {
                json.push(char);
            }
        }
        if !char.is_whitespace() {
            previous = char;
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn elisions_stand_for_text_values_and_further_members() {
        let cases = [
            (r#"{"a":1}"#, r#"{"a":1}"#, true),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
            (r#"{"a":1, …}"#, r#"{"a":1,"b":2}"#, true),
            (r#"{"a":1, …}"#, r#"{"b":2}"#, false),
            (r#"{"a":1,"c":3, …}"#, r#"{"a":1,"b":2,"c":3}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, false),
            (r#"{"b":2,"a":1, …}"#, r#"{"a":1,"b":2}"#, false),
            ("{…}", r#"{"a":1}"#, true),
            ("{…}", "{}", true),
            ("{…}", "[]", false),
            ("{}", r#"{"a":1}"#, false),
            (r#"{"a":…}"#, r#"{"a":{"b":[]}}"#, true),
            (r#"{"a":…}"#, "{}", false),
            ("[…]", "[1,2]", true),
            ("[1, …]", "[1,2]", true),
            ("[1, …]", "[2]", false),
            ("[1]", "[1,2]", false),
            (r#""call_…""#, r#""call_x""#, true),
            (r#""call_…""#, r#""all_x""#, false),
            (r#""…""#, r#""""#, true),
            (r#""…""#, "1", false),
            (r#""a…a""#, r#""a""#, false),
            (r#""a…b…c""#, r#""a1b2c""#, true),
            (r#""a…b…c""#, r#""a1c2b""#, false),
            (r#""\"…{""#, r#""\"x{""#, true),
        ];
        for (notation, message, fits) in cases {
            let pattern = Pattern::parse(notation).expect("the notation is valid");
            let checked = pattern.check(&serde_json::from_str(message).expect("the message is JSON"));
            assert_eq!(checked.is_ok(), fits, "{notation} on {message}: {checked:?}");
        }
    }
}
