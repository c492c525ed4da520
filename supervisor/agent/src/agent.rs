//! An agent: a model, its settings and one conversation.

use std::sync::Arc;

use crate::{
    call_ids::CallIds,
    compaction::{self, Compaction, FinishedCompaction},
    conversation::{Conversation, IdleConversation, Settings, SharedConversation},
    error::AgentError,
    event::TurnResponse,
    host::{NoHost, TurnHost},
    model::{GenerationOptions, Model},
    run::Run,
    steering::ToolPolicy,
    suspension::TurnEnd,
    tool::{RESPOND_DIRECTLY, Tool},
    tool_round::ClientCalls,
    transcript::{
        Transcript,
        json::{SavedSetup, SavedTranscript},
    },
    turn::{Turn, TurnOptions},
};

/// Settings that an agent keeps for its life.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// How turns may use tools, unless they say otherwise.
    pub policy: ToolPolicy,
    /// How to generate.
    pub generation: GenerationOptions,
    /// Hide the oldest turns from the model when its context would overflow.
    pub trim_history: bool,
    /// Tokens kept free for the answer when trimming.
    pub reserved_response_tokens: u32,
    /// How often a turn is tried when the model fails for a passing reason; at least 1. A turn that called a tool
    /// is never tried again.
    pub max_attempts: u32,
    /// By which ids hosts know tool calls.
    pub call_ids: CallIds,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            policy: ToolPolicy::default(),
            generation: GenerationOptions::default(),
            trim_history: true,
            reserved_response_tokens: 1024,
            max_attempts: 2,
            call_ids: CallIds::Random,
        }
    }
}

/// How an agent starts.
#[derive(Debug, Clone, Default)]
pub struct AgentSetup {
    /// System instructions.
    pub instructions: Option<Arc<str>>,
    /// Text that follows the instructions; see [`Agent::set_context_note`].
    pub context_note: Option<Arc<str>>,
    /// The tools the model may call.
    pub tools: Arc<[Tool]>,
    /// A conversation to go on with.
    pub history: Transcript,
    /// Settings for the agent's life.
    pub options: AgentOptions,
}

/// A model, its settings and one conversation. Cloning shares them.
///
/// Turns and other operations on the conversation run one after another, in the order they were first polled.
/// A turn that fails or is dropped leaves the conversation as it was.
///
/// ```
/// use std::sync::Arc;
/// use oam_agent::{Agent, AgentSetup, Script, ScriptedModel, Tool, ToolDefinition, ToolName, ToolOutput};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let name = ToolName::new("check_inventory").expect("a valid name");
/// let parameters = json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
/// let (definition, _warnings) =
///     ToolDefinition::from_json_schema(name, "Tells how many of an item are in stock.", &parameters)?;
/// let inventory = Tool::local(definition, async |call| {
///     ToolOutput::Json(json!({"item": call.arguments["item"], "stock": 3}))
/// });
///
/// let script = Script::from_steps_or_object(&json!([
///     {"toolCalls": [{"name": "check_inventory", "arguments": {"item": "iron sword"}}]},
///     {"text": "Three swords, 45 gold each."},
/// ]), "script")?;
/// let setup = AgentSetup {
///     instructions: Some("You are Gorm, a grumpy blacksmith.".into()),
///     tools: [inventory].into(),
///     ..AgentSetup::default()
/// };
/// let gorm = Agent::new(Arc::new(ScriptedModel::new(script)), setup)?;
///
/// let reply = gorm.respond("Got any iron swords?", &Default::default()).await?;
/// assert_eq!(reply.text, "Three swords, 45 gold each.");
/// assert_eq!(reply.tool_calls.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    model: Arc<dyn Model>,
    options: AgentOptions,
    conversation: SharedConversation,
    /// Held by the operation that is changing the conversation.
    turn: tokio::sync::Mutex<()>,
    cache_key: u64,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent on `model`.
    ///
    /// Fails when two tools share a name or one has the reserved name `respond_directly`.
    pub fn new(model: Arc<dyn Model>, setup: AgentSetup) -> Result<Self, AgentError> {
        Self::with_conversation(model, setup, Conversation::new)
    }

    /// An agent that goes on where another one ended, whose instructions and tools in force were `in_force`: both have the
    /// same [saved transcript](Self::saved_transcript). Fails like [`new`](Self::new).
    pub fn restored(
        model: Arc<dyn Model>,
        setup: AgentSetup,
        in_force: Option<SavedSetup>,
    ) -> Result<Self, AgentError> {
        Self::with_conversation(model, setup, |settings, history| {
            Conversation::restored(settings, history, in_force)
        })
    }

    fn with_conversation(
        model: Arc<dyn Model>,
        setup: AgentSetup,
        conversation: impl FnOnce(Settings, Transcript) -> Conversation,
    ) -> Result<Self, AgentError> {
        check_tool_names(&setup.tools)?;
        let AgentSetup { instructions, context_note, tools, history, options } = setup;
        let settings = Settings { instructions, context_note, tools };
        Ok(Self {
            inner: Arc::new(Inner {
                model,
                options,
                conversation: SharedConversation::new(conversation(settings, history)),
                turn: tokio::sync::Mutex::new(()),
                cache_key: fastrand::u64(..),
            }),
        })
    }

    /// Runs one turn with local tools only. Client tools get an error output; use [`run`](Self::run) or
    /// [`respond_with`](Self::respond_with) for those.
    pub async fn respond(&self, prompt: &str, options: &TurnOptions) -> Result<TurnResponse, AgentError> {
        self.respond_with(prompt, options, &mut NoHost).await
    }

    /// Runs one turn whose events and client calls go to `host`. Dropping the future cancels the turn.
    pub async fn respond_with(
        &self,
        prompt: &str,
        options: &TurnOptions,
        host: &mut dyn TurnHost,
    ) -> Result<TurnResponse, AgentError> {
        match self.turn(prompt, options, ClientCalls::Asked, host).await? {
            TurnEnd::Completed(response) => Ok(response),
            TurnEnd::Suspended(_) => unreachable!("all client calls are asked for"),
        }
    }

    /// Runs one turn that ends early when the model calls client tools: the other calls of that round run to their end,
    /// then the turn is [suspended](crate::SuspendedTurn). `host` hears events; no client call is asked of it. Calls are known
    /// by the ids [of the conversation](CallIds::OfConversation), whatever the agent's options say. Dropping the future
    /// cancels the turn.
    pub async fn respond_or_suspend(
        &self,
        prompt: &str,
        options: &TurnOptions,
        host: &mut dyn TurnHost,
    ) -> Result<TurnEnd, AgentError> {
        self.turn(prompt, options, ClientCalls::LeftPending, host).await
    }

    async fn turn(
        &self,
        prompt: &str,
        options: &TurnOptions,
        client_calls: ClientCalls,
        host: &mut dyn TurnHost,
    ) -> Result<TurnEnd, AgentError> {
        let inner = &*self.inner;
        let _turn = inner.turn.lock().await;
        let turn = Turn {
            model: &*inner.model,
            options: &inner.options,
            cache_key: inner.cache_key,
            conversation: &inner.conversation,
            prompt,
            images: &options.images,
            policy: options.policy.as_ref().unwrap_or(&inner.options.policy),
            generation: options.generation.as_ref().unwrap_or(&inner.options.generation),
            schema: options.schema.as_ref(),
            stream: options.stream,
            is_lenient: options.is_lenient,
            client_calls,
            call_ids: match client_calls {
                ClientCalls::Asked => inner.options.call_ids,
                ClientCalls::LeftPending => CallIds::OfConversation,
            },
        };
        turn.run(host).await
    }

    /// Starts one turn as a stream of events, which also asks for client tools to be executed. The turn goes on
    /// while the stream is polled and is cancelled when it is dropped.
    pub fn run(&self, prompt: impl Into<String>, options: TurnOptions) -> Run {
        Run::start(self.clone(), prompt.into(), options)
    }

    /// Summarizes all but the most recent turns and drops them, with one model step; the summary becomes the context
    /// note or goes to the host. Returns the summary, or `None` when there was nothing to summarize. `commit` is
    /// to [keep](FinishedCompaction::keep) the compaction, or refuses: its error is returned. Dropping the future changes
    /// nothing.
    pub async fn compact(
        &self,
        compaction: &Compaction,
        commit: impl FnOnce(FinishedCompaction<'_>) -> Result<(), AgentError> + Send,
    ) -> Result<Option<String>, AgentError> {
        let inner = &*self.inner;
        let _turn = inner.turn.lock().await;
        compaction::run(&*inner.model, inner.cache_key, &inner.conversation, compaction, commit).await
    }

    /// Clears the conversation and the context note; instructions and tools stay.
    pub async fn reset(&self) {
        self.reset_with(|conversation| conversation.clear(None)).await;
    }

    /// Has `reset` clear the conversation, for hosts that change something of their own in the same moment. Dropping the
    /// future changes nothing.
    pub async fn reset_with(&self, reset: impl FnOnce(IdleConversation<'_>) + Send) {
        let _turn = self.inner.turn.lock().await;
        reset(IdleConversation(&self.inner.conversation));
    }

    /// The instructions, from the next turn on.
    pub fn set_instructions(&self, instructions: Option<Arc<str>>) {
        self.inner.conversation.lock().settings.instructions = instructions;
    }

    /// Text that follows the instructions (world facts, quest state, a summary), from the next turn on.
    pub fn set_context_note(&self, note: Option<Arc<str>>) {
        self.inner.conversation.lock().settings.context_note = note;
    }

    /// The tools, from the next turn on. Fails like [`Agent::new`].
    pub fn set_tools(&self, tools: impl Into<Arc<[Tool]>>) -> Result<(), AgentError> {
        let tools = tools.into();
        check_tool_names(&tools)?;
        self.inner.conversation.lock().settings.tools = tools;
        Ok(())
    }

    /// The instructions as set, without the context note.
    pub fn instructions(&self) -> Option<Arc<str>> {
        self.inner.conversation.lock().settings.instructions.clone()
    }

    /// The context note as set.
    pub fn context_note(&self) -> Option<Arc<str>> {
        self.inner.conversation.lock().settings.context_note.clone()
    }

    /// The tools as set, in definition order.
    pub fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.inner.conversation.lock().settings.tools)
    }

    /// How many entries [`saved_transcript`](Self::saved_transcript) has now, instructions not counted.
    pub fn entry_count(&self) -> usize {
        self.inner.conversation.lock().public_transcript().len()
    }

    /// How many turns the conversation holds, the one in progress included.
    pub fn turn_count(&self) -> usize {
        self.inner.conversation.lock().transcript().prompts().len()
    }

    /// The conversation to save, with instructions and tools in force; during a turn the state in progress.
    pub fn saved_transcript(&self) -> SavedTranscript {
        self.inner.conversation.lock().saved()
    }

    /// The conversation to save as it was before the turn in progress, if there is one.
    pub fn settled_transcript(&self) -> SavedTranscript {
        self.inner.conversation.lock().settled()
    }

    /// What [`saved_transcript`](Self::saved_transcript) has from the entry at `start` on, with the instructions and tools in
    /// force. Costs as much as it returns.
    pub fn saved_since(&self, start: usize) -> SavedTranscript {
        let SavedTranscript { setup, transcript } = self.saved_transcript();
        let entries = transcript.get(start..).unwrap_or_default().to_vec();
        SavedTranscript { setup, transcript: Transcript::new(entries) }
    }

    /// The agent's options.
    pub fn options(&self) -> &AgentOptions {
        &self.inner.options
    }

    /// The model behind the agent.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.inner.model
    }
}

/// Fails when two tools share a name or one has the reserved name `respond_directly`.
pub fn check_tool_names(tools: &[Tool]) -> Result<(), AgentError> {
    let mut names = std::collections::HashSet::with_capacity(tools.len());
    for tool in tools {
        let name = tool.name().as_str();
        if name == RESPOND_DIRECTLY {
            return Err(AgentError::InvalidRequest(format!(
                "The tool name '{RESPOND_DIRECTLY}' is reserved; give your tool another name."
            )));
        }
        if !names.insert(name) {
            return Err(AgentError::InvalidRequest(format!("Duplicate tool name '{name}'.")));
        }
    }
    Ok(())
}
