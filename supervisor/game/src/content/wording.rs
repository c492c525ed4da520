//! What the model reads when it writes content. The form of the prompt is that of docs/PROTOCOL.md
//! (`content/generate`), so that scripts may rely on it.

use super::ContentRequest;
use crate::one_off::facts;

/// The instructions of a generator that brings none.
const DEFAULT_INSTRUCTIONS: &str =
    "You write content for a video game. Follow the given format exactly. Keep every text short and vivid.";

/// The instructions, given or default.
pub(super) fn instructions(given: Option<&str>) -> String {
    given.filter(|text| !text.trim().is_empty()).unwrap_or(DEFAULT_INSTRUCTIONS).to_owned()
}

/// The prompt as it was given, and the facts.
pub(super) fn prompt(request: &ContentRequest) -> String {
    match request.context.as_ref().and_then(facts) {
        Some(facts) => format!("{}\n{facts}", request.prompt),
        None => request.prompt.clone(),
    }
}
