//! A schema's types, as values are checked and ordered by them: what the dialect's JSON says, ready to be looked up.

use std::{
    collections::{HashMap, HashSet},
    mem, slice,
};

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Number, Value};

use super::effort::{Looks, TooLarge};

pub(super) enum Type {
    String,
    Boolean,
    Null,
    Number(Range),
    Choices(IndexSet<Box<str>>),
    Array(Array),
    Object(Object),
    Union(Union),
}

pub(super) struct Range {
    pub(super) is_integer: bool,
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
}

pub(super) struct Array {
    pub(super) items: TypeId,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
}

pub(super) struct Object {
    pub(super) name: String,
    /// In the order in which they are generated.
    pub(super) properties: IndexMap<Box<str>, Property>,
    /// How many of them are required.
    pub(super) required: usize,
}

pub(super) struct Property {
    pub(super) value: TypeId,
    pub(super) is_required: bool,
}

pub(super) struct Union {
    pub(super) name: String,
    pub(super) branches: Vec<TypeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TypeId(usize);

impl TypeId {
    pub(super) const ROOT: Self = Self(0);
}

/// All types of a schema; the first is the root.
pub(super) struct Types {
    types: Vec<Type>,
}

impl Types {
    pub(super) fn of(schema: &Value) -> Self {
        let none = Map::new();
        let definitions = schema.get("$defs").and_then(Value::as_object).unwrap_or(&none);
        let numbers = definitions.keys().zip(1..).map(|(name, number)| (name.as_str(), TypeId(number)));
        // Definitions have their numbers before they are read: they refer to each other.
        let types = (0..=definitions.len()).map(|_| Type::Null).collect();
        let mut reader = Reader { types, definitions: numbers.collect() };
        for (number, node) in [schema].into_iter().chain(definitions.values()).enumerate() {
            reader.types[number] = reader.read(node);
        }
        Self { types: reader.types }
    }

    pub(super) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// How many alternatives there may be for one value.
    pub(super) fn alternatives(&self) -> usize {
        let branches = |it: &Type| if let Type::Union(union) = it { union.branches.len() } else { 0 };
        1 + self.types.iter().map(branches).sum::<usize>()
    }
}

struct Reader<'t> {
    types: Vec<Type>,
    definitions: HashMap<&'t str, TypeId>,
}

impl Reader<'_> {
    fn place(&mut self, node: &Value) -> TypeId {
        if let Some(reference) = node["$ref"].as_str() {
            let definition = reference.strip_prefix("#/$defs/").and_then(|name| self.definitions.get(name));
            return definition.copied().unwrap_or(TypeId::ROOT);
        }
        let read = self.read(node);
        self.types.push(read);
        TypeId(self.types.len() - 1)
    }

    fn read(&mut self, node: &Value) -> Type {
        let name = || node["title"].as_str().unwrap_or_default().to_owned();
        if let Some(branches) = node["anyOf"].as_array() {
            return Type::Union(Union {
                name: name(),
                branches: branches.iter().map(|branch| self.place(branch)).collect(),
            });
        }
        if let Some(choices) = node["enum"].as_array() {
            return Type::Choices(choices.iter().filter_map(Value::as_str).map(Box::from).collect());
        }
        match node["type"].as_str() {
            Some("object") => Type::Object(self.object(node, name())),
            Some("array") => Type::Array(Array {
                items: self.place(&node["items"]),
                min_items: node["minItems"].as_u64(),
                max_items: node["maxItems"].as_u64(),
            }),
            Some(kind @ ("integer" | "number")) => Type::Number(Range {
                is_integer: kind == "integer",
                minimum: node["minimum"].as_number().cloned(),
                maximum: node["maximum"].as_number().cloned(),
            }),
            Some("boolean") => Type::Boolean,
            Some("null") => Type::Null,
            _ => Type::String,
        }
    }

    fn object(&mut self, node: &Value, name: String) -> Object {
        let required = node["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let required: HashSet<_> = required.iter().filter_map(Value::as_str).collect();
        let property = |(key, value): (&String, &Value)| {
            let property =
                Property { value: self.place(value), is_required: required.contains(key.as_str()) };
            (key.as_str().into(), property)
        };
        let properties = node["properties"].as_object().into_iter().flatten().map(property).collect();
        Object { name, properties, required: required.len() }
    }
}

/// The types that a value may have, in order: the branches of a union, also of those that are branches themselves, or the type
/// itself. Unions are entered once each, however often they lead to one another.
pub(super) struct Alternatives<'t> {
    types: &'t Types,
    branches: slice::Iter<'t, TypeId>,
    /// What is left of the unions around them.
    around: Vec<slice::Iter<'t, TypeId>>,
    /// Besides the one that all began with.
    entered: HashSet<TypeId>,
    first: TypeId,
}

impl<'t> Alternatives<'t> {
    pub(super) fn of(types: &'t Types, id: &'t TypeId) -> Self {
        let branches = match types.get(*id) {
            Type::Union(union) => union.branches.iter(),
            _ => slice::from_ref(id).iter(),
        };
        Self { types, branches, around: Vec::new(), entered: HashSet::new(), first: *id }
    }

    pub(super) fn next(&mut self, looks: &mut Looks) -> Result<Option<&'t TypeId>, TooLarge> {
        loop {
            let Some(id) = self.branches.next() else {
                match self.around.pop() {
                    Some(branches) => self.branches = branches,
                    None => return Ok(None),
                }
                continue;
            };
            looks.spend(1)?;
            match self.types.get(*id) {
                Type::Union(union) if *id != self.first && self.entered.insert(*id) => {
                    self.around.push(mem::replace(&mut self.branches, union.branches.iter()));
                }
                Type::Union(_) => {}
                _ => return Ok(Some(id)),
            }
        }
    }
}
