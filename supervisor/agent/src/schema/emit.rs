//! The tree as the dialect's JSON.
//!
//! Objects and unions are written once, in the root's `$defs`, and referred to; only what the root leads to is
//! written at all. Everything else stands where it is used.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use super::{
    SchemaError,
    budget::Budget,
    place::Path,
    refs::Targets,
    tree::{Node, Object, Typed, Union},
};

/// The schema's JSON and the name of its root type, which is `root_name` unless the root is a reference.
pub(super) fn emit(
    root: &Typed,
    targets: &Targets<'_>,
    root_name: String,
) -> Result<(Value, String), SchemaError> {
    let node = match &root.node {
        Node::Target(id) => targets.named_type(*id),
        node => node,
    };
    let name = type_name(node).map_or(root_name, str::to_owned);
    let mut emitter = Emitter {
        targets,
        root: type_name(node),
        budget: Budget::default(),
        references: HashMap::new(),
        pending: VecDeque::new(),
    };
    let mut json = match node {
        Node::Object(object) => emitter.object(object)?,
        Node::Union(union) => emitter.union(union)?,
        Node::Choices(_) => {
            let mut json = Map::from_iter([("title".to_owned(), json!(name))]);
            emitter.describe(&mut json, root.description.as_deref())?;
            json.extend(emitter.inline(node)?);
            json
        }
        node => emitter.inline(node)?,
    };
    let definitions = emitter.definitions()?;
    if !definitions.is_empty() {
        json.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Ok((Value::Object(json), name))
}

struct Emitter<'t> {
    targets: &'t Targets<'t>,
    /// The root's name, if it is a type that can be referred to.
    root: Option<&'t str>,
    /// Descriptions of types are repeated at their uses.
    budget: Budget,
    /// The types that are referred to, by name.
    references: HashMap<&'t str, String>,
    /// Those that are still to be written.
    pending: VecDeque<&'t Node>,
}

impl<'t> Emitter<'t> {
    /// The definitions of all types that have been referred to, and of those they refer to.
    fn definitions(&mut self) -> Result<Map<String, Value>, SchemaError> {
        let mut definitions = Map::new();
        while let Some(node) = self.pending.pop_front() {
            let (name, json) = match node {
                Node::Object(object) => (&object.name, self.object(object)?),
                Node::Union(union) => (&union.name, self.union(union)?),
                _ => continue,
            };
            definitions.insert(name.clone(), Value::Object(json));
        }
        Ok(definitions)
    }

    fn object(&mut self, object: &'t Object) -> Result<Map<String, Value>, SchemaError> {
        let mut json = Map::from_iter([("title".to_owned(), json!(object.name))]);
        self.describe(&mut json, object.description.as_deref())?;
        let mut properties = Map::with_capacity(object.properties.len());
        let mut required = Vec::new();
        let mut order = Vec::with_capacity(object.properties.len());
        for property in &object.properties {
            let value = &property.value;
            let mut nullable = value.nullable;
            let mut description = value.description.as_deref();
            if let Node::Target(id) = value.node {
                nullable |= self.targets.is_nullable(id);
                description = description.or_else(|| self.targets.description(id));
            }
            let mut schema = self.inline(&value.node)?;
            self.describe(&mut schema, description)?;
            self.pay(property.key.len())?;
            properties.insert(property.key.clone(), Value::Object(schema));
            order.push(json!(property.key));
            if property.listed && !nullable {
                required.push(json!(property.key));
            }
        }
        json.extend([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), Value::Object(properties)),
            ("required".to_owned(), Value::Array(required)),
            ("additionalProperties".to_owned(), json!(false)),
            ("x-order".to_owned(), Value::Array(order)),
        ]);
        Ok(json)
    }

    fn union(&mut self, union: &'t Union) -> Result<Map<String, Value>, SchemaError> {
        let mut json = Map::from_iter([("title".to_owned(), json!(union.name))]);
        self.describe(&mut json, union.description.as_deref())?;
        let branches = union.branches.iter().map(|branch| self.inline(branch).map(Value::Object));
        let branches = branches.collect::<Result<_, _>>()?;
        json.insert("anyOf".to_owned(), Value::Array(branches));
        Ok(json)
    }

    /// A type where it is used.
    fn inline(&mut self, node: &'t Node) -> Result<Map<String, Value>, SchemaError> {
        self.budget.node(&Path::ROOT)?;
        let typed = |name: &str| with(Map::new(), "type", Some(name));
        Ok(match node {
            Node::String => typed("string"),
            Node::Boolean => typed("boolean"),
            Node::Null => typed("null"),
            Node::Integer { minimum, maximum } => {
                with(with(typed("integer"), "minimum", *minimum), "maximum", *maximum)
            }
            Node::Number { minimum, maximum } => {
                with(with(typed("number"), "minimum", minimum.clone()), "maximum", maximum.clone())
            }
            Node::Choices(choices) => {
                self.pay(choices.iter().map(String::len).sum())?;
                with(typed("string"), "enum", Some(choices.clone()))
            }
            Node::Array(array) => {
                let json = with(typed("array"), "items", Some(self.inline(&array.items)?));
                with(with(json, "minItems", array.min_items), "maxItems", array.max_items)
            }
            Node::Object(_) | Node::Union(_) => with(Map::new(), "$ref", Some(self.refer(node))),
            Node::Target(id) => with(Map::new(), "$ref", Some(self.refer(self.targets.named_type(*id)))),
        })
    }

    /// The text of a reference to a named type.
    fn refer(&mut self, node: &'t Node) -> &str {
        let name = type_name(node).unwrap_or_default();
        if self.root == Some(name) {
            return "#";
        }
        self.references.entry(name).or_insert_with(|| {
            self.pending.push_back(node);
            format!("#/$defs/{name}")
        })
    }

    fn describe(&mut self, json: &mut Map<String, Value>, text: Option<&str>) -> Result<(), SchemaError> {
        if let Some(text) = text {
            self.pay(text.len())?;
            json.insert("description".to_owned(), json!(text));
        }
        Ok(())
    }

    fn pay(&mut self, bytes: usize) -> Result<(), SchemaError> {
        self.budget.bytes(bytes, &Path::ROOT)
    }
}

/// The members with one more, if there is a value for it.
fn with(mut json: Map<String, Value>, keyword: &str, value: Option<impl Into<Value>>) -> Map<String, Value> {
    json.extend(value.map(|value| (keyword.to_owned(), value.into())));
    json
}

fn type_name(node: &Node) -> Option<&str> {
    match node {
        Node::Object(object) => Some(&object.name),
        Node::Union(union) => Some(&union.name),
        _ => None,
    }
}
