//! Changing a JSON value at a path, and telling what changed.
//!
//! Nothing here knows of worlds, versions or observers: an edit takes a root, which is always an object, and adds the
//! [`Change`]s to a list. A refused edit changes nothing; an edit that would leave an equal value does not touch it.
//! Old values are moved out of the root, new ones into it; neither is copied.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    error::WorldError,
    path::{WorldPath, list_position},
    value,
};

/// How deep a world may nest, its root included. Whatever fits a message of the protocol fits a world, and the other
/// way round.
pub const MAX_DEPTH: usize = 98;

/// How many levels of a merge patch are merged. What nests deeper is stored as it is.
const MERGED_LEVELS: usize = 64;

/// A place that an edit changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) path: WorldPath,
    /// What was there, if anything.
    pub(super) old: Option<Value>,
    pub(super) kind: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// There is a new value at the path.
    Stored,
    /// The value was taken away. A list has closed the gap.
    Removed,
}

impl Change {
    /// The new value, as long as `root` is as the edit left it.
    pub(super) fn new_value<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        match self.kind {
            ChangeKind::Stored => value::get(root, &self.path),
            ChangeKind::Removed => None,
        }
    }
}

/// Stores `new` at the path. Missing objects on the way are made, also in the place of `null`; the position behind the
/// last one appends to a list.
pub(super) fn set(
    root: &mut Value,
    path: &WorldPath,
    new: Value,
    changes: &mut Vec<Change>,
) -> Result<(), WorldError> {
    check_depth(path, &new)?;
    if path.is_root() && !new.is_object() {
        return Err(WorldError::RootMustBeAnObject { kind: value::kind(&new) });
    }
    let place = place(root, path)?;
    replace(place.value, place.is_new, new, path, changes);
    Ok(())
}

/// Merges a patch into the value at the path (RFC 7386). A patch that is no object replaces the value, as `null` does.
pub(super) fn merge(
    root: &mut Value,
    path: &WorldPath,
    patch: Value,
    changes: &mut Vec<Change>,
) -> Result<(), WorldError> {
    if !patch.is_object() {
        return set(root, path, patch, changes);
    }
    check_depth(path, &patch)?;
    let place = place(root, path)?;
    match (place.value, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            merge_members(target, patch, &mut path.clone(), 1, changes);
        }
        (target, patch) => replace(target, place.is_new, without_nulls(patch, 0), path, changes),
    }
    Ok(())
}

/// Takes the value at the path away, if there is one. A list closes the gap; the root becomes empty.
pub(super) fn remove(root: &mut Value, path: &WorldPath) -> Option<Change> {
    let old = match path.len().checked_sub(1) {
        None if root.as_object().is_some_and(Map::is_empty) => return None,
        None => std::mem::replace(root, Value::Object(Map::new())),
        Some(last) => {
            let segment = path.segment(last)?;
            match value::get_mut(root, path.segments().take(last))? {
                Value::Object(members) => members.shift_remove(segment)?,
                Value::Array(items) => {
                    let position = list_position(segment).filter(|position| *position < items.len())?;
                    items.remove(position)
                }
                _ => return None,
            }
        }
    };
    Some(Change { path: path.clone(), old: Some(old), kind: ChangeKind::Removed })
}

fn check_depth(path: &WorldPath, new: &Value) -> Result<(), WorldError> {
    let room = MAX_DEPTH.checked_sub(path.len());
    if room.is_some_and(|levels| value::nests_within(new, levels)) {
        Ok(())
    } else {
        Err(WorldError::TooDeep { path: path.clone() })
    }
}

/// Where a write goes.
struct Place<'v> {
    value: &'v mut Value,
    /// The place was made for the write and holds a stand-in.
    is_new: bool,
}

/// The place at the path, made where it is missing. Whatever can be in the way stands before the first thing that is
/// made, so an error has changed nothing.
fn place<'v>(root: &'v mut Value, path: &WorldPath) -> Result<Place<'v>, WorldError> {
    let mut place = Place { value: root, is_new: false };
    for (at, segment) in path.segments().enumerate() {
        if place.value.is_null() {
            *place.value = Value::Object(Map::new());
        }
        let (value, is_new) = match place.value {
            Value::Object(members) => match members.entry(segment) {
                serde_json::map::Entry::Occupied(member) => (member.into_mut(), false),
                serde_json::map::Entry::Vacant(member) => (member.insert(Value::Null), true),
            },
            Value::Array(items) => {
                let len = items.len();
                match list_position(segment) {
                    Some(position) if position < len => (&mut items[position], false),
                    Some(position) if position == len => (items.push_mut(Value::Null), true),
                    _ => {
                        let list = path.ancestor(at);
                        return Err(WorldError::NoSuchPosition { path: path.clone(), list, len });
                    }
                }
            }
            other => {
                let (blocked_at, kind) = (path.ancestor(at), value::kind(other));
                return Err(WorldError::Blocked { path: path.clone(), blocked_at, kind });
            }
        };
        place = Place { value, is_new };
    }
    Ok(place)
}

fn replace(target: &mut Value, is_new: bool, new: Value, path: &WorldPath, changes: &mut Vec<Change>) {
    if is_new {
        *target = new;
        changes.push(Change { path: path.clone(), old: None, kind: ChangeKind::Stored });
    } else if !value::same(target, &new) {
        let old = Some(std::mem::replace(target, new));
        changes.push(Change { path: path.clone(), old, kind: ChangeKind::Stored });
    }
}

/// Merges the members of a patch, of which `level` levels have been merged with this one.
fn merge_members(
    target: &mut Map<String, Value>,
    patch: Map<String, Value>,
    path: &mut WorldPath,
    level: usize,
    changes: &mut Vec<Change>,
) {
    // Taking members out one by one would move the rest each time.
    let mut emptied = HashSet::new();
    for (key, new) in patch {
        path.push(&key);
        match (target.get_mut(&key), new) {
            (None, Value::Null) => {}
            (Some(old), Value::Null) => {
                let old = Some(std::mem::take(old));
                changes.push(Change { path: path.clone(), old, kind: ChangeKind::Removed });
                emptied.insert(key);
            }
            (Some(Value::Object(target)), Value::Object(patch)) if level < MERGED_LEVELS => {
                merge_members(target, patch, path, level + 1, changes);
            }
            (Some(target), new) => replace(target, false, without_nulls(new, level), path, changes),
            (None, new) => {
                changes.push(Change { path: path.clone(), old: None, kind: ChangeKind::Stored });
                target.insert(key, without_nulls(new, level));
            }
        }
        path.pop();
    }
    if !emptied.is_empty() {
        target.retain(|key, _| !emptied.contains(key));
    }
}

/// What a patch makes of nothing: its objects lose their `null` members.
fn without_nulls(patch: Value, level: usize) -> Value {
    match patch {
        Value::Object(members) if level < MERGED_LEVELS => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key, without_nulls(value, level + 1))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
