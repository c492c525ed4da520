use expect_test::expect;
use oam_agent::{ErrorCode, NoHost};
use serde_json::json;

use super::*;
use crate::test_model::{TestModel, tool};

fn request() -> ContentRequest {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "Two or three words"},
        "damage": {"type": "integer", "minimum": 1, "maximum": 50},
    }, "required": ["name", "damage"]});
    ContentRequest {
        prompt: "A sword found in a drowned temple.".to_owned(),
        schema: Arc::new(GenerationSchema::from_json_schema(&schema, "Content").unwrap().schema),
        context: None,
        tools: Vec::new(),
    }
}

fn sword() -> Value {
    json!({"json": {"damage": 45, "name": "Drowned Fang"}})
}

async fn generate(steps: &Value, request: &ContentRequest) -> Result<Value, AgentError> {
    ContentGenerator::new(TestModel::new(steps)).generate(request, &mut NoHost).await
}

#[tokio::test]
async fn the_model_reads_prompt_and_facts() {
    let model = TestModel::new(&json!([sword()]));
    let request = ContentRequest { context: Some(json!({"biome": "swamp", "level": 3.0})), ..request() };
    ContentGenerator::new(Arc::clone(&model) as _).generate(&request, &mut NoHost).await.unwrap();
    expect![[r#"
        You write content for a video game. Follow the given format exactly. Keep every text short and vivid.
        ---
        A sword found in a drowned temple.
        Facts: {"biome":"swamp","level":3}
        ---
        {
          "title": "Content",
          "type": "object",
          "properties": {
            "name": {
              "type": "string",
              "description": "Two or three words"
            },
            "damage": {
              "type": "integer",
              "minimum": 1,
              "maximum": 50
            }
          },
          "required": [
            "name",
            "damage"
          ],
          "additionalProperties": false,
          "x-order": [
            "name",
            "damage"
          ]
        }"#]]
    .assert_eq(&model.first_seen());
}

#[tokio::test]
async fn facts_follow_unless_they_are_null() {
    let cases = [
        (None, ""),
        (Some(Value::Null), ""),
        (Some(json!({})), "\nFacts: {}"),
        (Some(json!("night")), "\nFacts: \"night\""),
    ];
    for (context, facts) in cases {
        let request = ContentRequest { context, ..request() };
        assert_eq!(wording::prompt(&request), format!("A sword found in a drowned temple.{facts}"));
    }
    let blank = ContentRequest { prompt: String::new(), ..request() };
    assert_eq!(wording::prompt(&blank), "");
}

#[tokio::test]
async fn instructions_and_temperature_are_the_generators() {
    let model = TestModel::new(&json!([sword()]));
    let generator = ContentGenerator {
        instructions: Some("Write grimly.".to_owned()),
        temperature: Some(0.5),
        ..ContentGenerator::new(Arc::clone(&model) as _)
    };
    generator.generate(&request(), &mut NoHost).await.unwrap();
    let seen = &model.requests()[0];
    assert_eq!((seen.instructions.as_deref(), seen.options.temperature), (Some("Write grimly."), Some(0.5)));
    assert_eq!(wording::instructions(Some("\n")), wording::instructions(None));
}

#[tokio::test]
async fn content_comes_in_the_order_of_its_schema() {
    let content = generate(&json!([sword()]), &request()).await.unwrap();
    assert_eq!(oam_agent::json_text::compact(&content), r#"{"name":"Drowned Fang","damage":45}"#);
}

#[tokio::test(start_paused = true)]
async fn content_that_does_not_fit_is_asked_for_once_more() {
    let broken = json!({"json": {"name": "Drowned Fang", "damage": 51}});
    assert_eq!(generate(&json!([broken, sword()]), &request()).await.unwrap()["damage"], 45);
    let error = generate(&json!([broken, broken, sword()]), &request()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::GenerationFailed);
}

#[tokio::test]
async fn nothing_stands_in_for_refused_content() {
    for code in [ErrorCode::GuardrailViolation, ErrorCode::Refusal] {
        let error = generate(&json!([{"error": code.as_str()}, sword()]), &request()).await.unwrap_err();
        assert_eq!(error.code(), code);
    }
}

#[tokio::test]
async fn the_model_may_look_things_up_first() {
    let model = TestModel::new(&json!([{"toolCalls": [{"name": "biome"}]}, sword()]));
    let request = ContentRequest { tools: vec![tool("biome", "swamp")], ..request() };
    ContentGenerator::new(Arc::clone(&model) as _).generate(&request, &mut NoHost).await.unwrap();
    let tool_modes: Vec<_> = model.requests().iter().map(|request| request.tool_mode.as_str()).collect();
    assert_eq!(tool_modes, ["allowed", "allowed"]);
}
