//! How records and snapshots are written: one byte that tells the form, then JSON.

use std::fmt;

use oam_agent::json_text::WireFormatter;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Serializer;

/// The form that is written. Whatever changes in what records say, so that an earlier version would misread it, makes a
/// new form; earlier forms are read for ever.
const FORM: u8 = 1;

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableRecord {
    /// A newer version of oam wrote it, in this form.
    Newer(u8),
    /// It is not what this version of oam writes.
    Malformed(String),
}

impl UnreadableRecord {
    pub(crate) fn without_beginning() -> Self {
        Self::Malformed("nothing tells how the object began".to_owned())
    }
}

impl fmt::Display for UnreadableRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(form) => write!(
                f,
                "a newer version of oam wrote it (form {form}; this version knows forms up to {FORM})"
            ),
            Self::Malformed(reason) => write!(f, "it cannot be understood: {reason}"),
        }
    }
}

/// A record, or a snapshot, as the journal gets it.
///
/// # Panics
/// Never: all keys of records are strings.
pub(crate) fn written(record: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![FORM];
    record
        .serialize(&mut Serializer::with_formatter(&mut bytes, WireFormatter))
        .expect("every key of a record is a string");
    bytes
}

/// Reads what [`written`] wrote.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, UnreadableRecord> {
    match bytes {
        [FORM, json @ ..] => {
            serde_json::from_slice(json).map_err(|error| UnreadableRecord::Malformed(error.to_string()))
        }
        [form, ..] if *form > FORM => Err(UnreadableRecord::Newer(*form)),
        _ => Err(UnreadableRecord::Malformed("it does not tell its form".to_owned())),
    }
}
