//! Members in the schema's order.
//!
//! Models write members in the order in which they are asked for, but not every model can be held to it, and hosts
//! that read a structured answer from top to bottom rely on it.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Deeper values stay as they are.
const MAX_DEPTH: usize = 64;
/// References that are followed for one value.
const MAX_HOPS: usize = 16;

pub(super) fn reorder(schema: &Value, value: Value) -> Value {
    Types { root: schema }.reorder(schema, value, 0)
}

/// The types of a schema in the dialect.
struct Types<'t> {
    root: &'t Value,
}

impl<'t> Types<'t> {
    fn reorder(&self, schema: &'t Value, value: Value, depth: usize) -> Value {
        if depth >= MAX_DEPTH {
            return value;
        }
        match value {
            Value::Object(members) => Value::Object(match self.object_for(schema, &members) {
                Some(object) => self.reorder_members(object, members, depth),
                None => members,
            }),
            Value::Array(elements) => {
                let items = self.plain(schema, "items").and_then(|array| array.get("items"));
                match items {
                    Some(items) => {
                        elements.into_iter().map(|element| self.reorder(items, element, depth + 1)).collect()
                    }
                    None => Value::Array(elements),
                }
            }
            value => value,
        }
    }

    fn reorder_members(
        &self,
        object: Object<'t>,
        mut members: Map<String, Value>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut ordered = Map::with_capacity(members.len());
        for key in object.order.iter().filter_map(Value::as_str) {
            if let (Some(value), Some(schema)) = (members.get_mut(key), object.properties.get(key)) {
                ordered.insert(key.to_owned(), self.reorder(schema, value.take(), depth + 1));
            }
        }
        for (key, value) in members {
            ordered.entry(key).or_insert(value);
        }
        ordered
    }

    /// The object type that a value with these members is of: in a union the best match, the first of equals.
    fn object_for(&self, schema: &'t Value, members: &Map<String, Value>) -> Option<Object<'t>> {
        let mut best: Option<(i64, Object<'_>)> = None;
        self.alternatives(schema, |node| {
            let Some(object) = Object::of(node) else { return };
            let known = |key| if members.contains_key(key) { 2 } else { -1 };
            let score = object.properties.keys().map(known).sum();
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, object));
            }
        });
        best.map(|(_, object)| object)
    }

    /// The first alternative that has `keyword`.
    fn plain(&self, schema: &'t Value, keyword: &str) -> Option<&'t Value> {
        let mut found = None;
        self.alternatives(schema, |node| {
            if found.is_none() && node.get(keyword).is_some() {
                found = Some(node);
            }
        });
        found
    }

    /// Visits the types that a value may have, in order: the branches of a union, else the type itself. Each is
    /// visited once, however often a union leads to it.
    fn alternatives(&self, schema: &'t Value, mut visit: impl FnMut(&'t Value)) {
        let mut seen = HashSet::new();
        let mut next = vec![(schema, 0)];
        while let Some((node, hops)) = next.pop() {
            if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
                if hops < MAX_HOPS {
                    next.extend(self.target(reference).map(|target| (target, hops + 1)));
                }
            } else if let Some(branches) = node.get("anyOf").and_then(Value::as_array) {
                if seen.insert(std::ptr::from_ref(node)) {
                    next.extend(branches.iter().rev().map(|branch| (branch, hops)));
                }
            } else {
                visit(node);
            }
        }
    }

    fn target(&self, reference: &str) -> Option<&'t Value> {
        match reference.strip_prefix("#/$defs/") {
            Some(name) => self.root.get("$defs")?.get(name),
            None => Some(self.root),
        }
    }
}

/// An object type.
#[derive(Clone, Copy)]
struct Object<'t> {
    properties: &'t Map<String, Value>,
    order: &'t [Value],
}

impl<'t> Object<'t> {
    fn of(node: &'t Value) -> Option<Self> {
        Some(Self {
            properties: node.get("properties")?.as_object()?,
            order: node.get("x-order")?.as_array()?,
        })
    }
}
