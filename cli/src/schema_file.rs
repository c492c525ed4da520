//! JSON Schemas in files.

use oam_agent::{
    ErrorCode, json_text,
    schema::{Converted, GenerationSchema},
};
use serde_json::{Map, Value};

use crate::{
    failure::{Failure, FailureCode},
    files::InputPath,
};

/// What the root type is called where the schema has no title.
pub(crate) const ROOT_NAME: &str = "Response";

/// The schema in a file, with properties in the order of `x-order` where there is one. The failure names the file.
pub(crate) fn read(path: &InputPath) -> Result<Value, Failure> {
    match path.read_json()? {
        schema @ Value::Object(_) => Ok(ordered(schema)),
        other => Err(Failure::invalid_input(format!(
            "{path}: must be an object (a JSON Schema), not {}",
            json_text::abridged(&other)
        ))),
    }
}

/// What a model is held to. The failure names `source` and the place in the schema.
pub(crate) fn convert(schema: &Value, source: &str, root_name: &str) -> Result<Converted, Failure> {
    GenerationSchema::from_json_schema(schema, root_name).map_err(|error| {
        Failure::new(FailureCode::Agent(ErrorCode::InvalidSchema), format!("{source}: {error}"))
    })
}

/// Puts the listed properties first, in the order of the list. Schemas nest no deeper than what is read as JSON.
fn ordered(schema: Value) -> Value {
    match schema {
        Value::Object(mut members) => {
            if let Some(Value::Array(order)) = members.get("x-order").cloned()
                && let Some(Value::Object(properties)) = members.get_mut("properties")
            {
                let mut sorted = Map::with_capacity(properties.len());
                for name in order.iter().filter_map(Value::as_str) {
                    sorted.extend(properties.get(name).map(|property| (name.to_owned(), property.clone())));
                }
                for (name, property) in &*properties {
                    if !sorted.contains_key(name) {
                        sorted.insert(name.clone(), property.clone());
                    }
                }
                *properties = sorted;
            }
            members.into_iter().map(|(name, member)| (name, ordered(member))).collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.into_iter().map(ordered).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn x_order_puts_properties_in_order() {
        let inner = json!({"x-order": ["d"], "properties": {"c": {}, "d": {}}});
        let schema = json!({"type": "object", "x-order": ["b", "ghost", 5], "properties": {"a": {"items": [inner]}, "b": {}}});
        let ordered = ordered(schema);
        let keys =
            |value: &Value| value["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&ordered), ["b", "a"]);
        assert_eq!(keys(&ordered["properties"]["a"]["items"][0]), ["d", "c"]);
    }
}
