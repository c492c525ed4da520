//! `session/*`: agents with their own conversations.

use std::{sync::Arc, time::SystemTime};

use oam_agent::{
    Agent, AgentError, AgentSetup, Compaction, FinishedCompaction, StepInfo, ToolChoice, ToolRecord,
    TurnOptions, TurnResponse, Usage, check_tool_names, transcript::json::SavedTranscript,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    at_end::AtEnd,
    coding::{self, SessionOptions, ToolAdvice},
    config::ModelUse,
    message::{BridgeError, EventContext, Members, Payload},
    queue::{Operation, OperationQueue},
    realm::{SessionRecorder, SessionTools},
    registry::{MethodRegistry, MethodSet, Reply, Request},
    session::{Session, SessionId},
    timestamp,
    turn_host::ClientTurn,
};

const EVENTS: &str = "session/event";

const CREATE_MEMBERS: &[&str] = &["session", "instructions", "tools", "options", "history", "model"];
const RESPOND_MEMBERS: &[&str] =
    &["session", "prompt", "schema", "stream", "toolChoice", "maxToolRounds", "maxToolCalls", "enabledTools"];

pub(super) struct SessionMethods;

impl MethodSet for SessionMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register_change("session/create", create);
        registry.register_change("session/respond", respond);
        registry.register_look("session/cancel", cancel);
        registry.register_change("session/reset", reset);
        registry.register_change("session/delete", delete);
        registry.register_look("session/list", list);
        registry.register_look("session/transcript", transcript);
        registry.register_change("session/setInstructions", set_instructions);
        registry.register_change("session/setContextNote", set_context_note);
        registry.register_change("session/setTools", set_tools);
        registry.register_change("session/compact", compact);
    }

    fn notifications(&self) -> Vec<&'static str> {
        vec![EVENTS, "tool/cancel"]
    }
}

/// The result of an operation of the session.
fn queued<F>(
    session: Arc<Session>,
    work: impl FnOnce(Arc<Session>, Operation) -> F + Send + 'static,
) -> Result<Reply, BridgeError>
where
    F: Future<Output = Result<Payload, BridgeError>> + Send + 'static,
{
    Reply::queued(&Arc::clone(&session.queue), move |operation| async move {
        let ended = AtEnd(|| session.operation_ended());
        let result = work(Arc::clone(&session), operation).await;
        drop(ended);
        result
    })
}

/// `{"session"}`: the answer of methods that only do something.
#[derive(Serialize)]
struct Done<'a> {
    session: &'a SessionId,
}

#[derive(Serialize)]
struct WithWarnings<'a> {
    session: &'a SessionId,
    warnings: Vec<String>,
}

fn create(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let config = bridge.config();
    let mut warnings = params.unknown_members(CREATE_MEMBERS);
    let sessions = &bridge.realm().sessions;
    let id = sessions.new_id(params.optional_client_id("session")?)?;
    let options = SessionOptions::read(params, config.tool_timeout, &mut warnings)?;
    let history = coding::history(params, "history")?;
    let instructions = params.optional_string("instructions")?.map(Arc::from);
    let tool_set = coding::optional_tools(params, "tools", options.tool_timeout)?;

    let SavedTranscript { setup, transcript } = history.unwrap_or_default();
    let mut tools = tool_set.tools;
    let mut tools_of_history = None;
    warnings.extend(tool_set.warnings);
    let mut setup_instructions = instructions;
    if let Some(saved) = setup {
        if !params.has("instructions") {
            setup_instructions.clone_from(&saved.instructions);
        }
        if !params.has("tools") {
            tools_of_history = Some(saved.clone());
            tools = coding::restored_tools(saved.tools, options.tool_timeout, &mut warnings);
        }
    }
    if let ToolChoice::Tool(name) = &options.agent.policy.choice
        && !tools.iter().any(|tool| tool.name().as_str() == name)
    {
        return Err(BridgeError::invalid_params(format!(
            "'options.toolChoice' names tool '{name}', which is not in 'tools'."
        )));
    }
    warnings.extend(coding::tool_count_warning(tools.len(), ToolAdvice::Narrow));
    let choice = coding::model(config, params, ModelUse::Session(id.as_str()))?;
    warnings.extend(choice.availability_warning());
    let setup = AgentSetup {
        instructions: setup_instructions,
        context_note: None,
        tools: tools.into(),
        history: transcript,
        options: options.agent,
    };
    let created_at = SystemTime::now();
    let recorder = bridge.realm().keeper(&id).map(|keeper| {
        let tools = match tools_of_history {
            Some(saved) => SessionTools::of_history(saved),
            None => SessionTools::Defined(
                params.get("tools").and_then(Value::as_array).cloned().unwrap_or_default().into(),
            ),
        };
        SessionRecorder::new(keeper, created_at, params, tools, choice.script.clone())
    });
    let session = Session {
        id: id.clone(),
        agent: Agent::new(choice.model, setup)?,
        queue: OperationQueue::new(format!("session '{id}'")),
        model: choice.kind,
        tool_timeout: options.tool_timeout,
        created_at,
        recorder,
    };
    sessions.insert(session, config.max_sessions)?;
    Reply::now(&WithWarnings { session: &id, warnings })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RespondResult<'a> {
    session: &'a SessionId,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<&'a Value>,
    tool_calls: &'a [Arc<ToolRecord>],
    usage: Usage,
    steps: &'a [Arc<StepInfo>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn respond(request: Request) -> Result<Reply, BridgeError> {
    let session = request.bridge.realm().sessions.named(&request.params)?;
    let Request { bridge, id, params } = request;
    let prompt = params.string("prompt")?.to_owned();
    let stream = params.optional_bool("stream")?.unwrap_or(false);
    let policy = coding::policy(&params, &session.agent.options().policy)?;
    let mut warnings = params.unknown_members(RESPOND_MEMBERS);
    let schema = coding::optional_schema(&params, "schema", "Response")?;
    let schema = schema.map(|converted| {
        warnings.extend(converted.warnings);
        Arc::new(converted.schema)
    });
    queued(session, move |session, operation| async move {
        let members = Members::new().with("session", &session.id).with("requestId", &id);
        let turn = ClientTurn {
            bridge: &bridge,
            context: Arc::new(EventContext::new(EVENTS, members)),
            operation: Some(operation),
        };
        let options = TurnOptions { policy, schema, stream, ..TurnOptions::default() };
        let TurnResponse { text, structured, tool_calls, usage, steps, .. } =
            turn.run_in(&session, &prompt, &options).await.map_err(|error| turn_error(error, &session.id))?;
        Ok(Payload::of(&RespondResult {
            session: &session.id,
            text: &text,
            structured: structured.as_ref(),
            tool_calls: &tool_calls,
            usage,
            steps: &steps,
            warnings,
        }))
    })
}

fn turn_error(error: AgentError, session: &SessionId) -> BridgeError {
    match error {
        AgentError::UnknownToolChoice { tool } => BridgeError::invalid_params(format!(
            "'toolChoice' names tool '{tool}', which session '{session}' does not have."
        )),
        other => other.into(),
    }
}

fn cancel(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Cancelled<'a> {
        session: &'a SessionId,
        cancelled: usize,
    }
    let session = request.bridge.realm().sessions.named(&request.params)?;
    Reply::now(&Cancelled { session: &session.id, cancelled: session.queue.cancel_all() })
}

fn delete(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Deleted<'a> {
        session: &'a SessionId,
        deleted: bool,
    }
    let session = request.bridge.realm().sessions.remove(request.params.string("session")?)?;
    session.queue.close();
    Reply::now(&Deleted { session: &session.id, deleted: true })
}

fn list(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Listed {
        sessions: Vec<ListedSession>,
    }
    let sessions =
        request.bridge.realm().sessions.all().iter().map(|session| ListedSession::of(session)).collect();
    Reply::now(&Listed { sessions })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    session: SessionId,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Arc<str>>,
    tools: Vec<String>,
    busy: bool,
    pending_operations: usize,
    entries: usize,
    created_at: String,
}

impl ListedSession {
    fn of(session: &Session) -> Self {
        let pending_operations = session.queue.pending();
        session.look(|agent| Self {
            session: session.id.clone(),
            model: session.model.clone(),
            instructions: agent.instructions(),
            tools: agent.tools().iter().map(|tool| tool.name().to_string()).collect(),
            busy: pending_operations > 0,
            pending_operations,
            entries: agent.entry_count(),
            created_at: timestamp::iso8601(session.created_at),
        })
    }
}

fn transcript(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Saved<'a> {
        session: &'a SessionId,
        transcript: SavedTranscript,
    }
    let session = request.bridge.realm().sessions.named(&request.params)?;
    Reply::now(&Saved { session: &session.id, transcript: session.look(Agent::saved_transcript) })
}

fn reset(request: Request) -> Result<Reply, BridgeError> {
    let session = request.bridge.realm().sessions.named(&request.params)?;
    queued(session, move |session, operation| async move {
        operation.commit()?;
        session.reset().await;
        Ok(Payload::of(&Done { session: &session.id }))
    })
}

fn set_instructions(request: Request) -> Result<Reply, BridgeError> {
    let session = request.bridge.realm().sessions.named(&request.params)?;
    let instructions = request.params.optional_string("instructions")?.map(Arc::from);
    queued(session, move |session, operation| async move {
        operation.commit()?;
        session.set_instructions(instructions);
        Ok(Payload::of(&Done { session: &session.id }))
    })
}

fn set_context_note(request: Request) -> Result<Reply, BridgeError> {
    let session = request.bridge.realm().sessions.named(&request.params)?;
    let note = request.params.optional_string("note")?.map(Arc::from);
    queued(session, move |session, operation| async move {
        operation.commit()?;
        session.set_context_note(note);
        Ok(Payload::of(&Done { session: &session.id }))
    })
}

fn set_tools(request: Request) -> Result<Reply, BridgeError> {
    let session = request.bridge.realm().sessions.named(&request.params)?;
    let set = coding::required_tools(&request.params, "tools", session.tool_timeout)?;
    check_tool_names(&set.tools)?;
    let mut warnings = set.warnings;
    warnings.extend(coding::tool_count_warning(set.tools.len(), ToolAdvice::Narrow));
    queued(session, move |session, operation| async move {
        operation.commit()?;
        session.set_tools(set.tools, request.params.array("tools")?)?;
        Ok(Payload::of(&WithWarnings { session: &session.id, warnings }))
    })
}

fn compact(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Compacted<'a> {
        session: &'a SessionId,
        summary: Option<&'a str>,
    }
    let session = request.bridge.realm().sessions.named(&request.params)?;
    let defaults = Compaction::default();
    let keep_recent_turns = request.params.optional_integer("keepRecentTurns", 0)?;
    let compaction = Compaction {
        keep_recent_turns: keep_recent_turns
            .map_or(defaults.keep_recent_turns, |turns| usize::try_from(turns).unwrap_or(usize::MAX)),
        summary_instructions: request.params.optional_string("summaryInstructions")?.map(str::to_owned),
        ..defaults
    };
    queued(session, move |session, operation| async move {
        let commit = |compaction: FinishedCompaction<'_>| {
            operation.commit().map_err(|_| AgentError::Cancelled)?;
            session.keep_compaction(compaction);
            Ok(())
        };
        let summary = session.agent.compact(&compaction, commit).await?;
        Ok(Payload::of(&Compacted { session: &session.id, summary: summary.as_deref() }))
    })
}
