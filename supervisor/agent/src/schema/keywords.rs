//! The keywords of one schema node: read where they stand, or merged from the parts of an `allOf`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// One node's members. Nothing is copied: everything points into the schema as it was given.
#[derive(Debug)]
pub(super) enum Keywords<'s> {
    Plain(&'s Map<String, Value>),
    Merged(Box<Merged<'s>>),
}

impl<'s> Keywords<'s> {
    /// The member `keyword`, except those with a method of their own.
    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        match self {
            Self::Plain(map) => map.get(keyword),
            Self::Merged(merged) => merged.others.get(keyword).copied(),
        }
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'s str> {
        self.get(keyword)?.as_str()
    }

    pub(super) fn list(&self, keyword: &str) -> Option<&'s [Value]> {
        self.get(keyword)?.as_array().map(Vec::as_slice)
    }

    /// The description; an empty one is none.
    pub(super) fn description(&self) -> Option<&'s str> {
        self.text("description").filter(|text| !text.is_empty())
    }

    /// The parts of `allOf`, if the node has one.
    pub(super) fn all_of(&self) -> Option<Vec<&'s Value>> {
        match self {
            Self::Plain(map) => Some(map.get("allOf")?.as_array()?.iter().collect()),
            Self::Merged(merged) => merged.all_of.clone(),
        }
    }

    /// Whether the node has `properties`, if only empty ones.
    pub(super) fn has_properties(&self) -> bool {
        match self {
            Self::Plain(map) => map.contains_key("properties"),
            Self::Merged(merged) => merged.properties.is_some(),
        }
    }

    /// The properties in the order of the document; none when `properties` is not an object.
    pub(super) fn properties(&self) -> Vec<(&'s str, &'s Value)> {
        match self {
            Self::Plain(map) => match map.get("properties").and_then(Value::as_object) {
                Some(properties) => properties.iter().map(|(key, schema)| (key.as_str(), schema)).collect(),
                None => Vec::new(),
            },
            Self::Merged(merged) => merged.properties.as_ref().map_or_else(Vec::new, |it| it.ordered.clone()),
        }
    }

    /// The properties in the order in which they are generated: by `x-order`, then as in the document.
    pub(super) fn ordered_properties(&self) -> Vec<(&'s str, &'s Value)> {
        let properties = self.properties();
        let Some(order) = self.list("x-order") else { return properties };
        let by_key: HashMap<_, _> = properties.iter().copied().collect();
        let mut placed = HashSet::with_capacity(properties.len());
        let mut ordered = Vec::with_capacity(properties.len());
        for key in order.iter().filter_map(Value::as_str) {
            if let Some(schema) = by_key.get(key)
                && placed.insert(key)
            {
                ordered.push((key, *schema));
            }
        }
        ordered.extend(properties.into_iter().filter(|(key, _)| !placed.contains(key)));
        ordered
    }

    /// For a merged node that is an object because it has properties, whatever its parts call it: whether it may
    /// also be `null`.
    pub(super) fn merged_object(&self) -> Option<bool> {
        let Self::Merged(merged) = self else { return None };
        merged.properties.as_ref().filter(|properties| !properties.ordered.is_empty())?;
        let types: Vec<_> = strings(self.get("type")).collect();
        Some(types.contains(&"null") && types.contains(&"object"))
    }

    /// The names that `required` lists.
    pub(super) fn required(&self) -> HashSet<&'s str> {
        match self {
            Self::Plain(map) => strings(map.get("required")).collect(),
            Self::Merged(merged) => merged.required.iter().copied().collect(),
        }
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A node with the parts of its `allOf` merged into it: properties of later parts override, requirements and
/// further parts add up, of every other keyword the first one wins.
#[derive(Debug, Default)]
pub(super) struct Merged<'s> {
    others: HashMap<&'s str, &'s Value>,
    properties: Option<Properties<'s>>,
    required: Vec<&'s str>,
    all_of: Option<Vec<&'s Value>>,
}

#[derive(Debug, Default)]
struct Properties<'s> {
    ordered: Vec<(&'s str, &'s Value)>,
    places: HashMap<&'s str, usize>,
}

impl<'s> Merged<'s> {
    /// The node without its own `allOf`.
    pub(super) fn without_all_of(node: Keywords<'s>) -> Self {
        match node {
            Keywords::Plain(map) => {
                let mut merged = Self::default();
                merged.add(map);
                merged.all_of = None;
                merged
            }
            Keywords::Merged(merged) => Self { all_of: None, ..*merged },
        }
    }

    /// Merges the next part.
    pub(super) fn add(&mut self, part: &'s Map<String, Value>) {
        for (keyword, value) in part {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => self.add_properties(properties),
                ("required", _) => self.required.extend(strings(Some(value))),
                ("allOf", Value::Array(parts)) => self.all_of.get_or_insert_default().extend(parts),
                (keyword, _) => {
                    self.others.entry(keyword).or_insert(value);
                }
            }
        }
    }

    fn add_properties(&mut self, properties: &'s Map<String, Value>) {
        let known = self.properties.get_or_insert_default();
        for (key, schema) in properties {
            let place = *known.places.entry(key).or_insert(known.ordered.len());
            match known.ordered.get_mut(place) {
                Some(known) => known.1 = schema,
                None => known.ordered.push((key, schema)),
            }
        }
    }
}
