//! Which model a node talks with: Apple's, unless a script is given for development.

use godot::{classes::FileAccess, prelude::*};
use serde_json::{Map, Value};

use super::json;
use crate::client::RequestError;

/// Adds `model` to params, where one is given. `script` is the path of a JSON file, `model` the protocol's param.
pub(super) fn add_to(
    params: &mut Map<String, Value>,
    script: &GString,
    model: &VarDictionary,
) -> Result<(), RequestError> {
    if !model.is_empty() {
        params.insert("model".to_owned(), json::to_object("model", model)?.into());
    } else if !script.is_empty() {
        params.insert("model".to_owned(), read(script)?);
    }
    Ok(())
}

fn read(path: &GString) -> Result<Value, RequestError> {
    let text = FileAccess::get_file_as_string(path).to_string();
    serde_json::from_str(&text).map_err(|error| {
        RequestError::invalid_params(format!(
            "'model_script': '{path}' cannot be read, or is no JSON: {error}"
        ))
    })
}
