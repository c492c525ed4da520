//! What has to be written down of an agent to have it again after the process has ended.
#![allow(clippy::unwrap_used)]

use std::{
    future::{Future, pending, ready},
    sync::Arc,
    task::{Context, Waker},
};

use oam_agent::{
    Agent, AgentSetup, Availability, BoxFuture, Compaction, ErrorCode, FinishedCompaction, Model, ModelError,
    ModelToolCall, StepContent, StepOutcome, StepRequest, StepSink, Tool, ToolDefinition, ToolName,
    TurnOptions, Usage, json_text,
    transcript::{
        EntryId,
        json::{MissingEntries, SavedTranscript},
    },
};
use proptest::{collection, prelude::*};
use serde_json::json;

/// What a host does with an agent.
#[derive(Debug, Clone)]
enum Act {
    Instruct(Option<&'static str>),
    Note(Option<&'static str>),
    Equip(&'static [&'static str]),
    /// The agent calls its tools and answers.
    Turn,
    /// The model fails.
    FailedTurn,
    Compact(usize),
    Reset,
}

fn act() -> impl Strategy<Value = Act> {
    let text = |text| prop_oneof![Just(None), Just(Some("")), Just(Some(text))];
    let names = prop_oneof![Just(&[][..]), Just(&["look"][..]), Just(&["open", "look"][..])];
    prop_oneof![
        1 => text("Be brief.").prop_map(Act::Instruct),
        1 => text("It rains.").prop_map(Act::Note),
        1 => names.prop_map(Act::Equip),
        3 => Just(Act::Turn),
        1 => Just(Act::FailedTurn),
        1 => (0..3_usize).prop_map(Act::Compact),
        1 => Just(Act::Reset),
    ]
}

fn definition(name: &str) -> ToolDefinition {
    let name = ToolName::new(name).unwrap();
    let schema = json!({"type": "object", "properties": {"at": {"type": "string", "minLength": 1}}});
    ToolDefinition::from_json_schema(name, "Does something.", &schema).unwrap().0
}

fn tools(names: &[&str]) -> Arc<[Tool]> {
    names.iter().map(|name| Tool::client(definition(name))).collect()
}

/// Calls a tool, perhaps one that is not there, and answers; a prompt that says so makes it fail then.
#[derive(Debug)]
struct Smith;

const ASK: &str = "Hm?";
const FAIL: &str = "Fail.";

impl Model for Smith {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        _: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        let arguments = json!({"at": "1.0"}).as_object().cloned().unwrap();
        let call = ModelToolCall { id: "call".into(), name: "look".into(), arguments };
        let prompt = request.transcript.last_prompt_text();
        let content = match (prompt.as_str(), request.transcript.current_turn()) {
            (ASK | FAIL, []) => Ok(StepContent::ToolCalls(vec![call])),
            (FAIL, _) => Err(ModelError::new(ErrorCode::GuardrailViolation, "No.")),
            _ => Ok(StepContent::Text("Aye.".into())),
        };
        Box::pin(ready(content.map(|content| StepOutcome { content, usage: Usage::default() })))
    }

    fn availability(&self) -> Availability {
        Availability { unavailable: None, context_size: 1, variant: None, supported_languages: Vec::new() }
    }

    fn context_size(&self) -> Option<u32> {
        None
    }
}

fn agent() -> Agent {
    Agent::new(Arc::new(Smith), AgentSetup::default()).unwrap()
}

/// What is written down of an agent.
struct Records {
    settings: AgentSetup,
    said: SavedTranscript,
}

/// As it is after it was text.
fn read_back(said: &SavedTranscript) -> SavedTranscript {
    SavedTranscript::from_json(&serde_json::from_str(&json_text::compact(said)).unwrap()).unwrap()
}

impl Records {
    /// Takes down what the agent has done, which began with so many entries.
    fn note(&mut self, agent: &Agent, act: &Act, start: usize) {
        self.settings.instructions = agent.instructions();
        self.settings.context_note = agent.context_note();
        self.settings.tools = agent.tools();
        match act {
            Act::Turn if agent.entry_count() > start => {
                self.said.follow(start, read_back(&agent.saved_since(start))).unwrap();
            }
            Act::Reset => self.said.follow(0, read_back(&agent.saved_since(0))).unwrap(),
            Act::Compact(_) => {
                let SavedTranscript { setup, transcript } = read_back(&agent.saved_transcript());
                self.said.compact(transcript.first().map(|entry| &entry.id), setup);
            }
            _ => {}
        }
    }

    fn restored(&self) -> Agent {
        let SavedTranscript { setup, transcript } = read_back(&self.said);
        let settings = AgentSetup { history: transcript, ..self.settings.clone() };
        Agent::restored(Arc::new(Smith), settings, setup).unwrap()
    }
}

async fn play(agent: &Agent, act: &Act) {
    match act {
        Act::Instruct(text) => agent.set_instructions(text.map(Into::into)),
        Act::Note(text) => agent.set_context_note(text.map(Into::into)),
        Act::Equip(names) => agent.set_tools(tools(names)).unwrap(),
        Act::Turn => drop(agent.respond(ASK, &TurnOptions::default()).await.unwrap()),
        Act::FailedTurn => drop(agent.respond(FAIL, &TurnOptions::default()).await.unwrap_err()),
        Act::Reset => agent.reset().await,
        Act::Compact(keep_recent_turns) => {
            let compaction = Compaction { keep_recent_turns: *keep_recent_turns, ..Compaction::default() };
            let keep = |compaction: FinishedCompaction<'_>| {
                compaction.keep();
                Ok(())
            };
            agent.compact(&compaction, keep).await.unwrap();
        }
    }
}

fn saved(agent: &Agent) -> String {
    json_text::compact(&agent.saved_transcript())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_agent_goes_on_where_it_ended(acts in collection::vec(act(), 0..10)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let agent = agent();
            let mut records =
                Records { settings: AgentSetup::default(), said: read_back(&agent.saved_transcript()) };
            for act in &acts {
                let start = agent.entry_count();
                play(&agent, act).await;
                records.note(&agent, act, start);
                assert_eq!(saved(&records.restored()), saved(&agent), "after {act:?}");
            }
        });
    }
}

#[tokio::test]
async fn a_turn_that_fails_leaves_the_settings_in_force_as_they_were() {
    let agent = agent();
    play(&agent, &Act::Turn).await;
    let before = saved(&agent);
    agent.set_instructions(Some("Be brief.".into()));
    play(&agent, &Act::FailedTurn).await;
    assert_eq!(saved(&agent), before);
}

#[tokio::test]
async fn a_restored_agent_keeps_the_entry_of_settings_that_stay() {
    let acts = [Act::Instruct(Some("Be brief.")), Act::Equip(&["look"]), Act::Turn];
    let agent = agent();
    for act in &acts {
        play(&agent, act).await;
    }
    let id = |agent: &Agent| agent.saved_transcript().setup.unwrap().id;
    let setup =
        AgentSetup { instructions: agent.instructions(), tools: tools(&["look"]), ..AgentSetup::default() };
    let in_force = agent.saved_transcript().setup;
    let restored = Agent::restored(Arc::new(Smith), setup, in_force).unwrap();
    play(&restored, &Act::Turn).await;
    assert_eq!(id(&restored), id(&agent));
}

#[tokio::test]
async fn a_turn_in_progress_is_not_settled() {
    let agent = agent();
    play(&agent, &Act::Turn).await;
    let settled = || json_text::compact(&agent.settled_transcript());
    let before = settled();
    let look = Tool::local(definition("look"), async |_| pending().await);
    agent.set_tools([look]).unwrap();
    let options = TurnOptions::default();
    let mut turn = Box::pin(agent.respond(ASK, &options));
    assert!(turn.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!((agent.entry_count(), settled()), (5, before.clone()));
    drop(turn);
    assert_eq!(saved(&agent), before);
}

#[test]
fn what_lacks_the_entries_before_it_does_not_follow() {
    let mut said = SavedTranscript::default();
    let missing = MissingEntries { start: 1, len: 0 };
    assert_eq!(said.follow(1, SavedTranscript::default()), Err(missing));
    said.compact(Some(&EntryId::random()), None);
    assert!(said.transcript.is_empty());
}
