//! Everything that a model gets to read about worlds, apart from the values: what the tools are for, what they answer,
//! and what went wrong.
//!
//! Models are led by these sentences. An error always says what would have worked, so that the next attempt can.

use std::fmt::Display;

use serde_json::{Value, json};

use super::path::WorldPath;

/// How many keys a sentence names.
const NAMED_KEYS: usize = 20;
/// How many keys or paths a tool's description names.
const DESCRIBED_KEYS: usize = 12;

// read_world_state

pub(super) const READ_TOOL: &str = "read_world_state";

/// Everything may be read; `keys` are those of the root.
pub(super) fn read_everything<'k>(keys: impl ExactSizeIterator<Item = &'k str>) -> String {
    let purpose = "Read the current state of the game world.";
    if keys.len() == 0 {
        return purpose.to_owned();
    }
    format!("{purpose} Top-level keys: {}.", listed(keys, DESCRIBED_KEYS))
}

/// Only these paths may be read.
pub(super) fn read_some(readable: &[WorldPath]) -> String {
    format!("Read the current state of the game world. Readable paths: {}.", paths(readable))
}

pub(super) fn read_parameters() -> Value {
    let path = "Where to look, such as player.gold or party.0.name. Empty text shows everything.";
    json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": path}},
        "required": ["path"],
    })
}

pub(super) fn cannot_read(path: &WorldPath, readable: &[WorldPath]) -> String {
    format!("Cannot read {}. You may read: {}.", place(path), paths(readable))
}

/// There is nothing at the path; `ancestor` is the nearest place where there is something, an object with these keys.
pub(super) fn absent_from_object<'k>(
    path: &WorldPath,
    ancestor: &WorldPath,
    keys: impl ExactSizeIterator<Item = &'k str>,
) -> String {
    let (nothing, ancestor) = (nothing_at(path), subject(ancestor));
    if keys.len() == 0 {
        return format!("{nothing} {ancestor} has no keys.");
    }
    format!("{nothing} {ancestor} has keys: {}.", listed(keys, NAMED_KEYS))
}

/// The same where the nearest place is a list.
pub(super) fn absent_from_list(path: &WorldPath, list: &WorldPath, len: usize) -> String {
    let (nothing, list) = (nothing_at(path), subject(list));
    match len {
        0 => format!("{nothing} {list} is an empty list."),
        1 => format!("{nothing} {list} is a list of 1 item; use index 0."),
        _ => format!("{nothing} {list} is a list of {len} items; use an index from 0 to {}.", len - 1),
    }
}

/// The same where the nearest place is a single value, of this kind; its JSON text is given where it may be shown.
pub(super) fn absent_from_value(
    path: &WorldPath,
    ancestor: &WorldPath,
    kind: &str,
    shown: Option<&str>,
) -> String {
    let (nothing, ancestor) = (nothing_at(path), subject(ancestor));
    match shown {
        Some(json) => format!("{nothing} {ancestor} is {kind}: {json}."),
        None => format!("{nothing} {ancestor} is {kind}."),
    }
}

fn nothing_at(path: &WorldPath) -> String {
    format!("No value at {}.", place(path))
}

// Large values

/// The note in a listing of `shown` of an object's `all` members.
pub(super) fn listing_note(shown: usize, all: usize) -> String {
    let advice = "Read the path of one key to see all of it.";
    if shown == all {
        format!("Shortened. {advice}")
    } else {
        format!("Shortened. Showing {shown} of {all} keys. {advice}")
    }
}

pub(super) fn items_note(shown: usize, all: usize) -> String {
    format!("Showing {shown} of {}.", counted(all, "item"))
}

pub(super) fn object_in_listing(keys: usize) -> String {
    format!("{{object with {}}}", counted(keys, "key"))
}

pub(super) fn list_in_listing(items: usize) -> String {
    format!("[list of {}]", counted(items, "item"))
}

/// The last line of a summary that leaves lines out.
pub(super) fn more_lines(count: usize) -> String {
    format!("({count} more not shown)")
}

/// How a summary names the whole world, where it has no other name.
pub(super) const WHOLE_STATE: &str = "state";

// update_world_state

pub(super) const UPDATE_TOOL: &str = "update_world_state";

pub(super) fn update(writable: &[WorldPath]) -> String {
    format!("Change the state of the game world. Writable paths: {}.", paths(writable))
}

pub(super) fn update_parameters() -> Value {
    let path = "What to change, such as player.gold.";
    let value = "The new value: text, a number, true or false, or JSON for lists and objects.";
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": path},
            "value": {"type": "string", "description": value},
        },
        "required": ["path", "value"],
    })
}

pub(super) fn read_only(path: &WorldPath, writable: &[WorldPath]) -> String {
    format!("{} is read-only. You may change: {}.", subject(path), paths(writable))
}

/// The value was stored; both as JSON text.
pub(super) fn was_set(path: &WorldPath, new: &str, old: Option<&str>) -> String {
    let path = if path.is_root() { EVERYTHING.to_owned() } else { path.to_string() };
    match old {
        Some(old) => format!("Set {path} to {new} (was {old})."),
        None => format!("Set {path} to {new}."),
    }
}

/// The stored value is `expected` (`a number`), and the new one is not.
pub(super) fn wrong_type(path: &WorldPath, expected: &str, stored: &str, new: &str) -> String {
    format!("Cannot set {}: it is {expected} ({stored}), and {new} is not {expected}.", place(path))
}

// Paths and writes that are refused

pub(super) fn invalid_path(path: &str) -> String {
    format!("'{path}' is not a valid path. Put dots between keys, as in player.gold or party.0.name.")
}

pub(super) fn blocked_by_value(path: &WorldPath, blocked_at: &WorldPath, kind: &str) -> String {
    format!("Cannot write {}: '{blocked_at}' is {kind}, not an object or list.", place(path))
}

/// `path` leads into a list with `len` items, at which it ends or goes on.
pub(super) fn no_such_position(path: &WorldPath, list: &WorldPath, len: usize) -> String {
    let segment = path.segment(list.len()).unwrap_or_default();
    let is_number = segment.bytes().all(|byte| byte.is_ascii_digit());
    let no_index = if is_number { String::new() } else { format!("'{segment}' is not an index; ") };
    let write = format!("Cannot write {}: {no_index}'{list}'", place(path));
    match len {
        0 => format!("{write} is an empty list; use index 0, which appends."),
        _ => format!("{write} has {}; use an index from 0 to {len} ({len} appends).", counted(len, "item")),
    }
}

pub(super) fn root_must_be_an_object(kind: &str) -> String {
    format!("The root of the world must stay an object; {kind} cannot take its place.")
}

pub(super) fn too_deep(path: &WorldPath) -> String {
    format!("Cannot write {}: the world would nest too deep.", place(path))
}

// Parts of sentences

const EVERYTHING: &str = "(everything)";

/// A path within a sentence.
fn place(path: &WorldPath) -> String {
    if path.is_root() { "the whole world".to_owned() } else { format!("'{path}'") }
}

/// A path at the beginning of a sentence.
fn subject(path: &WorldPath) -> String {
    if path.is_root() { "The world".to_owned() } else { format!("'{path}'") }
}

fn paths(paths: &[WorldPath]) -> String {
    let names =
        paths.iter().map(|path| if path.is_root() { EVERYTHING.to_owned() } else { path.to_string() });
    listed(names, NAMED_KEYS)
}

/// The names, or the first `limit` of them and how many are left out.
fn listed(names: impl ExactSizeIterator<Item = impl Display>, limit: usize) -> String {
    let left_out = names.len().saturating_sub(limit);
    let shown = names.take(limit).map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    if left_out == 0 { shown } else { format!("{shown}, … ({left_out} more)") }
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
