use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use expect_test::expect;
use oam_agent::{NoHost, ToolCall, ToolMode, ToolOutput, TurnClient, TurnEvent};
use serde_json::json;
use tokio::sync::oneshot;

use super::*;
use crate::test_model::{TestModel, tool};

fn option(id: &str, description: &str) -> DecisionOption {
    DecisionOption { id: OptionId::new(id).unwrap(), description: description.to_owned() }
}

fn request(options: &[(&str, &str)]) -> DecisionRequest {
    let options = options.iter().map(|(id, description)| option(id, description)).collect();
    DecisionRequest {
        situation: "The knight blocks the way out.".to_owned(),
        options: DecisionOptions::new(options).unwrap(),
        actor: None,
        context: None,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
    }
}

fn two_options() -> DecisionRequest {
    request(&[("flee", ""), ("beg", "")])
}

fn snik() -> Persona {
    Persona {
        role: "a cowardly goblin".to_owned(),
        personality: "Greedy, timid and sly".to_owned(),
        speaking_style: "Whispers.".to_owned(),
        backstory: "Born in a cave.".to_owned(),
        goals: vec!["Survive at any cost. ".to_owned(), " ".to_owned(), "Get home".to_owned()],
        secrets: vec!["He fears mice.".to_owned()],
        knowledge: vec!["The way out.".to_owned()],
        ..Persona::new(" Snik")
    }
}

fn chosen(choice: &str) -> Value {
    json!({"json": {"reasoning": "Because.", "choice": choice, "confidence": 60}})
}

async fn decide(steps: &Value, request: &DecisionRequest) -> Result<Decision, AgentError> {
    DecisionEngine::new(TestModel::new(steps)).decide(request, &mut NoHost).await
}

/// What the model reads when it is asked.
async fn seen(engine: impl FnOnce(DecisionEngine) -> DecisionEngine, request: &DecisionRequest) -> String {
    let model = TestModel::new(&json!([chosen("flee")]));
    engine(DecisionEngine::new(Arc::clone(&model) as _)).decide(request, &mut NoHost).await.unwrap();
    model.first_seen()
}

#[tokio::test]
async fn the_model_reads_situation_facts_and_options() {
    let request = DecisionRequest {
        actor: Some(snik()),
        context: Some(json!({"goblin_hp": 3.0, "escape_route": true})),
        ..request(&[("flee", "Squeeze through the crack behind you "), ("beg", " ")])
    };
    expect![[r#"
        You make decisions for characters in a video game. Choose the option that fits the situation and the character best. First give your reason in one short sentence, then the id of the option, then how confident you are, from 0 to 100.
        You decide for Snik, a cowardly goblin.
        Personality: Greedy, timid and sly.
        Goals: Survive at any cost; Get home.
        ---
        Situation: The knight blocks the way out.
        Facts: {"goblin_hp":3,"escape_route":true}
        Options:
        - flee: Squeeze through the crack behind you
        - beg
        ---
        {
          "title": "Decision",
          "type": "object",
          "properties": {
            "reasoning": {
              "type": "string",
              "description": "The reason for the choice, in one short sentence."
            },
            "choice": {
              "type": "string",
              "enum": [
                "flee",
                "beg"
              ],
              "description": "The id of the chosen option."
            },
            "confidence": {
              "type": "integer",
              "minimum": 0,
              "maximum": 100,
              "description": "How sure the choice is: 0 is a guess, 100 is certain."
            }
          },
          "required": [
            "reasoning",
            "choice",
            "confidence"
          ],
          "additionalProperties": false,
          "x-order": [
            "reasoning",
            "choice",
            "confidence"
          ]
        }"#]]
    .assert_eq(&seen(|engine| engine, &request).await);
}

#[tokio::test]
async fn what_is_not_given_is_not_told() {
    let engine = |engine| DecisionEngine { instructions: Some("Decide.".to_owned()), ..engine };
    for context in [None, Some(Value::Null), Some(json!({}))] {
        let request = DecisionRequest {
            situation: " \n".to_owned(),
            actor: Some(Persona::new("Snik")),
            context,
            ..two_options()
        };
        let seen = seen(engine, &request).await;
        assert!(seen.starts_with(
            "Decide.\nYou decide for Snik.\n---\nSituation: (none given)\nOptions:\n- flee\n- beg\n---\n"
        ));
    }
}

#[test]
fn blank_instructions_are_none() {
    let seen = |instructions: Option<&str>| wording::instructions(instructions, None);
    assert_eq!(seen(Some(" ")), seen(None));
    assert_eq!(seen(Some(" Be bold.")), " Be bold.");
}

#[tokio::test]
async fn a_decision_is_written_in_the_order_of_the_protocol() {
    let decision = decide(&json!([chosen("beg")]), &two_options()).await.unwrap();
    expect![[r#"{"optionID":"beg","reasoning":"Because.","confidence":60,"toolCalls":[],"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":8,"totalTokens":8},"isFallback":false}"#]].assert_eq(&json_text::compact(&decision));
}

#[tokio::test]
async fn a_single_option_is_chosen_without_the_model() {
    let model = TestModel::new(&json!([{"error": "model_unavailable"}]));
    let engine = DecisionEngine::new(Arc::clone(&model) as _);
    let request = DecisionRequest {
        tools: vec![tool("look", "seen")],
        tool_choice: ToolChoice::Required,
        ..request(&[("fight", "")])
    };
    let decision = engine.decide(&request, &mut NoHost).await.unwrap();
    expect![[r#"{"optionID":"fight","reasoning":"It is the only option.","confidence":100,"toolCalls":[],"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"totalTokens":0},"isFallback":false}"#]].assert_eq(&json_text::compact(&decision));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn answers_are_read_leniently() {
    let cases = [
        (json!({"reasoning": "So.", "choice": "FLEE", "confidence": 78}), ("flee", "So.", 78)),
        (json!({"choice": " beg ", "confidence": 140}), ("beg", "", 100)),
        (json!({"choice": "beg", "reasoning": 7, "confidence": -5}), ("beg", "", 0)),
        (json!({"choice": "beg", "confidence": 49.5, "mood": "sly"}), ("beg", "", 50)),
        (json!({"choice": "beg"}), ("beg", "", 50)),
        (json!({"choice": "beg", "confidence": null}), ("beg", "", 50)),
        (json!({"choice": "beg", "confidence": "high"}), ("beg", "", 50)),
    ];
    for (answer, (option, reasoning, confidence)) in cases {
        let decision = decide(&json!([{"json": answer}]), &two_options()).await.unwrap();
        let told = (decision.option.as_str(), decision.reasoning.as_str(), decision.confidence);
        assert_eq!(told, (option, reasoning, confidence), "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_option_fails_and_is_not_asked_again() {
    let answers = [
        json!({"choice": "dance"}),
        json!({"choice": 1}),
        json!({}),
        json!(["flee"]),
        json!("flee"),
        json!(null),
    ];
    for answer in answers {
        let mut request = two_options();
        request.options = request.options.with_fallback("flee").unwrap();
        let error = decide(&json!([{"json": answer}, chosen("beg")]), &request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::GenerationFailed, "{answer}");
    }
    let error = decide(&json!([chosen("dance")]), &two_options()).await.unwrap_err();
    assert_eq!(error.to_string(), r#"The model chose "dance", which is no option."#);
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_is_tried_again() {
    for first in [json!({"error": "generation_failed"}), json!({"text": "I flee."})] {
        assert_eq!(
            decide(&json!([first, chosen("beg")]), &two_options()).await.unwrap().option.as_str(),
            "beg"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_fallback_stands_in_where_the_model_refuses_and_only_there() {
    for code in ErrorCode::ALL {
        let steps = json!([{"error": code.as_str()}, {"error": code.as_str()}]);
        assert_eq!(decide(&steps, &two_options()).await.unwrap_err().code(), code, "without a fallback");
        let mut request = two_options();
        request.options = request.options.with_fallback("beg").unwrap();
        let is_blocked = [ErrorCode::GuardrailViolation, ErrorCode::Refusal].contains(&code);
        assert_eq!(decide(&steps, &request).await.is_ok(), is_blocked, "{code}");
    }
}

#[tokio::test]
async fn a_fallback_tells_nothing_of_what_led_to_it() {
    let mut request = DecisionRequest { tools: vec![tool("look", "seen")], ..two_options() };
    request.options = request.options.with_fallback("beg").unwrap();
    let steps = json!([{"toolCalls": [{"name": "look"}]}, {"error": "refusal"}]);
    let decision = decide(&steps, &request).await.unwrap();
    expect![[r#"{"optionID":"beg","reasoning":"","confidence":0,"toolCalls":[],"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"totalTokens":0},"isFallback":true}"#]].assert_eq(&json_text::compact(&decision));
}

/// The modes of the steps of a decision whose model calls `look` twice and then decides.
async fn modes(tools: Vec<Tool>, tool_choice: ToolChoice, max_tool_rounds: u32) -> Vec<ToolMode> {
    let look = json!({"toolCalls": [{"name": "look"}]});
    let model = TestModel::new(&json!([look, look, chosen("beg")]));
    let engine = DecisionEngine { max_tool_rounds, ..DecisionEngine::new(Arc::clone(&model) as _) };
    let request = DecisionRequest { tools, tool_choice, ..two_options() };
    engine.decide(&request, &mut NoHost).await.unwrap();
    model.requests().iter().map(|request| request.tool_mode).collect()
}

#[tokio::test]
async fn tools_are_called_as_often_as_the_engine_allows() {
    use ToolMode::{Allowed, Disallowed, Required};
    let look = || vec![tool("look", "seen")];
    assert_eq!(modes(look(), ToolChoice::Auto, 2).await, [Allowed, Allowed, Disallowed]);
    assert_eq!(modes(look(), ToolChoice::Required, 9).await, [Required, Allowed, Allowed]);
    assert_eq!(modes(look(), ToolChoice::Tool("look".into()), 1).await[0], Required);
    assert_eq!(modes(look(), ToolChoice::None, 9).await[0], Disallowed);
    assert_eq!(modes(Vec::new(), ToolChoice::Tool("look".into()), 9).await[0], Disallowed, "nothing to call");
}

#[tokio::test]
async fn the_engines_temperature_is_the_models() {
    let model = TestModel::new(&json!([chosen("beg")]));
    let engine = DecisionEngine { temperature: Some(0.25), ..DecisionEngine::new(Arc::clone(&model) as _) };
    engine.decide(&two_options(), &mut NoHost).await.unwrap();
    assert_eq!(model.requests()[0].options.temperature, Some(0.25));
}

/// How many decisions are being made, and how many were at most.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// The host of a decision, counted while it is made.
struct CountedHost<'a>(&'a Crowd);

impl<'a> CountedHost<'a> {
    fn new(crowd: &'a Crowd) -> Self {
        let now = crowd.now.fetch_add(1, Ordering::Relaxed) + 1;
        crowd.most.fetch_max(now, Ordering::Relaxed);
        Self(crowd)
    }
}

impl Drop for CountedHost<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TurnHost for CountedHost<'_> {
    fn event(&mut self, _: TurnEvent) {}
}

impl TurnClient for CountedHost<'_> {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        NoHost.call_client(call)
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_decides_a_few_at_a_time() {
    for (max_concurrency, most) in [(1, 1), (2, 2), (3, 3), (usize::MAX, 7)] {
        let slow = json!({"json": {"choice": "beg"}, "delayMs": 1000});
        let engine = DecisionEngine::new(TestModel::new(&json!({"steps": [], "fallback": slow})));
        let crowd = Crowd::default();
        let limit = NonZeroUsize::new(max_concurrency).unwrap();
        let results = engine.decide_many(&vec![two_options(); 7], limit, |_| CountedHost::new(&crowd)).await;
        assert!(results.len() == 7 && results.iter().all(Result::is_ok));
        assert_eq!((crowd.now.into_inner(), crowd.most.into_inner()), (0, most), "{max_concurrency}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_requests() {
    let slowly = |choice: &str, delay| {
        let mut step = chosen(choice);
        step["delayMs"] = json!(delay);
        step
    };
    let steps = json!([slowly("flee", 3000), slowly("beg", 1000), {"error": "refusal"}, chosen("beg")]);
    let mut requests = vec![two_options(); 5];
    requests[2] = request(&[("wait", "")]);
    let engine = DecisionEngine::new(TestModel::new(&steps));
    let results = engine.decide_many(&requests, NonZeroUsize::new(2).unwrap(), |_| NoHost).await;
    let told: Vec<_> = results
        .iter()
        .map(|result| match result {
            Ok(decision) => decision.option.to_string(),
            Err(error) => error.code().to_string(),
        })
        .collect();
    assert_eq!(told, ["flee", "beg", "wait", "refusal", "beg"]);
}

#[tokio::test]
async fn every_decision_of_a_crowd_has_its_own_host() {
    let hosts = Mutex::new(Vec::new());
    let engine = DecisionEngine::new(TestModel::new(&json!([chosen("beg"), chosen("beg")])));
    let host = |index| {
        hosts.lock().unwrap().push(index);
        NoHost
    };
    engine.decide_many(&vec![two_options(); 2], NonZeroUsize::MIN, host).await;
    assert_eq!(*hosts.lock().unwrap(), [0, 1]);
    assert!(engine.decide_many(&[], NonZeroUsize::MIN, |_| NoHost).await.is_empty());
}

#[tokio::test]
async fn there_may_be_very_many_options() {
    let ids: Vec<_> = (0..20_000).map(|number| format!("option {number}")).collect();
    let options: Vec<_> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let decision = decide(&json!([chosen("Option 19999")]), &request(&options)).await.unwrap();
    assert_eq!(decision.option.as_str(), "option 19999");
}
