//! Filling in a template: what the model would see of the turn, put into an answer.

use std::borrow::Cow;

use crate::{
    error::{ErrorCode, ModelError},
    transcript::{EntryContent, TranscriptView, joined_text},
};

/// The longest answer that a template may become, in bytes. Inserted texts may hold placeholders themselves, so a
/// short template can multiply.
const MAX_LEN: usize = 64 << 20;

/// Replaces `{prompt}` by the text of the last prompt, then `{toolOutputs}` by this turn's outputs, one per line,
/// then `{toolOutput}` by the last of them: in this order and each throughout the text, so that a placeholder in an
/// inserted text is replaced when its turn is still to come.
pub(super) fn fill_in(template: &str, transcript: &TranscriptView) -> Result<String, ModelError> {
    let outputs = || {
        transcript.current_turn().iter().filter_map(|entry| match &entry.content {
            EntryContent::ToolOutput(output) => Some(joined_text(&output.segments)),
            _ => None,
        })
    };
    let text = replace(template.into(), "{prompt}", || transcript.last_prompt_text())?;
    let text = replace(text, "{toolOutputs}", || outputs().collect::<Vec<_>>().join("\n"))?;
    let text = replace(text, "{toolOutput}", || outputs().next_back().unwrap_or_default())?;
    Ok(text.into_owned())
}

fn replace<'a>(
    text: Cow<'a, str>,
    placeholder: &str,
    value: impl FnOnce() -> String,
) -> Result<Cow<'a, str>, ModelError> {
    let count = text.matches(placeholder).count();
    if count == 0 {
        return Ok(text);
    }
    let value = value();
    let inserted = count.saturating_mul(value.len());
    if inserted.saturating_add(text.len() - count * placeholder.len()) > MAX_LEN {
        return Err(ModelError::new(
            ErrorCode::GenerationFailed,
            format!("The script's template becomes longer than {} MiB.", MAX_LEN >> 20),
        ));
    }
    Ok(text.replace(placeholder, &value).into())
}
