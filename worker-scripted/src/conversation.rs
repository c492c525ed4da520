//! A conversation without a script: every answer is made from the request, and the same request gives the same.

use std::borrow::Cow;

use oam_ipc::{Entry, Generate, Outcome, ToolCall, ToolMode};

use crate::{
    minimal,
    request::{inferences, last_prompt, text_of},
};

/// A call of the first tool with the least arguments when a tool must be called; the least value that fits when the
/// answer is structured; otherwise a sentence with the prompt and what the tools returned since.
pub(crate) fn outcome(request: &Generate<'_>) -> Outcome {
    match (request.tool_mode, request.tools.first(), &request.schema) {
        (ToolMode::Required, Some(tool), _) => {
            let id = format!("call_{}", inferences(request) + 1);
            let arguments = minimal::object(&tool.parameters);
            let name = tool.name.to_string().into();
            Outcome::ToolCalls {
                calls: vec![ToolCall { id: id.into(), name, arguments: Cow::Owned(arguments) }],
            }
        }
        (_, _, Some(schema)) => Outcome::Structured { value: minimal::value(schema) },
        _ => Outcome::Text { text: sentence(request) },
    }
}

fn sentence(request: &Generate<'_>) -> String {
    let prompt = last_prompt(request);
    let mut text =
        if prompt.is_empty() { "You say nothing.".to_owned() } else { format!("You say: {prompt}") };
    for entry in turn(&request.transcript) {
        if let Entry::ToolOutput { tool_name, segments, .. } = entry {
            text.extend([" And ", tool_name, " tells me: ", &text_of(segments)]);
        }
    }
    text
}

/// The entries behind the last prompt.
fn turn<'t, 'a>(transcript: &'t [Entry<'a>]) -> &'t [Entry<'a>] {
    let prompt = transcript.iter().rposition(|entry| matches!(entry, Entry::Prompt { .. }));
    &transcript[prompt.map_or(0, |prompt| prompt + 1)..]
}
