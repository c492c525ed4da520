//! What is recorded of a session: how it began, what was said and set since.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use oam_agent::{
    Agent, AgentSetup, FinishedCompaction, FinishedTurn, ScriptedModel,
    transcript::{
        EntryId, Transcript,
        json::{SavedSetup, SavedTranscript},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Keeper,
    record::{self, UnreadableRecord},
    said::{RecordedSetup, Said},
    script_position::ScriptPosition,
};
use crate::{
    coding::{self, SessionOptions},
    config::{BridgeConfig, ModelUse},
    message::BridgeError,
    params::Params,
    queue::OperationQueue,
    session::{Session, SessionId},
    timestamp,
};

/// The members of `session/create` that hold for a session's life.
const LASTING_MEMBERS: [&str; 2] = ["options", "model"];

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SessionRecord<'a> {
    Whole(Whole<'a>),
    Turn {
        /// How many entries there were before it.
        start: usize,
        said: Said,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<usize>,
    },
    #[serde(rename_all = "camelCase")]
    Compacted {
        first_kept: Option<Cow<'a, str>>,
        note: Option<Cow<'a, str>>,
        setup: Said,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<usize>,
    },
    Reset {
        setup: Said,
    },
    Instructions(Option<Cow<'a, str>>),
    Note(Option<Cow<'a, str>>),
    Tools(Tools),
    /// How far its scripted model has come.
    Script(usize),
}

/// A session as it was created, or as a snapshot found it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(with = "timestamp::iso8601_form")]
    created_at: SystemTime,
    /// As they were sent.
    params: Cow<'a, Map<String, Value>>,
    instructions: Option<Cow<'a, str>>,
    note: Option<Cow<'a, str>>,
    tools: Tools,
    said: Said,
    script: usize,
}

/// Where the tools of a session come from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Tools {
    /// Definitions, as they were sent.
    Defined(Arc<[Value]>),
    /// A saved transcript that has them.
    Saved(Value),
}

impl Tools {
    /// The tools of a history.
    pub(crate) fn of_history(setup: SavedSetup) -> Self {
        let setup = Some(SavedSetup { instructions: None, ..setup });
        Self::Saved(SavedTranscript { setup, transcript: Transcript::default() }.to_json())
    }

    fn read(&self, options: &SessionOptions) -> Result<Vec<oam_agent::Tool>, BridgeError> {
        match self {
            Self::Defined(definitions) => {
                Ok(coding::tools("tools", definitions, options.tool_timeout)?.tools)
            }
            Self::Saved(transcript) => {
                let saved = SavedTranscript::from_json(transcript).map_err(BridgeError::invalid_params)?;
                // Without any, there is nothing to save.
                let tools = saved.setup.map(|setup| setup.tools).unwrap_or_default();
                Ok(coding::restored_tools(tools, options.tool_timeout, &mut Vec::new()))
            }
        }
    }
}

/// Records what becomes of a session. A change is made and recorded under one lock, under which the session is also
/// read: nobody sees what is not recorded.
#[derive(Debug)]
pub(crate) struct SessionRecorder {
    keeper: Arc<Keeper>,
    created_at: SystemTime,
    params: Map<String, Value>,
    state: Mutex<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    tools: Tools,
    setup: RecordedSetup,
    script: ScriptPosition,
}

impl SessionRecorder {
    /// The recorder of a session that a request creates.
    pub(crate) fn new(
        keeper: Arc<Keeper>,
        created_at: SystemTime,
        params: &Params<'_>,
        tools: Tools,
        script: Option<Arc<ScriptedModel>>,
    ) -> Self {
        let lasting = |name| params.get(name).map(|value| (str::to_owned(name), value.clone()));
        let params = LASTING_MEMBERS.into_iter().filter_map(lasting).collect();
        let (setup, script) = (RecordedSetup::default(), ScriptPosition::new(script, 0));
        Self { keeper, created_at, params, state: Mutex::new(Recorded { tools, setup, script }) }
    }

    pub(crate) fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the session while nothing is changed.
    pub(crate) fn look<T>(&self, read: impl FnOnce() -> T) -> T {
        let _unchanged = self.lock();
        read()
    }

    /// Records the session as it is.
    pub(crate) fn record_whole(&self, agent: &Agent) {
        let recorded = &mut *self.lock();
        self.keeper.record(&self.whole(recorded, agent));
    }

    fn whole<'a>(&'a self, recorded: &mut Recorded, agent: &Agent) -> SessionRecord<'a> {
        let owned = |text: Arc<str>| Cow::Owned(String::from(&*text));
        SessionRecord::Whole(Whole {
            created_at: self.created_at,
            params: Cow::Borrowed(&self.params),
            instructions: agent.instructions().map(owned),
            note: agent.context_note().map(owned),
            tools: recorded.tools.clone(),
            said: recorded.setup.whole(agent.settled_transcript()),
            script: recorded.script.whole(),
        })
    }

    pub(crate) fn turn(&self, agent: &Agent, turn: FinishedTurn<'_>) {
        let Recorded { setup, script, .. } = &mut *self.lock();
        let start = turn.start();
        turn.keep();
        let said = setup.news(agent.saved_since(start));
        self.keeper.record(&SessionRecord::Turn { start, said, script: script.news() });
    }

    pub(crate) fn compaction(&self, agent: &Agent, compaction: FinishedCompaction<'_>) {
        let Recorded { setup, script, .. } = &mut *self.lock();
        compaction.keep();
        let (saved, note) = (agent.saved_transcript(), agent.context_note());
        self.keeper.record(&SessionRecord::Compacted {
            first_kept: saved.transcript.first().map(|entry| Cow::Owned(entry.id.to_string())),
            note: note.as_deref().map(Cow::Borrowed),
            setup: setup.news_of_setup(saved.setup),
            script: script.news(),
        });
    }

    /// Has `reset` clear the conversation.
    pub(crate) fn reset(&self, agent: &Agent, reset: impl FnOnce()) {
        let Recorded { setup, .. } = &mut *self.lock();
        reset();
        let setup = setup.news_of_setup(agent.saved_transcript().setup);
        self.keeper.record(&SessionRecord::Reset { setup });
    }

    pub(crate) fn instructions(&self, agent: &Agent, instructions: Option<Arc<str>>) {
        let record =
            SessionRecord::Instructions(instructions.as_deref().map(|text| Cow::Owned(text.to_owned())));
        let _unchanged = self.lock();
        agent.set_instructions(instructions);
        self.keeper.record(&record);
    }

    pub(crate) fn note(&self, agent: &Agent, note: Option<Arc<str>>) {
        let record = SessionRecord::Note(note.as_deref().map(|text| Cow::Owned(text.to_owned())));
        let _unchanged = self.lock();
        agent.set_context_note(note);
        self.keeper.record(&record);
    }

    /// Has `set` give the session the tools that are defined so.
    pub(crate) fn tools<E>(
        &self,
        definitions: Arc<[Value]>,
        set: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let recorded = &mut *self.lock();
        set()?;
        recorded.tools = Tools::Defined(definitions);
        self.keeper.record(&SessionRecord::Tools(recorded.tools.clone()));
        Ok(())
    }

    /// An operation ended, whichever way: records how far it brought the script, and makes a snapshot if it is time.
    pub(crate) fn operation_ended(&self, agent: &Agent) {
        let recorded = &mut *self.lock();
        if let Some(position) = recorded.script.news() {
            self.keeper.record(&SessionRecord::Script(position));
        }
        if self.keeper.is_long() {
            self.keeper.rewrite(&self.whole(recorded, agent));
        }
    }
}

/// A session as its records tell of it.
#[derive(Debug)]
pub(super) struct RecordedSession {
    created_at: SystemTime,
    params: Map<String, Value>,
    instructions: Option<Arc<str>>,
    note: Option<Arc<str>>,
    tools: Tools,
    said: SavedTranscript,
    script: usize,
}

/// Does to a session what a record says.
pub(super) fn replay(session: &mut Option<RecordedSession>, record: &[u8]) -> Result<(), UnreadableRecord> {
    let shared = |text: Option<Cow<'_, str>>| text.map(|text| Arc::from(&*text));
    let record = match record::read(record)? {
        SessionRecord::Whole(whole) => {
            *session = Some(RecordedSession {
                created_at: whole.created_at,
                params: whole.params.into_owned(),
                instructions: shared(whole.instructions),
                note: shared(whole.note),
                tools: whole.tools,
                said: whole.said.alone(),
                script: whole.script,
            });
            return Ok(());
        }
        change => change,
    };
    let session = session.as_mut().ok_or_else(UnreadableRecord::without_beginning)?;
    match record {
        SessionRecord::Whole(_) => {}
        SessionRecord::Turn { start, said, script } => {
            let said = said.after(&session.said);
            session
                .said
                .follow(start, said)
                .map_err(|error| UnreadableRecord::Malformed(error.to_string()))?;
            session.script = script.unwrap_or(session.script);
        }
        SessionRecord::Compacted { first_kept, note, setup, script } => {
            let setup = setup.after(&session.said).setup;
            session.said.compact(first_kept.as_deref().map(EntryId::from_text).as_ref(), setup);
            session.note = shared(note);
            session.script = script.unwrap_or(session.script);
        }
        SessionRecord::Reset { setup } => {
            session.said =
                SavedTranscript { transcript: Transcript::default(), ..setup.after(&session.said) };
            session.note = None;
        }
        SessionRecord::Instructions(instructions) => session.instructions = shared(instructions),
        SessionRecord::Note(note) => session.note = shared(note),
        SessionRecord::Tools(tools) => session.tools = tools,
        SessionRecord::Script(position) => session.script = position,
    }
    Ok(())
}

impl RecordedSession {
    /// The session that was recorded.
    pub(super) fn restored(
        self,
        id: SessionId,
        config: &BridgeConfig,
        keeper: Arc<Keeper>,
    ) -> Result<Session, BridgeError> {
        let Self { created_at, params, instructions, note, tools, said, script } = self;
        let params = Params::new(Some(Value::Object(params)))?;
        let options = SessionOptions::read(&params, config.tool_timeout, &mut Vec::new())?;
        let choice = coding::restored_model(config, &params, ModelUse::Session(id.as_str()), script);
        let agent_tools = tools.read(&options)?;
        let recorder = SessionRecorder::new(keeper, created_at, &params, tools, None);
        {
            let mut state = recorder.lock();
            state.setup = RecordedSetup::before(&said);
            state.script = ScriptPosition::new(choice.script, script);
        }
        let setup = AgentSetup {
            instructions,
            context_note: note,
            tools: agent_tools.into(),
            history: said.transcript,
            options: options.agent,
        };
        Ok(Session {
            queue: OperationQueue::new(format!("session '{id}'")),
            id,
            agent: Agent::restored(choice.model, setup, said.setup)?,
            model: choice.kind,
            tool_timeout: options.tool_timeout,
            created_at,
            recorder: Some(recorder),
        })
    }
}
