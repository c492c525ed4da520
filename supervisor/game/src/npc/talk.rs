//! A turn of dialogue: the player says something, the character answers.
//!
//! The first attempt asks for the full reply. When guardrails block it, or the model refuses, the automatic format
//! tries once more for a plain line, with tools off and what the tools found in the prompt, so that no tool runs
//! twice. What stays blocked becomes a fallback line. Memory and history change only when a reply stands.

use std::sync::Arc;

use oam_agent::{
    AgentError, FinishedTurn, ToolCall, ToolChoice, ToolOutput, ToolPolicy, ToolRecord, TurnClient,
    TurnEvent, TurnHost, TurnOptions, TurnResponse, Usage, schema::GenerationSchema,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{DialogueHost, Npc, NpcChange, NpcOptions, character::Briefing, options::ReplyFormat};
use crate::{
    emotion::Emotion,
    memory::Relationship,
    prompt,
    reply::{Reply, ReplyReader},
    reply_stream::{DialogueEvent, ReplyStream},
};

/// What the player says in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerLine {
    /// The words; blank means the player is silent.
    pub line: String,
    /// What is happening right now: text, or any JSON.
    pub context: Option<Value>,
    /// How the turn may use tools; `None` takes the options.
    pub tool_choice: Option<ToolChoice>,
    /// Whether the host hears the line grow.
    pub stream: bool,
}

impl PlayerLine {
    /// Just the words.
    pub fn new(line: impl Into<String>) -> Self {
        Self { line: line.into(), context: None, tool_choice: None, stream: false }
    }
}

/// A finished turn of dialogue. Serializes as the members of an `npc/talk` result, without those of the request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DialogueTurn {
    /// What the character says, ready to be shown.
    pub line: String,
    /// How it feels.
    pub emotion: Emotion,
    /// What the player could say next.
    pub player_options: Vec<String>,
    /// The character ended the conversation.
    pub ends_conversation: bool,
    /// All tool calls, in the order of their completion.
    pub tool_calls: Vec<Arc<ToolRecord>>,
    /// How it feels about the player after the turn.
    pub relationship: Relationship,
    /// The line is a fallback line.
    pub is_fallback: bool,
    /// The tokens of the reply.
    pub usage: Usage,
}

/// What a turn takes from the character when it starts: a revision while it runs counts from the next turn on.
struct Scene {
    prompt: String,
    options: Arc<NpcOptions>,
    policy: ToolPolicy,
    schema: Arc<GenerationSchema>,
    reader: ReplyReader,
}

impl Npc {
    /// Runs one turn, on a tokio runtime with time enabled. Dropping the future cancels it without trace, but for what
    /// tools did.
    pub async fn talk(
        &self,
        player: &PlayerLine,
        host: &mut dyn DialogueHost,
    ) -> Result<DialogueTurn, AgentError> {
        let conversation = Arc::clone(&self.inner.conversation).lock_owned().await;
        let scene = self.set_scene(player)?;
        let stream = player.stream.then(ReplyStream::default);
        let mut ear = Ear { npc: self, scene: &scene, host, stream, records: Vec::new() };
        match self.ask(&scene, &mut ear).await {
            Ok(response) => {
                let turn = self.conclude(response, &scene.options, ear);
                self.compact_when_due(conversation);
                Ok(turn)
            }
            Err(error) if error.is_blocked() && scene.options.fallback_on_guardrail => {
                self.fall_back(&scene.options, ear)
            }
            Err(error) => Err(error),
        }
    }

    /// Brings the agent up to date and decides what the turn asks of it.
    fn set_scene(&self, player: &PlayerLine) -> Result<Scene, AgentError> {
        let agent = &self.inner.agent;
        let character = self.character();
        character.mind.drop_staged();
        let Briefing { instructions, memory_note, tools } = character.briefing();
        let mut policy = character.options.policy();
        if let Some(choice) = &player.tool_choice {
            policy.choice = choice.clone();
        }
        if tools.is_empty() {
            policy.choice = ToolChoice::None;
        }
        if let ToolChoice::Tool(tool) = &policy.choice
            && !tools.iter().any(|known| *known.name() == **tool)
        {
            let name = &character.persona.name;
            return Err(AgentError::InvalidRequest(format!("Tool '{tool}' is not available to {name}.")));
        }
        agent.set_instructions(Some(instructions));
        agent.set_context_note(memory_note);
        agent.set_tools(tools)?;
        let (options, schema) = (Arc::clone(&character.options), Arc::clone(&character.reply_schema));
        let reader = ReplyReader::new(&character.persona, &options);
        drop(character);
        let game_state = self.game_state(&options);
        let prompt = prompt::turn_prompt(&game_state, player.context.as_ref(), &player.line);
        Ok(Scene { prompt, options, policy, schema, reader })
    }

    /// Asks for a reply, once more as text if the format says so and the first one is blocked.
    async fn ask(&self, scene: &Scene, ear: &mut Ear<'_>) -> Result<TurnResponse, AgentError> {
        let (is_streamed, format) = (ear.stream.is_some(), scene.options.reply_format);
        let mut options = TurnOptions {
            policy: Some(scene.policy.clone()),
            generation: Some(scene.options.generation()),
            schema: (format != ReplyFormat::Text).then(|| Arc::clone(&scene.schema)),
            stream: is_streamed,
            is_lenient: true,
            images: Vec::new(),
        };
        let error = match self.inner.agent.respond_with(&scene.prompt, &options, ear).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        if format != ReplyFormat::Automatic || !error.is_blocked() {
            return Err(error);
        }
        tracing::info!("a structured reply was blocked; trying plain text: {error}");
        options.schema = None;
        options.policy = Some(ToolPolicy { choice: ToolChoice::None, ..scene.policy.clone() });
        let prompt = prompt::text_retry_prompt(&scene.prompt, &ear.records);
        self.inner.agent.respond_with(&prompt, &options, ear).await
    }

    /// The turn stands: memory changes are applied with its entries.
    fn record(&self, turn: FinishedTurn<'_>, options: &NpcOptions) {
        let character = self.character();
        let start = turn.start();
        turn.keep();
        let is_change = character.mind.apply_staged(usize::try_from(options.max_facts).unwrap_or(0));
        self.tell(|| {
            let said = self.inner.agent.saved_since(start);
            NpcChange::Turn { start, said, memory: is_change.then(|| character.mind.memory()) }
        });
    }

    /// The reply to the turn is read.
    fn conclude(&self, response: TurnResponse, options: &NpcOptions, ear: Ear<'_>) -> DialogueTurn {
        let TurnResponse { text, structured, usage, .. } = response;
        let mut reply = match &structured {
            Some(value) => ear.scene.reader.structured(value),
            None => ear.scene.reader.text(&text),
        };
        let mut character = self.character();
        let is_fallback = reply.line.is_empty();
        if is_fallback {
            reply.line = character.next_fallback_line(&options.fallback_lines);
        }
        let relationship = character.mind.relationship();
        drop(character);
        ear.finish(reply, relationship, is_fallback, usage)
    }

    /// The turn is blocked: a fallback line, and nothing is remembered of it.
    fn fall_back(&self, options: &NpcOptions, ear: Ear<'_>) -> Result<DialogueTurn, AgentError> {
        if !ear.host.commit() {
            return Err(AgentError::Cancelled);
        }
        let mut character = self.character();
        let reply = ear.scene.reader.fallback(character.next_fallback_line(&options.fallback_lines));
        let relationship = character.mind.relationship();
        drop(character);
        Ok(ear.finish(reply, relationship, true, Usage::default()))
    }
}

/// Listens to the attempts of a turn: keeps their calls, and tells the host how the reply grows.
struct Ear<'a> {
    npc: &'a Npc,
    scene: &'a Scene,
    host: &'a mut dyn DialogueHost,
    /// `None` when the host does not want to hear.
    stream: Option<ReplyStream>,
    records: Vec<Arc<ToolRecord>>,
}

impl Ear<'_> {
    fn finish(
        self,
        reply: Reply,
        relationship: Relationship,
        is_fallback: bool,
        usage: Usage,
    ) -> DialogueTurn {
        if let Some(stream) = self.stream {
            for event in stream.finish(&reply) {
                self.host.event(event);
            }
        }
        let Reply { emotion, line, player_options, ends_conversation } = reply;
        DialogueTurn {
            line,
            emotion,
            player_options,
            ends_conversation,
            tool_calls: self.records,
            relationship,
            is_fallback,
            usage,
        }
    }
}

impl TurnHost for Ear<'_> {
    fn event(&mut self, event: TurnEvent) {
        if let TurnEvent::ToolCallCompleted { record } = &event {
            self.records.push(Arc::clone(record));
        }
        let Some(stream) = &mut self.stream else { return };
        let heard = match &event {
            TurnEvent::ModelStep { .. } => return,
            TurnEvent::Text(event) => {
                event.text.read(|text| stream.show(self.scene.reader.text_so_far(text)))
            }
            TurnEvent::Partial { value } => stream.show(self.scene.reader.structured_so_far(value)),
            TurnEvent::ToolCallStarted { call, execution } => {
                let (call, execution) = (Arc::clone(call), *execution);
                return self.host.event(DialogueEvent::ToolCallStarted { call, execution });
            }
            TurnEvent::ToolCallCompleted { record } => {
                return self.host.event(DialogueEvent::ToolCallCompleted { record: Arc::clone(record) });
            }
        };
        for event in heard {
            self.host.event(event);
        }
    }
}

impl TurnClient for Ear<'_> {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        self.host.call_client(call)
    }

    fn abandon_client_call(&mut self, call: &ToolCall, reason: &str) {
        self.host.abandon_client_call(call, reason);
    }

    fn step_interrupted(&mut self, why: &str) {
        self.host.step_interrupted(why);
    }

    fn commit(&mut self) -> bool {
        self.host.commit()
    }

    fn record(&mut self, turn: FinishedTurn<'_>) {
        self.npc.record(turn, &self.scene.options);
    }
}
