//! Turns whose client calls are answered later, by another agent.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use oam_agent::{
    Agent, AgentOptions, AgentSetup, CallIds, Model, RoundCall, Script, ScriptedModel, SuspendedTurn, Tool,
    ToolCall, ToolChoice, ToolDefinition, ToolName, ToolOutput, ToolPolicy, TurnClient, TurnEnd, TurnEvent,
    TurnHost, TurnOptions,
    transcript::json::{OpenTranscript, SavedTranscript},
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

fn definition(name: &str) -> ToolDefinition {
    let name = ToolName::new(name).unwrap();
    ToolDefinition::from_json_schema(name, "Does something.", &json!({"type": "object"})).unwrap().0
}

/// `look` is local, `order` and `pay` are the client's.
fn tools() -> Arc<[Tool]> {
    let look = Tool::local(definition("look"), async |_| ToolOutput::Json(json!({"seen": "a wolf"})));
    [look, Tool::client(definition("order")), Tool::client(definition("pay"))].into()
}

fn model(steps: &Value) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::new(Script::from_steps_or_object(steps, "").unwrap()))
}

fn agent(steps: &Value, history: SavedTranscript) -> Agent {
    let setup = AgentSetup { tools: tools(), history: history.transcript, ..AgentSetup::default() };
    Agent::new(model(steps), setup).unwrap()
}

fn calls(names: &[(&str, &str)]) -> Value {
    let call = |(id, name): &(&str, &str)| json!({"id": id, "name": name});
    json!({"toolCalls": names.iter().map(call).collect::<Vec<_>>()})
}

/// Hears events, and is never asked.
#[derive(Default)]
struct Listener(Mutex<Vec<TurnEvent>>);

impl TurnClient for Listener {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        panic!("asked for {}", call.name)
    }
}

impl TurnHost for Listener {
    fn event(&mut self, event: TurnEvent) {
        self.0.get_mut().unwrap().push(event);
    }
}

async fn suspended(agent: &Agent, prompt: &str) -> (SuspendedTurn, Vec<TurnEvent>) {
    let mut host = Listener::default();
    let end = agent.respond_or_suspend(prompt, &TurnOptions::default(), &mut host).await.unwrap();
    let TurnEnd::Suspended(turn) = end else { panic!("the turn is complete: {end:?}") };
    (*turn, host.0.into_inner().unwrap())
}

/// As another process would read it.
fn reread(turn: &SuspendedTurn) -> OpenTranscript {
    OpenTranscript::from_json(&serde_json::to_value(&turn.conversation).unwrap()).unwrap()
}

#[tokio::test]
async fn local_calls_of_the_round_run_to_their_end_and_client_calls_wait() {
    let agent = agent(
        &json!([calls(&[("c1", "order"), ("c2", "look"), ("c3", "pay"), ("c4", "ghost")])]),
        <_>::default(),
    );
    let (turn, events) = suspended(&agent, "Dinner!").await;

    let round: Vec<_> = turn
        .round
        .iter()
        .map(|call| match call {
            RoundCall::Pending(call) => format!("{} pending", call.id),
            RoundCall::Completed(record) => format!("{} {}", record.call.id, record.output.model_text()),
        })
        .collect();
    assert_eq!(round[..3], ["c1 pending", "c2 {\"seen\":\"a wolf\"}", "c3 pending"]);
    assert!(round[3].starts_with("c4 Error: There is no tool"), "{round:?}");
    assert_eq!(turn.pending().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1", "c3"]);
    assert_eq!((turn.rounds_used, turn.calls_used, turn.tool_calls.len()), (1, 4, 2));
    assert_eq!(turn.steps.len(), 1);

    let started = |event: &TurnEvent| match event {
        TurnEvent::ToolCallStarted { call, .. } => Some(call.id.to_string()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(started).collect::<Vec<_>>(), ["c1", "c2", "c3"]);
    assert_eq!(agent.entry_count(), 0, "the conversation is as it was");
}

#[tokio::test]
async fn a_suspended_turn_goes_on_with_its_outputs() {
    let (turn, _) =
        suspended(&agent(&json!([calls(&[("c1", "order"), ("c2", "look")])]), <_>::default()), "Dinner!")
            .await;
    let history = reread(&turn).answered(|call| format!("output of {}", call.id));
    let resumed = agent(&json!([{"template": "{toolOutputs}"}]), history);
    let end =
        resumed.respond_or_suspend("", &TurnOptions::default(), &mut Listener::default()).await.unwrap();
    let TurnEnd::Completed(response) = end else { panic!("{end:?}") };
    assert_eq!(response.text, "output of c1\noutput of c2");
    assert!(SavedTranscript::from_json(&resumed.saved_transcript().to_json()).is_ok());
}

#[tokio::test]
async fn only_the_reader_for_open_transcripts_reads_one() {
    let (turn, _) = suspended(&agent(&json!([calls(&[("c1", "order")])]), <_>::default()), "Dinner!").await;
    let saved = serde_json::to_value(&turn.conversation).unwrap();
    let refused = SavedTranscript::from_json(&saved).unwrap_err();
    assert!(refused.contains("no output for call \"c1\""), "{refused}");
    assert_eq!(OpenTranscript::from_json(&saved).unwrap().calls()[0].id, "c1");

    let complete = reread(&turn).answered(|_| "done".into()).to_json();
    let refused = OpenTranscript::from_json(&complete).unwrap_err();
    assert!(refused.contains("does not end with tool calls"), "{refused}");

    let mut twice = saved;
    let entries = twice["transcript"]["entries"].as_array_mut().unwrap();
    entries.push(json!({"role": "response", "toolCalls": [{"id": "c2", "name": "pay"}]}));
    let refused = OpenTranscript::from_json(&twice).unwrap_err();
    assert!(refused.contains("no output for call \"c1\""), "{refused}");
}

#[tokio::test]
async fn ids_stay_unique_in_the_conversation() {
    let (turn, _) =
        suspended(&agent(&json!([calls(&[("c", "order"), ("c", "pay")])]), <_>::default()), "Dinner!").await;
    let ids: Vec<_> = turn.pending().map(|call| call.id.to_string()).collect();
    assert!(ids[0] == "c" && ids[1] != "c", "{ids:?}");
    let history = reread(&turn).answered(|_| "done".into());
    let (turn, _) = suspended(&agent(&json!([calls(&[("c", "order")])]), history), "").await;
    assert_ne!(turn.pending().next().unwrap().id.as_str(), "c");
}

#[tokio::test]
async fn the_hidden_tool_is_no_part_of_a_suspended_turn() {
    let steps =
        json!([{"toolCalls": [{"name": "respond_directly", "id": "d"}, {"name": "order", "id": "c"}]}]);
    let policy = ToolPolicy { choice: ToolChoice::Explicit, ..ToolPolicy::default() };
    let options = TurnOptions { policy: Some(policy), ..TurnOptions::default() };
    let agent = agent(&steps, <_>::default());
    let end = agent.respond_or_suspend("Dinner!", &options, &mut Listener::default()).await.unwrap();
    let TurnEnd::Suspended(turn) = end else { panic!("{end:?}") };
    assert_eq!(turn.round.len(), 1);
    assert_eq!(turn.conversation.calls().iter().map(|call| &*call.id).collect::<Vec<_>>(), ["c"]);
}

#[tokio::test]
async fn a_host_that_is_asked_can_know_calls_by_the_ids_of_the_conversation_too() {
    let ids = async |call_ids| {
        let steps = json!([calls(&[("c1", "look")]), {"text": "Done."}]);
        let options = AgentOptions { call_ids, ..AgentOptions::default() };
        let agent =
            Agent::new(model(&steps), AgentSetup { tools: tools(), options, ..<_>::default() }).unwrap();
        let response = agent.respond("Look!", &TurnOptions::default()).await.unwrap();
        response.tool_calls[0].call.id.to_string()
    };
    assert_eq!(ids(CallIds::OfConversation).await, "c1");
    assert!(ids(CallIds::Random).await.starts_with("call_"));
}
