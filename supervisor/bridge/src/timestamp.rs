//! Points in time as the protocol writes them: ISO 8601 in UTC, whole seconds (`2026-11-29T18:05:00Z`).

use std::time::SystemTime;

/// The point in time as text. Fractions of a second are cut off.
pub fn iso8601(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time.max(SystemTime::UNIX_EPOCH)).to_string()
}

/// For `#[serde(with = …)]`: points in time in this form.
pub(crate) mod iso8601_form {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::iso8601(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_is_written_in_utc_without_fraction() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_000_999);
        assert_eq!(iso8601(time), "2001-09-09T01:46:40Z");
    }
}
