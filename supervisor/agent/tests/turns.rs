//! What a turn does, seen by a host: through the public interface, with a scripted model and simulated time.
#![allow(clippy::unwrap_used)]

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
    time::Duration,
};

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, Availability, BoxFuture, Compaction, ErrorCode,
    FinishedCompaction, Model, ModelError, ModelLayer, RunEvent, Script, ScriptedModel, StepOutcome,
    StepRequest, StepSink, Tool, ToolChoice, ToolDefinition, ToolMode, ToolName, ToolOutput, ToolPolicy,
    TurnEvent, TurnOptions, TurnResponse, schema::GenerationSchema,
};
use serde_json::{Value, json};
use tokio::time::Instant;

fn scripted(steps: &Value) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(Script::from_steps_or_object(steps, "").expect("a valid script")))
}

fn definition(name: &str, parameters: &Value) -> ToolDefinition {
    let name = ToolName::new(name).expect("a valid name");
    ToolDefinition::from_json_schema(name, "Does something.", parameters).expect("a valid schema").0
}

/// A local tool that answers with its `gate` argument.
fn open_gate() -> Tool {
    let gate = json!({"type": "object", "properties": {"gate": {"type": "string"}}, "required": ["gate"]});
    Tool::local(definition("open_gate", &gate), async |call| {
        ToolOutput::Text(format!("opened {}", call.arguments["gate"].as_str().unwrap_or("nothing")))
    })
}

fn agent(model: Arc<dyn Model>, tools: Vec<Tool>) -> Agent {
    Agent::new(model, AgentSetup { tools: tools.into(), ..AgentSetup::default() }).expect("a valid setup")
}

fn choosing(choice: ToolChoice) -> TurnOptions {
    TurnOptions { policy: Some(ToolPolicy { choice, ..ToolPolicy::default() }), ..TurnOptions::default() }
}

fn call(gate: &str) -> Value {
    json!({"toolCalls": [{"name": "open_gate", "arguments": {"gate": gate}}]})
}

fn code(result: Result<TurnResponse, AgentError>) -> ErrorCode {
    result.expect_err("the turn fails").code()
}

/// The records of a turn as `(output, is_error)`.
fn outputs(response: &TurnResponse) -> Vec<(String, bool)> {
    response.tool_calls.iter().map(|record| (record.output.model_text(), record.output.is_error())).collect()
}

/// A model that notes what it is asked and passes it on.
struct Watched {
    model: Arc<ScriptedModel>,
    requests: Mutex<Vec<StepRequest>>,
}

impl Watched {
    fn new(model: Arc<ScriptedModel>) -> Arc<Self> {
        Arc::new(Self { model, requests: Mutex::default() })
    }

    fn requests(&self) -> Vec<StepRequest> {
        self.requests.lock().expect("no test panics with the lock").clone()
    }
}

impl ModelLayer for Watched {
    fn below(&self) -> &dyn Model {
        &*self.model
    }

    fn pass_step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        self.requests.lock().expect("no test panics with the lock").push(request.clone());
        self.model.step(request, sink)
    }
}

#[tokio::test]
async fn tools_are_called_until_the_model_answers() {
    let model = Watched::new(scripted(&json!([call("north"), call("south"), {"template": "{toolOutputs}"}])));
    let guard = agent(model.clone(), vec![open_gate()]);
    let response = guard.respond("Open the gates.", &choosing(ToolChoice::Required)).await.unwrap();

    assert_eq!(response.text, "opened north\nopened south");
    let tool_modes: Vec<_> = model.requests().iter().map(|request| request.tool_mode).collect();
    assert_eq!(tool_modes, [ToolMode::Required, ToolMode::Allowed, ToolMode::Allowed]);
    // Prompt, two rounds of call and output, answer.
    assert_eq!(guard.entry_count(), 6);
}

#[tokio::test]
async fn a_disallowed_step_hides_the_tools() {
    let model = Watched::new(scripted(&json!([{"text": "Hm."}])));
    let guard = agent(model.clone(), vec![open_gate()]);
    guard.respond("Hello.", &choosing(ToolChoice::None)).await.unwrap();
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn responding_directly_is_seen_by_nobody_but_the_model() {
    let steps = json!([{"toolCalls": [{"name": "respond_directly"}]}, {"text": "Hello."}, {"text": "Bye."}]);
    let model = Watched::new(scripted(&steps));
    let guard = agent(model.clone(), vec![open_gate()]);
    let response = guard.respond("Hi.", &choosing(ToolChoice::Explicit)).await.unwrap();

    assert!(response.tool_calls.is_empty());
    assert_eq!(guard.entry_count(), 2);
    assert_eq!(response.steps[1].completed_tool_rounds, 1);
    let first = &model.requests()[0];
    assert_eq!(
        first.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["open_gate", "respond_directly"]
    );
    assert_eq!(response.steps[0].enabled_tools, [ToolName::new("open_gate").unwrap()]);
    guard.respond("Bye.", &TurnOptions::default()).await.unwrap();
    assert_eq!(model.requests()[2].transcript.len(), 3, "the next turn sees no trace of it");
}

#[tokio::test]
async fn a_lenient_tool_is_called_with_whatever_the_model_wrote() {
    let gate = json!({"type": "object", "properties": {"gate": {"type": "string"}}, "required": ["gate"]});
    let echo = Tool::local(definition("echo", &gate), async |call| {
        ToolOutput::Json(Value::Object(call.arguments.clone()))
    });
    for arguments in [json!({}), json!({"gate": 5}), json!({"gate": "west", "more": null})] {
        let steps = json!([{"toolCalls": [{"name": "echo", "arguments": arguments}]}, {"text": "Done."}]);
        let agent = agent(scripted(&steps), vec![echo.clone().lenient()]);
        let response = agent.respond("Go.", &TurnOptions::default()).await.unwrap();
        assert_eq!(response.tool_calls[0].output, ToolOutput::Json(arguments));
    }
}

#[tokio::test]
async fn calls_that_cannot_be_made_become_error_outputs() {
    let cases = [
        (json!({"name": "ghost"}), "Error: There is no tool 'ghost'. Available tools: open_gate."),
        (json!({"name": "open_gate", "arguments": {}}), "Error: The arguments of 'open_gate' do not fit: "),
        (
            json!({"name": "open_gate", "arguments": {"gate": 5}}),
            "Error: The arguments of 'open_gate' do not fit: ",
        ),
        (
            json!({"name": "open_gate", "arguments": {"gate": "a", "x": 1}}),
            "Error: The arguments of 'open_gate' do not fit: ",
        ),
        (json!({"name": "respond_directly"}), "Error: There is no tool 'respond_directly'."),
    ];
    for (wrong, expected) in cases {
        let steps = json!([{"toolCalls": [wrong]}, call("west"), {"template": "{toolOutput}"}]);
        let response =
            agent(scripted(&steps), vec![open_gate()]).respond("Go.", &TurnOptions::default()).await.unwrap();
        let outputs = outputs(&response);
        assert!(outputs[0].0.starts_with(expected) && outputs[0].1, "{outputs:?}");
        assert_eq!(outputs[1], ("opened west".to_owned(), false), "the model may try again");
    }
}

#[tokio::test]
async fn a_tool_outside_the_step_is_refused() {
    let wave = Tool::local(definition("wave", &json!({"type": "object"})), async |_| {
        ToolOutput::Text("waved".into())
    });
    let steps = json!([{"toolCalls": [{"name": "wave"}]}, {"text": "Fine."}]);
    let guard = agent(scripted(&steps), vec![open_gate(), wave]);
    let response = guard.respond("Go.", &choosing(ToolChoice::Tool("open_gate".into()))).await.unwrap();
    assert_eq!(
        outputs(&response)[0].0,
        "Error: Tool 'wave' is not available in this step. Available tools: open_gate."
    );
}

#[tokio::test]
async fn a_model_that_never_stops_calling_ends_in_an_error() {
    let model = Watched::new(scripted(&json!({"steps": [], "fallback": call("north")})));
    let guard = agent(model.clone(), vec![open_gate()]);
    assert_eq!(code(guard.respond("Go.", &TurnOptions::default()).await), ErrorCode::GenerationFailed);
    // Four rounds of the budget, two more that are refused, one too many.
    assert_eq!(model.requests().len(), 7);
    assert_eq!(guard.entry_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_local_tool_has_a_time_limit() {
    let slow =
        Tool::local(definition("slow", &json!({"type": "object"})), async |_| std::future::pending().await)
            .with_timeout(Some(Duration::from_millis(1500)));
    let steps = json!([{"toolCalls": [{"name": "slow"}]}, {"template": "{toolOutput}"}]);
    let response = agent(scripted(&steps), vec![slow]).respond("Go.", &TurnOptions::default()).await.unwrap();
    assert_eq!(response.text, "Error: Tool 'slow' timed out after 1s 500ms.");
    assert_eq!(response.tool_calls[0].duration.as_millis(), 1500);
}

#[tokio::test(start_paused = true)]
async fn parallel_calls_run_side_by_side_and_keep_their_order_for_the_model() {
    let sleepy = Tool::local(
        definition(
            "sleep",
            &json!({"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"]}),
        ),
        async |call| {
            let ms = call.arguments["ms"].as_u64().unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            ToolOutput::Text(ms.to_string())
        },
    );
    let calls: Vec<_> = [300, 100, 200].map(|ms| json!({"name": "sleep", "arguments": {"ms": ms}})).into();
    let steps = json!([{"toolCalls": calls}, {"template": "{toolOutputs}"}]);
    let begun = Instant::now();
    let response =
        agent(scripted(&steps), vec![sleepy]).respond("Go.", &TurnOptions::default()).await.unwrap();
    assert_eq!(begun.elapsed().as_millis(), 300);
    assert_eq!(response.text, "300\n100\n200", "the model reads outputs in call order");
    let completed: Vec<_> = response.tool_calls.iter().map(|record| record.output.model_text()).collect();
    assert_eq!(completed, ["100", "200", "300"], "records are in the order of completion");
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_retried_after_growing_delays() {
    let steps = json!([{"error": "generation_failed"}, {"error": "rate_limited"}, {"text": "At last."}]);
    let setup = AgentSetup {
        options: AgentOptions { max_attempts: 3, ..AgentOptions::default() },
        ..AgentSetup::default()
    };
    let agent = Agent::new(scripted(&steps), setup).unwrap();
    let begun = Instant::now();
    let response = agent.respond("Go.", &TurnOptions::default()).await.unwrap();
    assert_eq!((response.text.as_str(), begun.elapsed().as_millis()), ("At last.", 900));
    assert_eq!(response.steps.iter().map(|step| step.index).collect::<Vec<_>>(), [0, 0, 0]);
    assert_eq!(agent.entry_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_retried_after_a_tool_call() {
    let steps = json!([call("north"), {"error": "generation_failed"}, {"text": "Never."}]);
    let agent = agent(scripted(&steps), vec![open_gate()]);
    assert_eq!(code(agent.respond("Go.", &TurnOptions::default()).await), ErrorCode::GenerationFailed);
    assert_eq!(agent.entry_count(), 0);
}

#[tokio::test]
async fn a_dropped_turn_leaves_no_trace() {
    let steps = json!([{"text": "one"}, call("north"), {"text": "late", "delayMs": 60_000}]);
    let agent = agent(scripted(&steps), vec![open_gate()]);
    agent.respond("First.", &TurnOptions::default()).await.unwrap();
    let options = TurnOptions::default();
    let mut turn = Box::pin(agent.respond("Second.", &options));
    assert!(Pin::new(&mut turn).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(agent.entry_count(), 5, "prompt, call and output of the turn in progress are there");
    drop(turn);
    assert_eq!(agent.entry_count(), 2);
}

fn decision() -> Arc<GenerationSchema> {
    let schema = json!({"type": "object", "properties": {
        "reasoning": {"type": "string"},
        "choice": {"type": "string", "enum": ["sell", "refuse"]},
    }, "required": ["reasoning", "choice"]});
    Arc::new(GenerationSchema::from_json_schema(&schema, "Response").unwrap().schema)
}

#[tokio::test(start_paused = true)]
async fn a_structured_answer_that_breaks_its_schema_never_reaches_the_host() {
    let good = json!({"json": {"choice": "sell", "reasoning": "Fair."}});
    let broken = [
        json!({"json": {"choice": "burn", "reasoning": "x"}}),
        json!({"json": {"choice": "sell"}}),
        json!({"json": [1]}),
        json!({"text": "I would rather not."}),
    ];
    let options = TurnOptions { schema: Some(decision()), ..TurnOptions::default() };
    for bad in broken {
        let twice = agent(scripted(&json!([bad, bad])), vec![]);
        assert_eq!(code(twice.respond("Go.", &options).await), ErrorCode::GenerationFailed, "{bad}");
        let once = agent(scripted(&json!([bad, good])), vec![]);
        let response = once.respond("Go.", &options).await.unwrap();
        assert_eq!(response.text, r#"{"reasoning":"Fair.","choice":"sell"}"#, "a retry may mend it: {bad}");
    }
}

#[tokio::test]
async fn a_lenient_turn_takes_any_json_for_an_answer() {
    let options = TurnOptions { schema: Some(decision()), is_lenient: true, ..TurnOptions::default() };
    for (step, text) in [
        (json!({"json": {"choice": "burn", "reasoning": 7}}), r#"{"reasoning":7,"choice":"burn"}"#),
        (json!({"text": "[1]"}), "[1]"),
    ] {
        let response = agent(scripted(&json!([step])), vec![]).respond("Go.", &options).await.unwrap();
        assert_eq!(response.text, text);
    }
}

/// What a stream yields, in short, and how it ended.
async fn yielded(agent: &Agent) -> (Vec<&'static str>, Option<AgentError>) {
    let mut run = agent.run("Go.", TurnOptions::default());
    let mut events = Vec::new();
    while let Some(event) = run.next_event().await {
        events.push(match event {
            Ok(RunEvent::Turn(TurnEvent::ModelStep { .. })) => "step",
            Ok(RunEvent::Turn(TurnEvent::ToolCallStarted { .. })) => "started",
            Ok(RunEvent::Turn(TurnEvent::ToolCallCompleted { .. })) => "completed",
            Ok(RunEvent::Turn(_)) => "answer",
            Ok(RunEvent::ToolCallRequested(_)) => "requested",
            Ok(RunEvent::ToolCallAbandoned(_)) => "abandoned",
            Ok(RunEvent::Completed(_)) => "end",
            Err(error) => {
                assert!(run.next_event().await.is_none());
                return (events, Some(error));
            }
        });
    }
    (events, None)
}

#[tokio::test]
async fn what_happened_before_an_error_is_yielded_before_it() {
    let refusing = agent(scripted(&json!([call("north"), {"error": "refusal"}])), vec![open_gate()]);
    let (events, error) = yielded(&refusing).await;
    assert_eq!(events, ["step", "started", "completed", "step"]);
    assert_eq!(error.unwrap().code(), ErrorCode::Refusal);
}

#[tokio::test(start_paused = true)]
async fn only_a_call_that_was_asked_for_is_abandoned() {
    let parameters = json!({"type": "object", "properties": {"gate": {"type": "string"}}});
    let local = Tool::local(definition("open_gate", &parameters), async |_| std::future::pending().await);
    let client = Tool::client(definition("open_gate", &parameters));
    let steps = json!([call("north"), {"text": "Stuck."}]);
    let (events, _) = yielded(&agent(scripted(&steps), vec![local])).await;
    assert_eq!(events, ["step", "started", "completed", "step", "end"]);
    let (events, _) = yielded(&agent(scripted(&steps), vec![client])).await;
    assert_eq!(events, ["step", "started", "requested", "completed", "abandoned", "step", "end"]);
}

#[tokio::test]
async fn a_model_that_never_waits_can_be_cancelled() {
    let endless = json!({"steps": [], "fallback": {"toolCalls": [{"name": "ghost"}]}});
    let policy = ToolPolicy { max_tool_rounds: u32::MAX, max_tool_calls: u32::MAX, ..ToolPolicy::default() };
    let options = TurnOptions { policy: Some(policy), ..TurnOptions::default() };
    let guard = agent(scripted(&endless), vec![open_gate()]);
    let turn = guard.respond("Go.", &options);
    assert!(tokio::time::timeout(Duration::from_millis(1), turn).await.is_err());
    assert_eq!(guard.entry_count(), 0);
}

/// The text events of a turn as `(delta, is_reset)`, and what they add up to.
async fn heard(agent: &Agent) -> (Vec<(String, bool)>, String) {
    let mut run = agent.run("Go.", TurnOptions { stream: true, ..TurnOptions::default() });
    let (mut events, mut shown) = (Vec::new(), String::new());
    while let Some(event) = run.next_event().await {
        match event.unwrap() {
            RunEvent::Turn(TurnEvent::Text(text)) => {
                if text.is_reset {
                    shown.clear();
                }
                shown.push_str(&text.delta);
                assert_eq!(shown, text.text.to_string(), "text is the whole answer so far");
                events.push((text.delta, text.is_reset));
            }
            RunEvent::Completed(response) => assert_eq!(response.text, shown),
            _ => {}
        }
    }
    (events, shown)
}

#[tokio::test]
async fn a_text_is_heard_in_as_many_pieces_as_the_script_says() {
    let (events, text) = heard(&agent(scripted(&json!([{"text": "abcdef", "chunks": 3}])), vec![])).await;
    assert_eq!(events, [("ab".into(), false), ("cd".into(), false), ("ef".into(), false)]);
    assert_eq!(text, "abcdef");
}

#[tokio::test]
async fn the_tokens_of_the_answering_step_are_told_apart() {
    let steps = json!([call("north"), {"text": "x".repeat(40), "chunks": 1}]);
    let response =
        agent(scripted(&steps), vec![open_gate()]).respond("Open!", &<_>::default()).await.unwrap();
    assert_eq!((response.usage.output_tokens, response.answer_usage.output_tokens), (14, 10));
}

/// Says "Hello" and fails, then says "Help".
struct Stumbling(Mutex<bool>);

impl Model for Stumbling {
    fn step<'a>(
        &'a self,
        _: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            if std::mem::replace(&mut *self.0.lock().unwrap(), true) {
                sink.text("Hello again");
                sink.reset("Help");
                return Ok(StepOutcome {
                    content: oam_agent::StepContent::Text("Help!".into()),
                    usage: oam_agent::Usage::default(),
                });
            }
            sink.text("Hello");
            Err(ModelError::new(ErrorCode::GenerationFailed, "stumbled"))
        })
    }
    fn availability(&self) -> Availability {
        scripted(&json!([])).availability()
    }
    fn context_size(&self) -> Option<u32> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_attempt_and_a_rewrite_start_the_text_over() {
    let (events, _) = heard(&agent(Arc::new(Stumbling(Mutex::new(false))), vec![])).await;
    let expected = [("Hello", false), ("Hello again", true), ("Help", true), ("!", false)];
    assert_eq!(events, expected.map(|(delta, is_reset)| (delta.to_owned(), is_reset)));
}

#[tokio::test]
async fn prose_where_json_is_due_is_shown_in_the_error() {
    let agent = agent(scripted(&json!({"steps": [], "fallback": {"text": "Let me \"think\"."}})), vec![]);
    let schema = GenerationSchema::from_json_schema(&json!({"type": "object", "properties": {}}), "Choice");
    let options = TurnOptions { schema: Some(Arc::new(schema.unwrap().schema)), ..TurnOptions::default() };
    let error = agent.respond("Choose.", &options).await.unwrap_err();
    let message = r#"The model answered in prose where the schema asks for JSON: "Let me \"think\"."."#;
    assert_eq!((error.code(), &*error.to_string()), (ErrorCode::GenerationFailed, message));
}

#[tokio::test]
async fn settings_apply_from_the_next_turn() {
    let model = Watched::new(scripted(&json!([{"text": "a"}, {"text": "b"}, {"text": "c"}])));
    let agent = agent(model.clone(), vec![]);
    agent.set_instructions(Some("Be brief.".into()));
    agent.respond("1", &TurnOptions::default()).await.unwrap();
    agent.set_context_note(Some("It rains.".into()));
    agent.respond("2", &TurnOptions::default()).await.unwrap();
    agent.set_instructions(None);
    agent.respond("3", &TurnOptions::default()).await.unwrap();
    let instructions: Vec<_> = model.requests().into_iter().map(|request| request.instructions).collect();
    let expected = ["Be brief.", "Be brief.\n\nIt rains.", "It rains."];
    assert_eq!(instructions, expected.map(|text| Some(Arc::from(text))));
}

#[tokio::test]
async fn compaction_folds_the_note_and_the_older_turns_into_a_new_note() {
    let model = Watched::new(scripted(&json!([{"text": "a"}, {"text": "b"}, {"text": "They met."}])));
    let agent = agent(model.clone(), vec![]);
    for prompt in ["1", "2"] {
        agent.respond(prompt, &TurnOptions::default()).await.unwrap();
    }
    let compaction = Compaction { keep_recent_turns: 1, ..Compaction::default() };
    let refused = agent.compact(&compaction, |_| Err(AgentError::Cancelled)).await;
    assert!(matches!(refused, Err(AgentError::Cancelled)));
    assert_eq!((agent.entry_count(), agent.context_note()), (4, None), "a refused commit changes nothing");

    let keep = |summary: FinishedCompaction<'_>| {
        summary.keep();
        Ok(())
    };
    let summary = agent.compact(&compaction, keep).await.unwrap();
    assert_eq!(summary.as_deref(), Some("(script exhausted)"));
    assert_eq!(agent.entry_count(), 2);
    assert_eq!(agent.context_note().as_deref(), Some("(script exhausted)"));
    assert_eq!(agent.compact(&compaction, keep).await.unwrap(), None, "nothing is left to compact");
}

#[tokio::test]
async fn a_named_tool_must_be_there_when_the_turn_starts() {
    let agent = agent(scripted(&json!([{"text": "x"}])), vec![open_gate()]);
    let result = agent.respond("Go.", &choosing(ToolChoice::Tool("ghost".into()))).await;
    assert!(matches!(result, Err(AgentError::UnknownToolChoice { tool }) if tool == "ghost"));
    assert_eq!(agent.entry_count(), 0);
}

#[test]
fn an_agent_needs_distinct_unreserved_tool_names() {
    let named = |name: &str| Tool::client(definition(name, &json!({"type": "object"})));
    for tools in [vec![named("a"), named("a")], vec![named("respond_directly")]] {
        let result =
            Agent::new(scripted(&json!([])), AgentSetup { tools: tools.into(), ..AgentSetup::default() });
        assert!(matches!(result, Err(AgentError::InvalidRequest(_))));
    }
}

#[tokio::test]
async fn what_nests_too_deep_for_a_transcript_is_no_answer_and_no_call() {
    let nested = |levels| (0..levels).fold(json!({}), |value, _| json!({"next": value}));
    let schema = GenerationSchema::from_json_schema(
        &json!({"title": "N", "type": "object", "properties": {"next": {"$ref": "#"}}}),
        "N",
    )
    .unwrap();
    let options = TurnOptions { schema: Some(Arc::new(schema.schema)), ..TurnOptions::default() };
    for (levels, fits) in [(63, true), (64, false)] {
        let model = scripted(&json!([{"json": nested(levels)}]));
        let answer = agent(model, vec![]).respond("x", &options).await;
        assert_eq!(answer.is_ok(), fits, "{levels}");

        let arguments = json!({"gate": nested(levels - 1)});
        let steps =
            json!([{"toolCalls": [{"name": "open_gate", "arguments": arguments}]}, {"text": "Well."}]);
        let turn = agent(scripted(&steps), vec![open_gate()]).respond("x", &TurnOptions::default()).await;
        assert_eq!(turn.unwrap().tool_calls.len(), usize::from(fits), "{levels}: it is tried again");
    }
}

#[tokio::test]
async fn images_come_before_the_text_of_a_prompt() {
    let options = TurnOptions { images: vec!["/maps/gate.png".into()], ..TurnOptions::default() };
    let guard = agent(scripted(&json!([{"text": "A gate."}])), Vec::new());
    guard.respond("What is it?", &options).await.unwrap();
    let saved = guard.saved_transcript().to_json();
    let contents = &saved["transcript"]["entries"][0]["contents"];
    assert_eq!(contents[0]["url"], "file:///maps/gate.png");
    assert_eq!(contents[1]["text"], "What is it?");
}

#[tokio::test]
async fn a_model_that_cannot_do_with_images_is_not_asked() {
    let model = Arc::new(Stumbling(Mutex::new(false)));
    let guard = agent(model.clone(), Vec::new());
    let options = TurnOptions { images: vec!["/maps/gate.png".into()], ..TurnOptions::default() };
    assert_eq!(code(guard.respond("What is it?", &options).await), ErrorCode::InvalidRequest);
    assert!(!*model.0.lock().unwrap());
}
