//! The settings file: a JSON object with the names of flags, `{"max-connections": 16, "no-scripted-models": true}`.
//!
//! It says nothing that flags do not: it becomes [arguments](Settings::arguments), which stand before those of the command line
//! and are checked as those are.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

/// What a settings file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(Map<String, Value>);

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not a JSON object.
    #[error("{} is not a JSON object: {reason}", path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// What it is instead, or where it is wrong.
        reason: String,
    },
    /// It has a setting that does not exist.
    #[error("{}: there is no setting \"{name}\"{}", path.display(), meant(nearest.as_deref()))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A setting is neither text, number nor truth value.
    #[error("{}: \"{name}\" must be text, a number, true or false", path.display())]
    Structured {
        /// The file.
        path: PathBuf,
        /// The setting.
        name: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default()
}

impl Settings {
    /// Reads a file in which there may be settings with the names in `known`. A file that does not exist says nothing.
    pub fn read(path: &Path, known: &[&str]) -> Result<Self, SettingsError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(SettingsError::Io { path: path.to_owned(), source }),
        };
        Self::parse(&text, known, path)
    }

    fn parse(text: &str, known: &[&str], path: &Path) -> Result<Self, SettingsError> {
        let settings: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            SettingsError::NotAnObject { path: path.to_owned(), reason: error.to_string() }
        })?;
        for (name, value) in &settings {
            if !known.contains(&name.as_str()) {
                let nearest = nearest(name, known).map(str::to_owned);
                return Err(SettingsError::Unknown { path: path.to_owned(), name: name.clone(), nearest });
            }
            if !matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
                return Err(SettingsError::Structured { path: path.to_owned(), name: name.clone() });
            }
        }
        Ok(Self(settings))
    }

    /// The flags that say the same: `--max-connections=16`, `--no-scripted-models`. What is `false` is not said.
    pub fn arguments(&self) -> Vec<String> {
        let flags = self.0.iter().filter_map(|(name, value)| match value {
            Value::Bool(false) => None,
            Value::Bool(true) => Some(format!("--{name}")),
            Value::String(text) => Some(format!("--{name}={text}")),
            other => Some(format!("--{name}={other}")),
        });
        flags.collect()
    }

    /// The names of what is said differently, or only in one of the two.
    pub fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let differs = |name: &&String| self.0.get(*name) != other.0.get(*name);
        let mut names: Vec<&str> =
            self.0.keys().chain(other.0.keys()).filter(differs).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The name that was most likely meant, if one is like it.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase().replace('_', "-");
    let likeness = |known: &str| strsim::jaro_winkler(&name, known);
    known
        .iter()
        .map(|known| (*known, likeness(known)))
        .filter(|(_, likeness)| *likeness > 0.8)
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(known, _)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["max-connections", "idle-exit", "no-scripted-models", "log-level"];

    fn parse(text: &str) -> Result<Settings, SettingsError> {
        Settings::parse(text, &KNOWN, Path::new("service.json"))
    }

    #[test]
    fn settings_are_flags() {
        let text =
            r#"{"max-connections": 16, "idle-exit": 0.5, "no-scripted-models": true, "log-level": "info"}"#;
        assert_eq!(
            parse(text).unwrap().arguments(),
            ["--max-connections=16", "--idle-exit=0.5", "--no-scripted-models", "--log-level=info"]
        );
        assert!(parse(r#"{"no-scripted-models": false}"#).unwrap().arguments().is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_place() {
        let rows = [
            (
                r#"{"maxConnections": 1}"#,
                r#"service.json: there is no setting "maxConnections"; did you mean "max-connections"?"#,
            ),
            (
                r#"{"log_level": "info"}"#,
                r#"service.json: there is no setting "log_level"; did you mean "log-level"?"#,
            ),
            (r#"{"colour": 1}"#, r#"service.json: there is no setting "colour""#),
            (r#"{"idle-exit": null}"#, r#"service.json: "idle-exit" must be text, a number, true or false"#),
            (
                "[]",
                "service.json is not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
            ),
            ("{\n\"idle-exit\" 3}", "service.json is not a JSON object: expected `:` at line 2 column 13"),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_file_that_does_not_exist_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Settings::read(&folder.path().join("service.json"), &KNOWN).unwrap(), Settings::default());
        assert!(matches!(Settings::read(folder.path(), &KNOWN), Err(SettingsError::Io { .. })));
    }

    #[test]
    fn settings_tell_what_has_changed() {
        let old = parse(r#"{"max-connections": 16, "idle-exit": 1}"#).unwrap();
        let new = parse(r#"{"idle-exit": 2, "log-level": "info", "max-connections": 16}"#).unwrap();
        assert_eq!(old.differing(&new), ["idle-exit", "log-level"]);
        assert!(old.differing(&old).is_empty());
    }
}
