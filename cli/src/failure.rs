//! Why a command failed: a stable code, a message, and the exit code that follows from it (docs/CLI.md, Exit codes).

use std::process::ExitCode;

use oam_agent::{AgentError, ErrorCode, ModelError, json_text};
use serde_json::json;

use crate::{
    console::{self, Console},
    runtime::INTERRUPTED,
};

/// A failed command. The message is a sentence or more that names what is wrong and what to do.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: FailureCode,
    pub(crate) message: String,
}

/// The stable name of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureCode {
    /// A turn failed, under the name that the protocol has for it.
    Agent(ErrorCode),
    /// The command line itself cannot be used.
    Usage,
    /// A file or value that it names cannot be used.
    InvalidInput,
    /// Something could not be written or started.
    Io,
    /// A server cannot start.
    ServerStart,
    /// A conversation waits for outputs of tool calls, and not all were given.
    MissingToolOutput,
}

impl FailureCode {
    pub(crate) const MODEL_UNAVAILABLE: Self = Self::Agent(ErrorCode::ModelUnavailable);

    /// The name as machines read it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Agent(code) => code.as_str(),
            Self::Usage => "usage",
            Self::InvalidInput => "invalid_input",
            Self::Io => "io_error",
            Self::ServerStart => "server_start_failed",
            Self::MissingToolOutput => "missing_tool_output",
        }
    }

    /// What the process ends with.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Io | Self::ServerStart => 1,
            Self::Usage | Self::InvalidInput | Self::MissingToolOutput => 2,
            Self::Agent(code) => match code {
                ErrorCode::ToolFailed | ErrorCode::Busy | ErrorCode::GenerationFailed => 1,
                ErrorCode::InvalidSchema | ErrorCode::InvalidRequest | ErrorCode::UnsupportedLanguage => 2,
                ErrorCode::ModelUnavailable => 3,
                ErrorCode::GuardrailViolation | ErrorCode::Refusal => 4,
                ErrorCode::ContextSizeExceeded => 5,
                ErrorCode::RateLimited => 6,
                ErrorCode::Cancelled => INTERRUPTED,
            },
        }
    }
}

#[cfg(test)]
impl FailureCode {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ErrorCode::ALL.map(Self::Agent).into_iter().chain([
            Self::Usage,
            Self::InvalidInput,
            Self::Io,
            Self::ServerStart,
            Self::MissingToolOutput,
        ])
    }
}

/// How a failure is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReportForm {
    /// A line for people on standard error.
    #[default]
    Text,
    /// A line of JSON on standard error.
    Json,
    /// The same, and before it an event as the last line of standard output.
    Events,
}

impl Failure {
    pub(crate) fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureCode::Usage, message)
    }

    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(FailureCode::InvalidInput, message)
    }

    pub(crate) fn io(message: impl Into<String>) -> Self {
        Self::new(FailureCode::Io, message)
    }

    /// What is wrong with a command line, without the usage.
    pub(crate) fn of_arguments(error: &clap::Error) -> Self {
        let told = error.render().to_string();
        let what = told.split("\n\nUsage:").next().unwrap_or(&told);
        Self::usage(what.trim_start_matches("error:").trim())
    }

    /// The same with what it is about, an argument or variable, in front.
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Tells the failure; returns what the process is to end with.
    pub(crate) fn report(&self, form: ReportForm) -> ExitCode {
        let error = json!({"code": self.code.as_str(), "message": self.message});
        if form == ReportForm::Events {
            Console::stdout().json_text(&json_text::compact(&json!({"type": "error", "error": error})));
        }
        let stderr = Console::stderr();
        match form {
            ReportForm::Text => {
                let label = stderr.painted(console::ERROR, "Error:");
                stderr.line(&format!("{label} {}", stderr.shown(&self.message)));
            }
            ReportForm::Json | ReportForm::Events => {
                stderr.json_text(&json_text::compact(&json!({"error": error})));
            }
        }
        ExitCode::from(self.code.exit_code())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        Self::new(FailureCode::Agent(error.code()), error.to_string())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::new(FailureCode::Agent(error.code), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_the_exit_code_that_scripts_rely_on() {
        let told: Vec<_> =
            FailureCode::all().map(|code| format!("{} {}", code.as_str(), code.exit_code())).collect();
        let expected = "model_unavailable 3, guardrail_violation 4, refusal 4, context_size_exceeded 5, \
            rate_limited 6, unsupported_language 2, invalid_schema 2, tool_failed 1, cancelled 130, busy 1, \
            invalid_request 2, generation_failed 1, usage 2, invalid_input 2, io_error 1, server_start_failed 1, missing_tool_output 2";
        assert_eq!(told.join(", "), expected);
    }
}
