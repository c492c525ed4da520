//! The settings of the service that can change while it runs: from its command line, from a file that is read again when the
//! service is told to reload, or as usual; the first of these that says something.

use std::{fs, io::ErrorKind, num::NonZeroUsize, path::Path, time::Duration};

use oam_service::ServiceLimits;
use serde::Deserialize;

use crate::{arguments::seconds, failure::Failure};

/// What a file or a command line says. What it does not say is left to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Settings {
    pub(super) max_connections: Option<NonZeroUsize>,
    pub(super) max_realms: Option<NonZeroUsize>,
    #[serde(deserialize_with = "seconds_of", rename = "idleExitSeconds")]
    pub(super) idle_exit: Option<Duration>,
    #[serde(deserialize_with = "seconds_of", rename = "drainSeconds")]
    pub(super) drain: Option<Duration>,
}

fn seconds_of<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    seconds::any(&seconds.to_string()).map(Some).map_err(serde::de::Error::custom)
}

impl Settings {
    /// What the file says; one that is not there says nothing, unless it was named.
    pub(super) fn read(path: &Path, is_named: bool) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::invalid_input(format!("{}: {reason}", path.display()));
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound && !is_named => Ok(Self::default()),
            Err(error) => Err(failed(format!("cannot be read: {error}"))),
        }
    }

    /// These, and what is left from others.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            max_connections: self.max_connections.or(others.max_connections),
            max_realms: self.max_realms.or(others.max_realms),
            idle_exit: self.idle_exit.or(others.idle_exit),
            drain: self.drain.or(others.drain),
        }
    }

    /// With what is usual for the rest.
    pub(super) fn limits(self) -> ServiceLimits {
        let usual = ServiceLimits::default();
        ServiceLimits {
            connections: self.max_connections.unwrap_or(usual.connections),
            realms: self.max_realms.unwrap_or(usual.realms),
            // 0 overrules a file.
            idle_exit: self.idle_exit.or(usual.idle_exit).filter(|time| !time.is_zero()),
            drain: self.drain.unwrap_or(usual.drain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.json");
        fs::write(&path, text).unwrap();
        Settings::read(&path, true).map_err(|failure| failure.message)
    }

    #[test]
    fn the_command_line_comes_before_the_file_and_the_file_before_what_is_usual() {
        let file = read(r#"{"maxConnections": 8, "idleExitSeconds": 60, "drainSeconds": 0.5}"#).unwrap();
        let line = Settings { max_connections: NonZeroUsize::new(3), ..Settings::default() };
        let limits = line.or(file).limits();
        assert_eq!(limits.connections.get(), 3);
        assert_eq!(limits.realms, ServiceLimits::default().realms);
        assert_eq!(
            (limits.idle_exit, limits.drain),
            (Some(Duration::from_mins(1)), Duration::from_millis(500))
        );
        let never = Settings { idle_exit: Some(Duration::ZERO), ..Settings::default() };
        assert_eq!(never.or(file).limits().idle_exit, None);
    }

    #[test]
    fn what_is_wrong_in_the_file_is_told() {
        for (text, part) in [
            ("", "EOF"),
            (r#"{"maxConnection": 8}"#, "unknown field `maxConnection`"),
            (r#"{"maxConnections": 0}"#, "nonzero"),
            (r#"{"idleExitSeconds": -1}"#, "must be from 0"),
            (r#"{"drainSeconds": "soon"}"#, "invalid type"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("service.json: ") && error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_says_nothing_unless_it_was_named() {
        let nowhere = Path::new("/nowhere/service.json");
        assert_eq!(Settings::read(nowhere, false).unwrap(), Settings::default());
        assert!(Settings::read(nowhere, true).is_err());
    }
}
