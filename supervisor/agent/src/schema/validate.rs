//! Does a value fit the dialect?
//!
//! The dialect is JSON Schema, so a JSON Schema validator checks it: of a form in which optional properties may be
//! `null` (models write it for what they leave out) and a union that does not fit is one fault, not a tree of the
//! faults of its branches, which for recursive unions would grow exponentially.

use std::collections::{HashMap, HashSet};

use jsonschema::{
    Draft, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::{Location, LocationSegment},
};
use serde_json::{Map, Value, json};

use crate::json_text;

/// Values that nest deeper fit no schema: checking them could exhaust the stack.
const MAX_DEPTH: usize = 128;
/// Names, values and lists from schema and value are shown up to this many characters.
const SHOWN_CHARS: usize = 100;
/// The same for the place in the value.
const PLACE_CHARS: usize = 200;

/// A compiled schema.
pub(super) struct Check {
    validator: Result<Validator, String>,
}

impl Check {
    pub(super) fn compile(schema: &Value) -> Self {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .build(&checked_form(schema))
            .map_err(|error| {
                format!("The schema cannot be checked: {}", cut(&error.to_string(), SHOWN_CHARS))
            });
        Self { validator }
    }

    pub(super) fn run(&self, value: &Value) -> Result<(), String> {
        if !nests_within(value, MAX_DEPTH) {
            return Err(format!("The value must not nest more than {MAX_DEPTH} levels deep."));
        }
        self.validator.as_ref().map_err(String::clone)?.validate(value).map_err(|error| sentence(&error))
    }
}

fn nests_within(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(elements), Some(levels)) => elements.iter().all(|it| nests_within(it, levels)),
        (Value::Object(members), Some(levels)) => members.values().all(|it| nests_within(it, levels)),
        (Value::Array(_) | Value::Object(_), None) => false,
        _ => true,
    }
}

/// The schema as it is checked.
fn checked_form(schema: &Value) -> Value {
    let none = Map::new();
    let definitions = schema.get("$defs").and_then(Value::as_object).unwrap_or(&none);
    // Names may have characters that a URI cannot have; numbers have not.
    let numbers =
        definitions.keys().zip(0..).map(|(name, number): (_, usize)| (name.as_str(), number)).collect();
    let form = Form { root: schema["title"].as_str().unwrap_or_default(), numbers };
    let mut checked = form.of(schema);
    let definitions: Map<_, _> = definitions
        .values()
        .zip(0..)
        .map(|(node, number): (_, usize)| (number.to_string(), form.of(node)))
        .collect();
    checked["$defs"] = Value::Object(definitions);
    checked
}

struct Form<'t> {
    /// The root's name.
    root: &'t str,
    /// The definitions by name.
    numbers: HashMap<&'t str, usize>,
}

impl Form<'_> {
    fn of(&self, node: &Value) -> Value {
        if let Some(reference) = node["$ref"].as_str() {
            let number = reference.strip_prefix("#/$defs/").and_then(|name| self.numbers.get(name));
            return json!({"$ref": number.map_or_else(|| "#".to_owned(), |number| format!("#/$defs/{number}"))});
        }
        if let Some(branches) = node["anyOf"].as_array() {
            let labels: Vec<_> = branches.iter().map(|branch| self.label(branch)).collect();
            let any: Vec<_> = branches.iter().map(|branch| self.of(branch)).collect();
            return json!({"not": {"title": labels.join(", "), "not": {"anyOf": any}}});
        }
        if let Some(properties) = node["properties"].as_object() {
            let required = node["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            let required: HashSet<_> = required.iter().filter_map(Value::as_str).collect();
            let properties: Map<_, _> = properties
                .iter()
                .map(|(key, node)| {
                    let value = self.of(node);
                    let optional = !required.contains(key.as_str());
                    let value = if optional { json!({"if": {"type": "null"}, "else": value}) } else { value };
                    (key.clone(), value)
                })
                .collect();
            // Apart from the properties: side by side, the validator compares each with each.
            return json!({
                "type": "object",
                "properties": properties,
                "allOf": [{"required": node["required"]}],
                "additionalProperties": false,
            });
        }
        if let Some(choices) = node.get("enum") {
            return json!({"enum": choices});
        }
        let mut form = Map::new();
        for keyword in ["type", "minimum", "maximum", "minItems", "maxItems"] {
            form.extend(node.get(keyword).map(|value| (keyword.to_owned(), value.clone())));
        }
        form.extend(node.get("items").map(|items| ("items".to_owned(), self.of(items))));
        Value::Object(form)
    }

    /// How a fault names a branch of a union.
    fn label(&self, branch: &Value) -> String {
        if let Some(reference) = branch["$ref"].as_str() {
            return reference.strip_prefix("#/$defs/").unwrap_or(self.root).to_owned();
        }
        match branch["enum"].as_array() {
            Some(choices) => listed(choices),
            None => branch["type"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// The fault for a model that may correct itself, and for the developer who reads along.
fn sentence(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path());
    let subject = if place.is_empty() { "The value".to_owned() } else { format!("'{place}'") };
    let member = |name: &str| {
        let name = cut(name, SHOWN_CHARS);
        if place.is_empty() { format!("'{name}'") } else { format!("'{place}.{name}'") }
    };
    let shown = || cut(&json_text::compact(&**error.instance()), SHOWN_CHARS);
    let count = || error.instance().as_array().map_or(0, Vec::len);
    match error.kind() {
        Kind::Required { property } => {
            format!("{} is required but missing.", member(property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } => {
            format!("{} is not a known property.", member(unexpected.first().map_or("", String::as_str)))
        }
        Kind::Type { kind: TypeKind::Single(kind) } => {
            format!("{subject} must be {}, not {}.", with_article(&kind.to_string()), shown())
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let one_of = if options.len() > 1 { "one of " } else { "" };
            format!("{subject} must be {one_of}{}, not {}.", cut(&listed(options), 2 * SHOWN_CHARS), shown())
        }
        Kind::Minimum { limit } => {
            format!("{subject} must be at least {}, not {}.", json_text::compact(limit), shown())
        }
        Kind::Maximum { limit } => {
            format!("{subject} must be at most {}, not {}.", json_text::compact(limit), shown())
        }
        Kind::MinItems { limit } => {
            format!("{subject} must have at least {}, not {}.", items(*limit), count())
        }
        Kind::MaxItems { limit } => {
            format!("{subject} must have at most {}, not {}.", items(*limit), count())
        }
        Kind::Not { schema } => {
            let branches = cut(schema["title"].as_str().unwrap_or_default(), 2 * SHOWN_CHARS);
            format!("{subject} must fit one of the types {branches}; {} fits none.", shown())
        }
        _ => format!("{subject} does not fit: {}.", cut(&error.masked().to_string(), SHOWN_CHARS)),
    }
}

/// `targets[0].name`; empty for the whole value.
fn place(path: &Location) -> String {
    let mut place = String::new();
    for segment in path {
        match segment {
            LocationSegment::Index(index) => place.extend(["[", &index.to_string(), "]"]),
            LocationSegment::Property(key) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&cut(&key, SHOWN_CHARS));
            }
        }
    }
    cut(&place, PLACE_CHARS)
}

fn listed(values: &[Value]) -> String {
    values.iter().map(json_text::compact).collect::<Vec<_>>().join(", ")
}

fn with_article(kind: &str) -> String {
    match kind {
        "array" | "integer" | "object" => format!("an {kind}"),
        "null" => kind.to_owned(),
        kind => format!("a {kind}"),
    }
}

fn items(count: u64) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

/// The text, or its beginning and `…`.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
