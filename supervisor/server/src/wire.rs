//! What the APIs have in common on the wire.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use oam_agent::json_text;
use serde::Serialize;

const ID_CHARS: usize = 29;

/// Room for all but long answers.
const USUAL_BYTES: usize = 1024;

/// A new id: nobody else has it.
pub(crate) fn id(prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + ID_CHARS);
    id.push_str(prefix);
    id.extend(std::iter::repeat_with(fastrand::alphanumeric).take(ID_CHARS));
    id
}

pub(crate) fn unix_seconds() -> u64 {
    // A clock before 1970 is wrong anyway.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

pub(crate) fn json(value: &impl Serialize) -> Bytes {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    json_text::write(&mut text, value);
    text.into()
}

/// Writes the data of an event, and its end.
pub(crate) fn event_data(events: &mut Vec<u8>, data: &impl Serialize) {
    events.extend_from_slice(b"data: ");
    json_text::write(events, data);
    events.extend_from_slice(b"\n\n");
}
