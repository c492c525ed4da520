//! What a model made is checked without keeping others waiting, however large it or its schema is.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, mpsc};

use oam_agent::{
    Agent, AgentError, AgentSetup, ErrorCode, Script, ScriptedModel, Tool, ToolDefinition, ToolName,
    ToolOutput, TurnOptions, TurnResponse, schema::GenerationSchema,
};
use serde_json::{Map, Value, json};

/// An object with so many properties, none of which is required.
fn wide_schema(properties: usize) -> Value {
    let properties: Map<_, _> =
        (0..properties).map(|number| (format!("p{number}"), json!({"type": "integer"}))).collect();
    json!({"type": "object", "properties": properties})
}

fn list_schema() -> Value {
    json!({"type": "array", "items": {"type": "integer"}})
}

fn in_form(schema: &Value) -> TurnOptions {
    let schema = GenerationSchema::from_json_schema(schema, "Answer").unwrap().schema;
    TurnOptions { schema: Some(Arc::new(schema)), ..TurnOptions::default() }
}

fn agent(steps: &Value, tools: Vec<Tool>) -> Agent {
    let model = ScriptedModel::new(Script::from_steps_or_object(steps, "").unwrap());
    Agent::new(Arc::new(model), AgentSetup { tools: tools.into(), ..AgentSetup::default() }).unwrap()
}

/// A list whose items are one of so many objects.
fn list_of_one_of(alternatives: usize) -> Value {
    let branch =
        |number: usize| json!({"type": "object", "properties": {format!("p{number}"): {"type": "integer"}}});
    json!({"type": "array", "items": {"anyOf": (0..alternatives).map(branch).collect::<Vec<_>>()}})
}

/// A list of an object with so long a name.
fn list_with_name(bytes: usize) -> Value {
    json!([{"x".repeat(bytes): 1}])
}

/// A turn that is answered with `value`.
async fn answer(schema: Value, value: Value) -> TurnResponse {
    try_answer(schema, value).await.unwrap()
}

/// The same in both attempts.
async fn try_answer(schema: Value, value: Value) -> Result<TurnResponse, AgentError> {
    let steps = json!([{"json": value}, {"json": value}]);
    agent(&steps, vec![]).respond("Say it.", &in_form(&schema)).await
}

/// A turn in which the model calls a tool with these arguments.
async fn call(schema: Value, arguments: Value) -> TurnResponse {
    let name = ToolName::new("note").unwrap();
    let definition = ToolDefinition::from_json_schema(name, "Notes it.", &schema).unwrap().0;
    let note = Tool::local(definition, async |_| ToolOutput::Text("noted".to_owned()));
    let steps = json!([{"toolCalls": [{"name": "note", "arguments": arguments}]}, {"text": "Done."}]);
    agent(&steps, vec![note]).respond("Note it.", &TurnOptions::default()).await.unwrap()
}

/// Plays a turn whose check is a large one, on a runtime whose only thread for what takes long is taken until another turn,
/// with a small check, has ended.
fn play_beside_another(large: impl Future<Output = TurnResponse> + Send + 'static) -> TurnResponse {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        let (go_on, told) = mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || told.recv());
        let large = tokio::spawn(large);
        let small = tokio::spawn(answer(list_schema(), json!([1]))).await.unwrap();
        assert_eq!(small.text, "[1]");
        assert!(!large.is_finished(), "its check waits");
        drop(go_on);
        busy.await.unwrap().unwrap_err();
        large.await.unwrap()
    })
}

#[test]
fn others_do_not_wait_while_a_large_answer_or_an_answer_to_a_large_schema_is_checked() {
    let numbers: Value = (0..50_000).collect();
    for (schema, value) in [(wide_schema(9_000), json!({"p1": 1})), (list_schema(), numbers)] {
        let response = play_beside_another(answer(schema, value.clone()));
        assert_eq!(response.structured, Some(value));
    }
}

#[test]
fn others_do_not_wait_while_arguments_of_a_large_tool_are_checked() {
    for (value, output) in [(json!(1), "noted"), (json!("one"), "do not fit")] {
        let response = play_beside_another(call(wide_schema(9_000), json!({"p1": value})));
        let [record] = &*response.tool_calls else { panic!("one call") };
        assert!(record.output.model_text().contains(output), "{record:?}");
    }
}

#[tokio::test]
async fn what_would_take_too_long_to_check_is_refused_and_says_what_to_do() {
    for (alternatives, name) in [(2_000, 10), (100, 100_000), (2, 1_000_000)] {
        let error = try_answer(list_of_one_of(alternatives), list_with_name(name)).await.unwrap_err();
        assert!(error.to_string().contains("must fit one of the types"), "{error}");
    }
    let (schema, value) = (list_of_one_of(2_000), list_with_name(400_000));
    let error = try_answer(schema.clone(), value.clone()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::GenerationFailed);
    let tool = json!({"type": "object", "properties": {"items": schema}});
    let response = call(tool, json!({"items": value})).await;
    for said in [error.to_string(), response.tool_calls[0].output.model_text()] {
        assert!(
            said.contains("The schema must have fewer alternatives ('anyOf'), or the value fewer parts."),
            "{said}"
        );
    }
}

#[test]
fn a_large_answer_needs_no_runtime() {
    let turn = std::pin::pin!(answer(wide_schema(9_000), json!({"p1": 1})));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(turn.poll(&mut context).is_ready());
}
