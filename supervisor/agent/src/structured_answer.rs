//! An answer that is to have the form of a schema.

use serde_json::Value;

use crate::{
    aside,
    error::{ErrorCode, ModelError},
    json_text::{self, MAX_VALUE_DEPTH},
    model::StepContent,
    schema::GenerationSchema,
};

/// The answer that `content` is: its JSON text and its value, with members in the schema's order. It fits the schema, unless
/// reading `is_lenient`.
pub(crate) async fn read(
    content: StepContent,
    schema: &GenerationSchema,
    is_lenient: bool,
) -> Result<(String, Value), ModelError> {
    let may_take_long = match &content {
        StepContent::Structured(value) => schema.is_large_for_value(value),
        StepContent::Text(text) => schema.is_large_for_text(text),
        StepContent::ToolCalls(_) => false,
    };
    let schema = schema.clone();
    let answer = aside::run(may_take_long, move || read_at_once(content, &schema, is_lenient)).await;
    answer.unwrap_or_else(|| Err(failed("The model's answer was not checked any more.".to_owned())))
}

fn read_at_once(
    content: StepContent,
    schema: &GenerationSchema,
    is_lenient: bool,
) -> Result<(String, Value), ModelError> {
    let value = match content {
        StepContent::Structured(value) => value,
        StepContent::Text(text) => serde_json::from_str(text.trim()).map_err(|_| {
            let said = json_text::abridged(text.trim());
            failed(format!("The model answered in prose where the schema asks for JSON: {said}."))
        })?,
        StepContent::ToolCalls(_) => return Err(failed("The model gave no answer.".to_owned())),
    };
    if json_text::nests_deeper(&value, MAX_VALUE_DEPTH) {
        return Err(failed(format!("The model's answer nests deeper than {MAX_VALUE_DEPTH}.")));
    }
    let value = if is_lenient { schema.reorder(value) } else { schema.fit(value) };
    let value =
        value.map_err(|reason| failed(format!("The model's answer does not fit the schema: {reason}")))?;
    Ok((json_text::compact(&value), value))
}

fn failed(message: String) -> ModelError {
    ModelError::new(ErrorCode::GenerationFailed, message)
}
