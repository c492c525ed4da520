//! The walk over a JSON Schema: which keywords decide what a node becomes.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Converted, GenerationSchema, SchemaError, SchemaWarning,
    budget::Budget,
    describe::{self, joined},
    emit,
    keywords::Keywords,
    names::{self, Names},
    place::{Path, Place},
    refs::Targets,
    tree::{Array, Node, Object, Property, Typed},
    values,
};

/// What is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    JsonSchema,
    /// JSON Schema whose root, should it name no type, is an object.
    ToolParameters,
    /// The dialect itself: its type names are kept.
    Dialect,
}

impl Source {
    /// How deep nodes may nest or refer. In the dialect each named type is one more hop away.
    pub(super) fn max_depth(self) -> usize {
        match self {
            Self::JsonSchema | Self::ToolParameters => 32,
            Self::Dialect => 64,
        }
    }
}

pub(super) fn convert(schema: &Value, root_name: &str, source: Source) -> Result<Converted, SchemaError> {
    let mut converter = Converter {
        schema,
        source,
        names: Names::default(),
        budget: Budget::default(),
        targets: Targets::default(),
        inlining: HashSet::new(),
        warnings: Vec::new(),
    };
    let root_name = converter.name_of(schema, || root_name.to_owned());
    let root = converter.root(&root_name)?;
    let (json, name) = emit::emit(&root, &converter.targets, root_name)?;
    Ok(Converted { schema: GenerationSchema::new(json, name), warnings: converter.warnings })
}

/// The state of one conversion.
#[derive(Debug)]
pub(super) struct Converter<'s> {
    /// The whole document, for references.
    pub(super) schema: &'s Value,
    pub(super) source: Source,
    pub(super) names: Names,
    pub(super) budget: Budget,
    pub(super) targets: Targets<'s>,
    /// The references that are being inlined on the way to the current node.
    pub(super) inlining: HashSet<&'s str>,
    warnings: Vec<SchemaWarning>,
}

impl<'s> Converter<'s> {
    pub(super) fn warn(&mut self, at: Place<'_>, text: impl Into<String>) -> Result<(), SchemaError> {
        let warning = SchemaWarning { path: at.path.to_string(), text: text.into() };
        self.budget.bytes(warning.path.len() + warning.text.len(), &at.path)?;
        self.warnings.push(warning);
        Ok(())
    }

    /// Reserves the name of a property, item or branch: its `title`, else what `derived` says.
    ///
    /// The dialect has names for named types only, so only those are reserved when it is read back: a name derived
    /// for anything else could take one of theirs.
    pub(super) fn name_of(&mut self, schema: &Value, derived: impl FnOnce() -> String) -> String {
        let node = schema.as_object();
        let title = node.and_then(|node| node.get("title")).and_then(Value::as_str);
        let wanted = title.map_or_else(derived, str::to_owned);
        if self.source == Source::Dialect && !node.is_some_and(is_named_type) {
            names::sanitise(&wanted)
        } else {
            self.names.reserve(&wanted)
        }
    }

    /// Converts any schema node.
    pub(super) fn convert(&mut self, schema: &'s Value, at: Place<'_>) -> Result<Typed, SchemaError> {
        match schema {
            Value::Object(members) => self.node(Keywords::Plain(members), at),
            Value::Bool(true) => {
                self.enter(at)?;
                self.warn(at, "unconstrained schema `true` is generated as a string")?;
                Ok(Typed::new(Node::String, None))
            }
            _ => Err(SchemaError::new(at.path, "expected a schema object")),
        }
    }

    /// Pays for a node and checks its depth.
    pub(super) fn enter(&mut self, at: Place<'_>) -> Result<(), SchemaError> {
        if at.depth > self.source.max_depth() {
            return Err(self.too_deep(at));
        }
        self.budget.node(&at.path)
    }

    pub(super) fn too_deep(&self, at: Place<'_>) -> SchemaError {
        let levels = self.source.max_depth();
        SchemaError::new(at.path, format!("the schema nests or references more than {levels} levels deep"))
    }

    pub(super) fn node(&mut self, keywords: Keywords<'s>, at: Place<'_>) -> Result<Typed, SchemaError> {
        self.enter(at)?;
        if let Some(reference) = keywords.text("$ref") {
            self.reference(reference, keywords.description(), at)
        } else if let Some(parts) = keywords.all_of() {
            self.all_of(keywords, &parts, at)
        } else if let Some(branches) = keywords.list("anyOf").or_else(|| keywords.list("oneOf")) {
            self.union(branches, &keywords, at)
        } else if let Some(values) = keywords.list("enum") {
            self.choices(values, &keywords, at)
        } else if let Some(value) = keywords.get("const") {
            self.constant(value, &keywords, at)
        } else {
            self.by_type(&keywords, keywords.description().map(str::to_owned), at)
        }
    }

    /// Converts a node that only its type describes.
    pub(super) fn by_type(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let (name, nullable) = self.type_name(keywords, at)?;
        let typed = match name {
            "object" => self.object(keywords, description, at),
            "array" => self.array(keywords, description, at),
            "string" => self.string(keywords, description, at),
            "integer" => self.integer(keywords, description, at),
            "number" => self.number(keywords, description, at),
            "boolean" => Ok(Typed::new(Node::Boolean, description)),
            "null" => Ok(Typed::null(description)),
            other => Err(SchemaError::new(at.path, format!("unsupported type '{other}'"))),
        }?;
        Ok(Typed { nullable: nullable || typed.nullable, ..typed })
    }

    /// The type that a node says or implies, and whether `null` is one, too.
    fn type_name(&mut self, keywords: &Keywords<'s>, at: Place<'_>) -> Result<(&'s str, bool), SchemaError> {
        let invalid = || SchemaError::new(at.path, "invalid 'type'");
        if let Some(nullable) = keywords.merged_object() {
            return Ok(("object", nullable));
        }
        match keywords.get("type") {
            Some(Value::String(name)) => Ok((name, false)),
            Some(Value::Array(list)) => {
                let names: Vec<_> =
                    list.iter().map(|name| name.as_str().ok_or_else(invalid)).collect::<Result<_, _>>()?;
                let others: Vec<_> = names.iter().copied().filter(|name| *name != "null").collect();
                let Some(first) = others.first() else {
                    return if names.is_empty() { Err(invalid()) } else { Ok(("null", true)) };
                };
                if others.len() > 1 {
                    let quoted: Vec<_> = others.iter().map(|name| format!("\"{name}\"")).collect();
                    let list = quoted.join(", ");
                    self.warn(at, format!("multiple types [{list}] are not supported; using '{first}'"))?;
                }
                Ok((first, others.len() < names.len()))
            }
            Some(_) => Err(invalid()),
            None => self.implied_type(keywords, at).map(|name| (name, false)),
        }
    }

    fn implied_type(&mut self, keywords: &Keywords<'s>, at: Place<'_>) -> Result<&'static str, SchemaError> {
        let has = |keyword| keywords.get(keyword).is_some();
        Ok(if keywords.has_properties() {
            "object"
        } else if has("items") {
            "array"
        } else if has("pattern") || has("format") {
            "string"
        } else if has("minimum") || has("maximum") {
            "number"
        } else if self.source == Source::ToolParameters && matches!(at.path, Path::Base("#")) {
            "object"
        } else {
            self.warn(at, "schema without a type is generated as a string")?;
            "string"
        })
    }

    /// An object whose members are what `properties` says, in order, and no others.
    fn object(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let description = self.describe(description, keywords, describe::OBJECT_NOTES, at)?;
        let schemas = keywords.ordered_properties();
        let required = keywords.required();
        self.budget.entries(schemas.len() + required.len(), &at.path)?;
        if schemas.is_empty()
            && keywords.get("additionalProperties").is_some_and(|it| *it != Value::Bool(false))
        {
            self.warn(
                at,
                "free-form objects (additionalProperties without properties) cannot be generated; \
                 producing an empty object",
            )?;
        }
        let mut properties = Vec::with_capacity(schemas.len());
        for (key, schema) in schemas {
            let name = self.name_of(schema, || format!("{}_{key}", at.name));
            let mut value = self.convert(schema, at.inner(Path::Property(&at.path, key), &name))?;
            value.description = value.description.or_else(|| own_description(schema));
            self.pay_for(value.description.as_deref(), at)?;
            properties.push(Property { key: key.to_owned(), value, listed: required.contains(key) });
        }
        let object = Object { name: at.name.to_owned(), description: description.clone(), properties };
        Ok(Typed::new(Node::Object(Box::new(object)), description))
    }

    fn array(
        &mut self,
        keywords: &Keywords<'s>,
        description: Option<String>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let description = self.describe(description, keywords, describe::ARRAY_NOTES, at)?;
        let (min_items, max_items) = self.item_counts(keywords, at)?;
        let mut items = keywords.get("items");
        if items.is_none() {
            items = keywords.list("prefixItems").and_then(|items| items.first());
            self.warn(
                at,
                if items.is_some() {
                    "tuple arrays (prefixItems) are generated as arrays of the first item type"
                } else {
                    "array without 'items' is generated as an array of strings"
                },
            )?;
        }
        let items = match items {
            Some(schema) => {
                let name = self.name_of(schema, || format!("{}_item", at.name));
                self.convert(schema, at.inner(Path::Items(&at.path), &name))?
            }
            None => Typed::new(Node::String, None),
        };
        // An object tells about itself where it is defined.
        let of_items = items.description.filter(|_| !matches!(items.node, Node::Object(_)));
        let description = joined(description, of_items.map(|text| format!("Each item: {text}")));
        self.pay_for(description.as_deref(), at)?;
        let array = Array { items: items.node, min_items, max_items };
        Ok(Typed::new(Node::Array(Box::new(array)), description))
    }

    fn item_counts(
        &mut self,
        keywords: &Keywords<'s>,
        at: Place<'_>,
    ) -> Result<(Option<u64>, Option<u64>), SchemaError> {
        let count = |keyword| keywords.get(keyword).and_then(values::count);
        match (count("minItems"), count("maxItems")) {
            (Some(min), Some(max)) if min > max => {
                self.warn(at, "empty item count range is ignored")?;
                Ok((None, None))
            }
            counts => Ok(counts),
        }
    }
}

/// Whether a `$ref` target is a type of its own rather than inlined at each use.
pub(super) fn is_named_type(members: &Map<String, Value>) -> bool {
    ["properties", "anyOf", "oneOf"].iter().any(|keyword| members.contains_key(*keyword))
        || members.get("type").is_some_and(|it| it == "object")
}

fn own_description(schema: &Value) -> Option<String> {
    let text = schema.get("description")?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}
