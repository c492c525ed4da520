//! Outputs of external tools, as people and scripts give them.

use oam_agent::ToolOutput;
use serde_json::Value;

use crate::{
    failure::Failure,
    files::{self, InputPath},
};

/// What was given for a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GivenOutput {
    Text(String),
    /// `@file`: what is in the file, without one line end at its end.
    File(InputPath),
}

impl From<&str> for GivenOutput {
    /// A lone `@` is a text.
    fn from(text: &str) -> Self {
        match text.strip_prefix('@') {
            Some(path) if !path.is_empty() => Self::File(InputPath::named(path)),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl GivenOutput {
    /// Whether standard input is read for it.
    pub(crate) fn is_stdin(&self) -> bool {
        *self == Self::File(InputPath::Stdin)
    }

    /// An output: a JSON object or array is passed on as JSON, anything else as text.
    pub(crate) fn output(&self) -> Result<ToolOutput, Failure> {
        let text = self.text()?;
        let trimmed = text.trim();
        let value = trimmed.starts_with(['{', '[']).then(|| files::parse_json(trimmed.as_bytes()));
        Ok(match value {
            Some(Ok(value @ (Value::Object(_) | Value::Array(_)))) => ToolOutput::Json(value),
            _ => ToolOutput::Text(text),
        })
    }

    /// An output that says that the tool failed.
    pub(crate) fn error(&self) -> Result<ToolOutput, Failure> {
        self.text().map(ToolOutput::Error)
    }

    fn text(&self) -> Result<String, Failure> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => {
                let mut text = path.read_text()?;
                if text.ends_with('\n') {
                    text.truncate(text.len() - if text.ends_with("\r\n") { 2 } else { 1 });
                }
                Ok(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_objects_and_arrays_are_passed_on_as_json() {
        let output = |text: &str| GivenOutput::from(text).output().unwrap();
        assert_eq!(output(" {\"a\": 1}\n"), ToolOutput::Json(json!({"a": 1})));
        assert_eq!(output("[]"), ToolOutput::Json(json!([])));
        for text in ["", "@", "5", "\"a\"", "{a}", "null", "It is open."] {
            assert_eq!(output(text), ToolOutput::Text(text.into()));
        }
        assert_eq!(GivenOutput::from("{}").error().unwrap(), ToolOutput::Error("{}".into()));
    }

    #[test]
    fn a_file_loses_one_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let given = GivenOutput::from(&*format!("@{}", path.display()));
        for (content, text) in [("a\n\n", "a\n"), ("a\r\n", "a"), ("a", "a"), ("", "")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(given.output().unwrap(), ToolOutput::Text(text.into()));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(given.output().unwrap_err().message.contains("cannot be read"));
        assert!(GivenOutput::from("@-").is_stdin() && !given.is_stdin());
    }
}
