//! The least value that fits a schema of the generation-schema dialect.

use serde_json::{Map, Value};

/// Types may refer to themselves; what lies deeper than this is `null`.
const MAX_DEPTH: usize = 32;
/// More elements than this are not made, whatever a schema asks for.
const MAX_ELEMENTS: u64 = 100;

/// The least value: no optional members, the first choice, the shortest array, the lowest number.
pub(crate) fn value(schema: &Value) -> Value {
    Minimal { root: schema }.value(schema, 0)
}

/// [`value`] of a schema for objects.
pub(crate) fn object(schema: &Value) -> Map<String, Value> {
    match value(schema) {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

struct Minimal<'a> {
    root: &'a Value,
}

impl Minimal<'_> {
    fn value(&self, schema: &Value, depth: usize) -> Value {
        if depth == MAX_DEPTH {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or(Value::Null, |target| self.value(target, depth + 1));
        }
        if let Some(branch) = schema["anyOf"].get(0) {
            return self.value(branch, depth + 1);
        }
        if let Some(choice) = schema.get("const").or_else(|| schema["enum"].get(0)) {
            return choice.clone();
        }
        match schema["type"].as_str() {
            Some("object") => Value::Object(self.members(schema, depth)),
            Some("array") => {
                let count = schema["minItems"].as_u64().unwrap_or(0).min(MAX_ELEMENTS);
                (0..count).map(|_| self.value(&schema["items"], depth + 1)).collect()
            }
            Some("string") => "text".into(),
            Some("integer" | "number") => match (&schema["minimum"], &schema["maximum"]) {
                (Value::Null, Value::Null) => 0.into(),
                (Value::Null, maximum) => maximum.clone(),
                (minimum, _) => minimum.clone(),
            },
            Some("boolean") => false.into(),
            _ => Value::Null,
        }
    }

    fn members(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let order = schema["x-order"].as_array().map_or(required, Vec::as_slice);
        let names = order.iter().filter(|name| required.contains(name)).filter_map(Value::as_str);
        names.map(|name| (name.to_owned(), self.value(&schema["properties"][name], depth + 1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use oam_agent::schema::GenerationSchema;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_least_value_fits_its_schema() {
        let cases = [
            (json!({"type": "object"}), json!({})),
            (
                json!({"type": "object", "required": ["b", "a"], "properties": {
                    "b": {"enum": ["x", "y"]}, "a": {"type": "integer", "minimum": 3}, "c": {"type": "string"}}}),
                json!({"b": "x", "a": 3}),
            ),
            (json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2}), json!([false, false])),
            (json!({"type": "number", "maximum": -1}), json!(-1)),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!("text")),
            (
                json!({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/Node"}}, "$defs":
                    {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}}),
                json!({"next": {}}),
            ),
        ];
        for (schema, expected) in cases {
            let schema = GenerationSchema::from_json_schema(&schema, "Root").unwrap().schema;
            let least = value(schema.json());
            assert_eq!(least.to_string(), expected.to_string(), "{}", schema.json());
            assert_eq!(schema.validate(&least), Ok(()));
        }
    }

    #[test]
    fn a_type_that_holds_itself_ends_somewhere() {
        let schema = json!({"$ref": "#/$defs/Node", "$defs": {
            "Node": {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/Node"}}}}});
        assert!(value(&schema).to_string().ends_with("null}}}}}}}}}}}}}}}}"));
    }
}
