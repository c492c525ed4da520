//! Variants as JSON and back.
//!
//! What has no JSON form is refused by name instead of being sent as something else.

use godot::{
    builtin::{AnyArray, AnyDictionary, VariantType},
    prelude::*,
};
use serde_json::{Map, Number, Value};

use crate::client::RequestError;

/// No message may be deeper; and an array that contains itself has no end.
const MAX_DEPTH: usize = 100;

/// A value for the supervisor. `name` is how an error calls it.
pub(super) fn to_json(name: &str, value: &Variant) -> Result<Value, RequestError> {
    convert(name, value, 0).map_err(RequestError::invalid_params)
}

/// Like [`to_json`], of a dictionary.
pub(super) fn to_object(name: &str, dictionary: &VarDictionary) -> Result<Map<String, Value>, RequestError> {
    match to_json(name, &dictionary.to_variant())? {
        Value::Object(members) => Ok(members),
        _ => Err(RequestError::invalid_params(format!("'{name}' must be a Dictionary."))),
    }
}

fn convert(name: &str, value: &Variant, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("'{name}' is nested too deep, or contains itself."));
    }
    Ok(match value.get_type() {
        VariantType::NIL => Value::Null,
        VariantType::BOOL => value.to::<bool>().into(),
        VariantType::INT => value.to::<i64>().into(),
        VariantType::FLOAT => number(name, value.to::<f64>())?,
        VariantType::STRING | VariantType::STRING_NAME | VariantType::NODE_PATH => {
            value.stringify().to_string().into()
        }
        VariantType::DICTIONARY => Value::Object(members(name, &value.to::<AnyDictionary>(), depth)?),
        VariantType::ARRAY => items(name, value.to::<AnyArray>().iter_shared(), depth)?,
        VariantType::PACKED_STRING_ARRAY => strings(&value.to::<PackedStringArray>()),
        VariantType::PACKED_BYTE_ARRAY => value.to::<PackedByteArray>().as_slice().into(),
        VariantType::PACKED_INT32_ARRAY => value.to::<PackedInt32Array>().as_slice().into(),
        VariantType::PACKED_INT64_ARRAY => value.to::<PackedInt64Array>().as_slice().into(),
        VariantType::PACKED_FLOAT32_ARRAY => numbers(name, value.to::<PackedFloat32Array>().as_slice())?,
        VariantType::PACKED_FLOAT64_ARRAY => numbers(name, value.to::<PackedFloat64Array>().as_slice())?,
        kind => {
            return Err(format!(
                "'{name}' has no JSON form: it is a {kind:?}. Make a Dictionary, an Array or a text of it."
            ));
        }
    })
}

fn number(name: &str, value: f64) -> Result<Value, String> {
    Number::from_f64(value)
        .map(Value::Number)
        .ok_or_else(|| format!("'{name}' has no JSON form: it is {value}."))
}

fn numbers<T: Copy + Into<f64>>(name: &str, values: &[T]) -> Result<Value, String> {
    values.iter().map(|value| number(name, (*value).into())).collect()
}

fn items(name: &str, values: impl Iterator<Item = Variant>, depth: usize) -> Result<Value, String> {
    values.enumerate().map(|(index, value)| convert(&format!("{name}[{index}]"), &value, depth + 1)).collect()
}

fn members(name: &str, dictionary: &AnyDictionary, depth: usize) -> Result<Map<String, Value>, String> {
    dictionary
        .iter_shared()
        .map(|(key, value)| {
            if !matches!(key.get_type(), VariantType::STRING | VariantType::STRING_NAME) {
                return Err(format!("'{name}' has a key that is no String: it is a {:?}.", key.get_type()));
            }
            let key = key.stringify().to_string();
            let value = convert(&format!("{name}.{key}"), &value, depth + 1)?;
            Ok((key, value))
        })
        .collect()
}

/// Texts of the inspector, as JSON.
pub(super) fn strings(values: &PackedStringArray) -> Value {
    values.as_slice().iter().map(GString::to_string).collect()
}

/// A value for the game. Whole numbers become integers.
pub(super) fn to_variant(value: &Value) -> Variant {
    match value {
        Value::Null => Variant::nil(),
        Value::Bool(value) => value.to_variant(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.to_variant(),
            None => number.as_f64().unwrap_or_default().to_variant(),
        },
        Value::String(text) => text.to_variant(),
        Value::Array(items) => items.iter().map(to_variant).collect::<VarArray>().to_variant(),
        Value::Object(members) => to_dictionary(members).to_variant(),
    }
}

/// An object for the game.
pub(super) fn to_dictionary(members: &Map<String, Value>) -> VarDictionary {
    let mut dictionary = VarDictionary::new();
    for (name, value) in members {
        dictionary.set(name.as_str(), &to_variant(value));
    }
    dictionary
}

/// The members of an object that was written out with `json!`.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The warnings in a result.
pub(super) fn warnings(result: &VarDictionary) -> PackedStringArray {
    let warnings: VarArray =
        result.get("warnings").and_then(|warnings| warnings.try_to().ok()).unwrap_or_default();
    warnings.iter_shared().map(|warning| warning.stringify()).collect()
}
