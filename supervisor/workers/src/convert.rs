//! The agent's words for a step in the worker protocol's, and back.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use oam_agent::{
    Availability, DEFAULT_CONTEXT_SIZE, ErrorCode, GenerationOptions, ModelError, ModelToolCall, Sampling,
    StepContent, StepOutcome, StepRequest, ToolMode, UnavailableReason, Usage,
    transcript::{Entry, EntryContent, Segment, SegmentContent},
};
use oam_ipc::{self as ipc, Generate, Outcome, StepId, TokenUsage, ToolCall, ToolDefinition};
use serde_json::{Map, Value};

/// The request as it goes to a worker.
pub(crate) fn generate(id: StepId, request: &StepRequest, stream: bool) -> Generate<'_> {
    Generate {
        id,
        instructions: request.instructions.as_deref().map(Cow::Borrowed),
        transcript: request.transcript.iter().map(|entry| to_entry(entry)).collect(),
        tools: request
            .tools
            .iter()
            .map(|tool| ToolDefinition {
                name: Cow::Borrowed(tool.name.as_str()),
                description: Cow::Borrowed(&tool.description),
                parameters: Cow::Borrowed(tool.parameters.json()),
            })
            .collect(),
        tool_mode: match request.tool_mode {
            ToolMode::Allowed => ipc::ToolMode::Allowed,
            ToolMode::Required => ipc::ToolMode::Required,
            ToolMode::Disallowed => ipc::ToolMode::Disallowed,
        },
        schema: request.schema.as_ref().map(|schema| Cow::Borrowed(schema.json())),
        options: to_options(&request.options),
        stream,
        cache_key: Some(format!("{:016x}", request.cache_key).into()),
    }
}

fn to_options(options: &GenerationOptions) -> ipc::GenerationOptions {
    ipc::GenerationOptions {
        temperature: options.temperature,
        max_response_tokens: options.max_response_tokens,
        sampling: options.sampling.map(|sampling| match sampling {
            Sampling::Greedy => ipc::Sampling::Greedy,
            Sampling::TopK { k, seed } => ipc::Sampling::TopK { k, seed },
            Sampling::TopP { p, seed } => ipc::Sampling::TopP { p, seed },
        }),
    }
}

fn to_entry(entry: &Entry) -> ipc::Entry<'_> {
    match &entry.content {
        EntryContent::Prompt(prompt) => ipc::Entry::Prompt { segments: to_segments(&prompt.segments) },
        EntryContent::ToolCalls(calls) => ipc::Entry::ToolCalls {
            calls: calls
                .iter()
                .map(|call| ToolCall {
                    id: Cow::Borrowed(&call.id),
                    name: Cow::Borrowed(&call.name),
                    arguments: Cow::Borrowed(&call.arguments),
                })
                .collect(),
        },
        EntryContent::ToolOutput(output) => ipc::Entry::ToolOutput {
            call_id: entry.id.to_string().into(),
            tool_name: Cow::Borrowed(&output.tool_name),
            segments: to_segments(&output.segments),
        },
        EntryContent::Response(response) => {
            ipc::Entry::Response { segments: to_segments(&response.segments) }
        }
        EntryContent::Opaque(members) => ipc::Entry::Opaque { entry: Cow::Borrowed(members) },
    }
}

fn to_segments(segments: &[Segment]) -> Vec<ipc::Segment<'_>> {
    segments
        .iter()
        .map(|segment| match &segment.content {
            SegmentContent::Text(text) => ipc::Segment::Text { text: Cow::Borrowed(text) },
            SegmentContent::Structure { source, content } => {
                ipc::Segment::Structure { source: Cow::Borrowed(source), content: Cow::Borrowed(content) }
            }
            SegmentContent::Attachment(members) => {
                ipc::Segment::Attachment { segment: Cow::Borrowed(members) }
            }
        })
        .collect()
}

/// What a worker's outcome means.
pub(crate) fn outcome(outcome: Outcome, usage: TokenUsage) -> StepOutcome {
    let content = match outcome {
        Outcome::Text { text } => StepContent::Text(text),
        Outcome::Structured { value } => StepContent::Structured(value),
        Outcome::ToolCalls { calls } => StepContent::ToolCalls(
            calls
                .into_iter()
                .map(|ToolCall { id, name, arguments }| ModelToolCall {
                    id: id.into_owned(),
                    name: name.into_owned(),
                    arguments: arguments.into_owned(),
                })
                .collect(),
        ),
    };
    let TokenUsage { input_tokens, cached_input_tokens, output_tokens } = usage;
    StepOutcome { content, usage: Usage { input_tokens, cached_input_tokens, output_tokens } }
}

/// What a worker's `failed` means. A code that is not in the table counts as `generation_failed`.
pub(crate) fn model_error(code: &str, message: String, data: Option<Map<String, Value>>) -> ModelError {
    let code = ErrorCode::from_name(code).unwrap_or(ErrorCode::GenerationFailed);
    let mut data = data.unwrap_or_default();
    // That is the supervisor's to say.
    data.shift_remove("workerCrashes");
    let mut error = ModelError::new(code, message);
    if code == ErrorCode::RateLimited {
        let seconds = data.shift_remove("retryAfterSeconds").and_then(|seconds| seconds.as_f64());
        let wait = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        error.retry_at = wait.and_then(|wait| SystemTime::now().checked_add(wait));
    }
    error.data = data;
    error
}

/// The context that a worker's model has, in tokens. None told means that there is no limit to mind; 0 means that it is
/// not known yet, and then the size known so far stands.
pub(crate) fn context_limit(said: Option<u32>, known: Option<u32>) -> Option<u32> {
    match said {
        Some(0) => Some(known.unwrap_or(DEFAULT_CONTEXT_SIZE)),
        said => said,
    }
}

/// What a worker's availability means.
pub(crate) fn availability(said: ipc::Availability, context_limit: Option<u32>) -> Availability {
    let reason = match said.reason.as_deref() {
        _ if said.available => None,
        Some("device_not_eligible") => Some(UnavailableReason::DeviceNotEligible),
        Some("apple_intelligence_not_enabled") => Some(UnavailableReason::AppleIntelligenceNotEnabled),
        Some("model_not_ready") => Some(UnavailableReason::ModelNotReady),
        _ => Some(UnavailableReason::Unknown),
    };
    let mut supported_languages = said.supported_languages;
    supported_languages.sort_unstable();
    Availability {
        unavailable: reason,
        context_size: context_limit.unwrap_or(DEFAULT_CONTEXT_SIZE),
        variant: said.variant,
        supported_languages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_error_codes_are_failed_generations() {
        assert_eq!(model_error("refusal", String::new(), None).code, ErrorCode::Refusal);
        assert_eq!(model_error("what", String::new(), None).code, ErrorCode::GenerationFailed);
    }

    #[test]
    fn a_rate_limit_tells_when_it_ends() {
        let data = |seconds: f64| Some(Map::from_iter([("retryAfterSeconds".to_owned(), seconds.into())]));
        assert!(model_error("rate_limited", String::new(), data(2.5)).retry_after_seconds() <= Some(3));
        assert_eq!(model_error("rate_limited", String::new(), data(-1.0)).retry_at, None);
        assert_eq!(model_error("rate_limited", String::new(), data(1e300)).retry_at, None);
    }

    #[test]
    fn a_context_size_of_zero_is_not_believed() {
        assert_eq!(context_limit(Some(4096), None), Some(4096));
        assert_eq!(context_limit(Some(0), Some(4096)), Some(4096));
        assert_eq!(context_limit(Some(0), None), Some(DEFAULT_CONTEXT_SIZE));
        assert_eq!(context_limit(None, Some(4096)), None);
    }
}
