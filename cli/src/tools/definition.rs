//! Reads tool definitions: `OpenAI`'s form, or what stands in its member `function`.

use std::{path::Path, sync::Arc};

use oam_agent::{ErrorCode, RESPOND_DIRECTLY, ToolDefinition, ToolName, json_text};
use serde_json::{Map, Value, json};

use super::{DefinedTool, Runs, x_oam};
use crate::failure::{Failure, FailureCode};

/// A definition that nests deeper could be saved with a conversation, but not be read again.
const DEEPEST: usize = 90;

/// The definitions of one source.
pub(super) struct Definitions<'v>(&'v [Value]);

impl<'v> Definitions<'v> {
    /// A tools file is an array of definitions, or has one. The error is a sentence without subject and end.
    pub(super) fn of_file(value: &'v Value) -> Result<Self, &'static str> {
        let elements = value.as_array().or_else(|| value.get("tools")?.as_array());
        elements
            .map(|elements| Self(elements))
            .ok_or("must be an array of tool definitions, or an object with the array \"tools\"")
    }

    /// A value of `--tool-json` may also be one definition.
    pub(super) fn of_argument(value: &'v Value) -> Result<Self, &'static str> {
        match value {
            Value::Object(members) if !members.get("tools").is_some_and(Value::is_array) => {
                Ok(Self(std::slice::from_ref(value)))
            }
            _ => Self::of_file(value).map_err(|_| "must be a tool definition or an array of them"),
        }
    }

    pub(super) fn elements(&self) -> &'v [Value] {
        self.0
    }
}

/// Reads the definition at `place`. Relative paths in it start from `folder`.
pub(super) fn read(place: &str, value: &Value, folder: &Path) -> Result<DefinedTool, Failure> {
    let outer = value.as_object().ok_or_else(|| {
        invalid(place, format_args!(" must be an object, not {}", json_text::abridged(value)))
    })?;
    if json_text::nests_deeper(value, DEEPEST) {
        return Err(invalid(place, format_args!(" nests deeper than {DEEPEST} arrays and objects")));
    }
    let function = function(place, outer)?;
    let inner = function.unwrap_or(outer);
    let inner_place = if function.is_some() { format!("{place}.function") } else { place.to_owned() };
    let name = name(&inner_place, inner)?;
    let description = given(inner, "description").map_or(Ok(""), |description| {
        description.as_str().ok_or_else(|| invalid(&inner_place, ".description must be a string"))
    })?;
    let parameters = match given(inner, "parameters") {
        None => json!({"type": "object", "properties": {}}),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return Err(invalid(&inner_place, ".parameters must be an object (a JSON Schema)")),
    };
    let (definition, schema_warnings) = ToolDefinition::from_json_schema(name, description, &parameters)
        .map_err(|error| invalid(&inner_place, format_args!(".parameters: {error}")))?;

    let mut warnings = Vec::new();
    if description.is_empty() {
        warnings.push("no description; the model may not know when to call it.".to_owned());
    }
    let runs = match x_oam(place, outer, function)? {
        None => Runs::External,
        Some(XOam { place, members }) => {
            warnings.extend(x_oam::unknown_keys(members));
            x_oam::read(&place, members, folder)?
                .map_or(Runs::External, |command| Runs::Command(Arc::new(command)))
        }
    };
    warnings.extend(schema_warnings.iter().map(ToString::to_string));
    Ok(DefinedTool { definition: Arc::new(definition), runs, warnings, parameters })
}

/// What stands in `function`, if the definition has the outer form.
fn function<'v>(
    place: &str,
    outer: &'v Map<String, Value>,
) -> Result<Option<&'v Map<String, Value>>, Failure> {
    match outer.get("function") {
        None => Ok(None),
        Some(Value::Object(function)) => match given(outer, "type") {
            Some(other) if other != "function" => Err(invalid(
                place,
                format_args!(".type must be \"function\", not {}", json_text::abridged(other)),
            )),
            _ => Ok(Some(function)),
        },
        Some(_) => Err(invalid(place, ".function must be an object with name, description and parameters")),
    }
}

fn name(place: &str, members: &Map<String, Value>) -> Result<ToolName, Failure> {
    let written = given(members, "name").ok_or_else(|| invalid(place, ".name is missing"))?;
    let name = written.as_str().and_then(ToolName::new).ok_or_else(|| {
        let written = json_text::abridged(written);
        invalid(place, format_args!(".name must be 1 to 64 of A-Z a-z 0-9 _ - ., not {written}"))
    })?;
    if *name.as_str() == *RESPOND_DIRECTLY {
        let message = format!("{place}.name: '{name}' is reserved; give the tool another name");
        return Err(Failure::new(FailureCode::Agent(ErrorCode::InvalidRequest), message));
    }
    Ok(name)
}

/// The members of `x-oam`, and where they stand.
struct XOam<'v> {
    place: String,
    members: &'v Map<String, Value>,
}

/// `x-oam`, which stands beside `function` or in it.
fn x_oam<'v>(
    place: &str,
    outer: &'v Map<String, Value>,
    function: Option<&'v Map<String, Value>>,
) -> Result<Option<XOam<'v>>, Failure> {
    let beside = given(outer, x_oam::KEY).map(|value| (format!("{place}.{}", x_oam::KEY), value));
    let within = function
        .and_then(|function| given(function, x_oam::KEY))
        .map(|value| (format!("{place}.function.{}", x_oam::KEY), value));
    let (place, value) = match (beside, within) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                place,
                format_args!(" has {} twice, beside 'function' and in it", x_oam::KEY),
            ));
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return Ok(None),
    };
    match value {
        Value::Object(members) => Ok(Some(XOam { place, members })),
        other => Err(invalid(&place, format_args!(" must be an object, not {}", json_text::abridged(other)))),
    }
}

/// A member that is there; `null` says that it is not.
pub(super) fn given<'v>(members: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    members.get(key).filter(|value| !value.is_null())
}

/// What is wrong at a place: `.name is missing`, `.cwd: …`, ` must be …`.
pub(super) fn invalid(place: &str, what: impl std::fmt::Display) -> Failure {
    Failure::invalid_input(format!("{place}{what}"))
}
