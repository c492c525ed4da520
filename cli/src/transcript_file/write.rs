//! Writing a transcript file.

use std::path::{Path, PathBuf};

use oam_agent::{
    RoundCall, ToolCall, ToolRecord, json_text,
    transcript::json::{OpenTranscript, SavedTranscript},
};
use serde::Serialize;
use serde_json::Value;

use super::{Conversation, TranscriptFile, WaitingTurn};
use crate::{
    failure::Failure,
    files::{self, Readers},
    models::ModelName,
};

/// What `oam.version` says.
pub(super) const VERSION: u64 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    transcript: Transcript<'a>,
    model_name: &'static str,
    oam: Extension<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Transcript<'a> {
    Idle(&'a SavedTranscript),
    Open(&'a OpenTranscript),
}

#[derive(Serialize)]
struct Extension<'a> {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pending<'a> {
    calls: Vec<&'a ToolCall>,
    completed: Vec<Completed<'a>>,
    order: Vec<&'a str>,
    tool_calls: Vec<&'a ToolRecord>,
    rounds_used: u32,
    calls_used: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    id: &'a str,
    name: &'a str,
    output: &'a oam_agent::ToolOutput,
    is_error: bool,
}

impl TranscriptFile {
    /// Writes the file, as a whole or not at all. A new one is for this user alone: the values of variables are in it.
    pub(crate) fn save(&self, path: &Path, model: ModelName) -> Result<(), Failure> {
        files::write(path, &self.content(model), Readers::Owner)
    }

    /// Writes a new file for temporary files that only this user can read; returns where it is.
    pub(crate) fn save_temporary(&self, model: ModelName) -> Result<PathBuf, Failure> {
        files::write_temporary(&self.content(model))
    }

    fn content(&self, model: ModelName) -> Vec<u8> {
        let transcript = match &self.conversation {
            Conversation::Idle(transcript) => Transcript::Idle(transcript),
            Conversation::Waiting(turn) => Transcript::Open(&turn.transcript),
        };
        let waiting = match &self.conversation {
            Conversation::Idle(_) => None,
            Conversation::Waiting(turn) => Some(turn),
        };
        let oam = Extension {
            version: VERSION,
            tools: self.tools.as_ref(),
            schema: waiting.and_then(|turn| turn.schema.as_ref()),
            pending: waiting.map(|turn| pending(turn)),
        };
        let mut content = Vec::new();
        json_text::write(&mut content, &File { transcript, model_name: model.as_str(), oam });
        content.push(b'\n');
        content
    }
}

fn pending(turn: &WaitingTurn) -> Pending<'_> {
    let completed = turn.round.iter().filter_map(|call| match call {
        RoundCall::Completed(record) => Some(Completed {
            id: record.call.id.as_str(),
            name: &record.call.name,
            output: &record.output,
            is_error: record.output.is_error(),
        }),
        RoundCall::Pending(_) => None,
    });
    Pending {
        calls: turn.pending().map(|call| &**call).collect(),
        completed: completed.collect(),
        order: turn.round.iter().map(call_id).collect(),
        tool_calls: turn.tool_calls.iter().map(|record| &**record).collect(),
        rounds_used: turn.rounds_used,
        calls_used: turn.calls_used,
    }
}

fn call_id(call: &RoundCall) -> &str {
    match call {
        RoundCall::Pending(call) => call.id.as_str(),
        RoundCall::Completed(record) => record.call.id.as_str(),
    }
}
