//! The part of a world that may be read, without copying any of it.

use std::{borrow::Cow, collections::HashMap};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{path::WorldPath, value};

/// A value, or those of its members that may be read. Serializes as what it shows.
#[derive(Debug)]
pub(super) enum Part<'v> {
    Whole(&'v Value),
    /// In their order. The items of a list become members.
    Members(Vec<(Cow<'v, str>, Part<'v>)>),
}

impl<'v> Part<'v> {
    /// What may be read within a path that lies above readable paths; `None` when it does not.
    pub(super) fn above(root: &'v Value, path: &WorldPath, readable: &[WorldPath]) -> Option<Self> {
        let below = readable.iter().filter(|readable| readable.is_within(path));
        let below: Vec<Vec<&str>> =
            below.map(|readable| readable.segments().skip(path.len()).collect()).collect();
        if below.is_empty() {
            return None;
        }
        let below: Vec<_> = below.iter().map(Vec::as_slice).collect();
        let members = value::get(root, path).map(|value| members(value, &below));
        Some(Self::Members(members.unwrap_or_default()))
    }
}

/// The members that lead to one of the paths, which all have a segment.
fn members<'v>(value: &'v Value, paths: &[&[&str]]) -> Vec<(Cow<'v, str>, Part<'v>)> {
    let mut wanted: HashMap<&str, Vec<&[&str]>> = HashMap::new();
    for path in paths {
        if let Some((first, rest)) = path.split_first() {
            wanted.entry(first).or_default().push(rest);
        }
    }
    let part = |key: &str, value: &'v Value| {
        let paths = wanted.get(key)?;
        if paths.iter().any(|path| path.is_empty()) {
            return Some(Part::Whole(value));
        }
        let members = members(value, paths);
        (!members.is_empty()).then_some(Part::Members(members))
    };
    match value {
        Value::Object(members) => members
            .iter()
            .filter_map(|(key, member)| Some((Cow::Borrowed(key.as_str()), part(key, member)?)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| (position.to_string(), item))
            .filter_map(|(key, item)| part(&key, item).map(|part| (Cow::Owned(key), part)))
            .collect(),
        _ => Vec::new(),
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(value) => value.serialize(serializer),
            Self::Members(members) => serializer.collect_map(members.iter().map(|(key, part)| (key, part))),
        }
    }
}
