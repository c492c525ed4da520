use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::{
    ErrorCode, GenerationOptions, ToolMode,
    schema::GenerationSchema,
    transcript::{Entry, Segment, Transcript, TranscriptView},
};

#[derive(Debug, Default, PartialEq)]
struct Heard {
    texts: Vec<String>,
    partials: Vec<Value>,
}

impl StepSink for Heard {
    fn text(&mut self, delta: &str) {
        self.texts.push(delta.into());
    }

    fn reset(&mut self, text: &str) {
        panic!("a script never takes back what it said, but now it says {text}");
    }

    fn partial(&mut self, value: Value) {
        self.partials.push(value);
    }
}

fn script(steps: &Value) -> Script {
    Script::from_json(&json!({ "steps": steps }), "model").unwrap()
}

fn request(transcript: TranscriptView) -> StepRequest {
    StepRequest {
        instructions: None,
        transcript,
        tools: Vec::new(),
        tool_mode: ToolMode::Allowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: true,
        cache_key: 0,
    }
}

fn structured_request() -> StepRequest {
    let schema =
        GenerationSchema::from_json_schema(&json!({"type": "object", "properties": {}}), "Response").unwrap();
    StepRequest { schema: Some(Arc::new(schema.schema)), ..request(TranscriptView::default()) }
}

async fn step(model: &ScriptedModel, request: StepRequest) -> (Result<StepOutcome, ModelError>, Heard) {
    let mut heard = Heard::default();
    let outcome = model.step(request, &mut heard).await;
    (outcome, heard)
}

/// Plays one step.
async fn play_one(steps: Value, request: StepRequest) -> (StepOutcome, Heard) {
    let (outcome, heard) = step(&ScriptedModel::new(script(&steps)), request).await;
    (outcome.unwrap(), heard)
}

async fn text_of(model: &ScriptedModel) -> String {
    match step(model, request(TranscriptView::default())).await.0.unwrap().content {
        StepContent::Text(text) => text,
        other => panic!("{other:?} is not a text"),
    }
}

/// A conversation whose last turn asked `prompt` and got these outputs.
fn conversation(prompt: &str, outputs: &[&str]) -> TranscriptView {
    let mut transcript = Transcript::default();
    transcript.push(Entry::prompt("an earlier prompt"));
    transcript.push(Entry::tool_output("earlier", "tool", "an earlier output"));
    transcript.push(Entry::response(Segment::text("an earlier answer")));
    transcript.push(Entry::prompt(prompt));
    for output in outputs {
        transcript.push(Entry::tool_output("call", "tool", *output));
    }
    transcript.view_from(0)
}

#[tokio::test]
async fn each_inference_takes_the_next_step_and_then_the_fallback() {
    let model = ScriptedModel::new(script(&json!([{"text": "one"}, {"text": "two"}])));
    for text in ["one", "two", "(script exhausted)", "(script exhausted)"] {
        assert_eq!(text_of(&model).await, text);
    }
    let value = json!({"steps": [], "fallback": {"text": "again"}});
    let model = ScriptedModel::new(Script::from_json(&value, "model").unwrap());
    assert_eq!(text_of(&model).await, "again");
    assert_eq!(text_of(&model).await, "again");
    assert_eq!(text_of(&ScriptedModel::new(Script::default())).await, "(script exhausted)");
}

#[tokio::test]
async fn two_models_of_one_script_do_not_share_steps() {
    let script = script(&json!([{"text": "one"}, {"text": "two"}]));
    let (a, b) = (ScriptedModel::new(script.clone()), ScriptedModel::new(script));
    assert_eq!(text_of(&a).await, "one");
    assert_eq!(text_of(&b).await, "one");
}

#[tokio::test]
async fn a_text_is_streamed_in_equal_pieces_of_whole_characters() {
    let cases: &[(&str, Value, &[&str], u64)] = &[
        ("abcdefg", json!(3), &["abc", "def", "g"], 3),
        ("abcdefg", json!(null), &["abc", "def", "g"], 3),
        ("abcdefg", json!(1), &["abcdefg"], 1),
        ("abc", json!(3), &["abc"], 1),
        ("abcd", json!(3), &["ab", "cd"], 2),
        ("ab", json!(500), &["ab"], 1),
        ("ab", json!(9_007_199_254_740_991_u64), &["ab"], 1),
        ("", json!(4), &[""], 1),
        ("a\r\nb\r\n", json!(2), &["a\r\n", "b\r\n"], 2),
        ("👩‍👩‍👧éá🇸🇪🇫🇮", json!(4), &["👩‍👩‍👧é", "á🇸🇪", "🇫🇮"], 3),
        ("0123456789abcdef", json!(2), &["01234567", "89abcdef"], 4),
    ];
    for (text, chunks, pieces, tokens) in cases {
        let steps = json!([{"text": text, "chunks": chunks}]);
        let (outcome, heard) = play_one(steps, request(TranscriptView::default())).await;
        assert_eq!(
            heard,
            Heard { texts: pieces.iter().map(ToString::to_string).collect(), partials: vec![] }
        );
        let usage = Usage { output_tokens: *tokens, ..Usage::default() };
        assert_eq!(outcome, StepOutcome { content: StepContent::Text((*text).into()), usage }, "{text}");
    }
}

#[tokio::test]
async fn json_is_one_piece_in_the_form_that_was_asked_for() {
    let value = json!({"b": 1.0, "a": [true, null]});
    let usage = Usage { output_tokens: 8, ..Usage::default() };

    let (outcome, heard) = play_one(json!([{"json": value}]), request(TranscriptView::default())).await;
    let text = r#"{"b":1,"a":[true,null]}"#;
    assert_eq!(outcome, StepOutcome { content: StepContent::Text(text.into()), usage });
    assert_eq!(heard, Heard { texts: vec![text.into()], partials: vec![] });

    let (outcome, heard) = play_one(json!([{"json": value}]), structured_request()).await;
    assert_eq!(outcome, StepOutcome { content: StepContent::Structured(value.clone()), usage });
    assert_eq!(heard, Heard { texts: vec![], partials: vec![value] });

    let (outcome, _) = play_one(json!([{"json": null, "template": "x"}]), structured_request()).await;
    assert_eq!(outcome.content, StepContent::Structured(Value::Null));
}

#[tokio::test]
async fn text_in_a_structured_step_streams_the_value_so_far() {
    let text = r#"{"mood": "calm", "line": "Hello"}"#;
    let (outcome, heard) = play_one(json!([{"text": text, "chunks": 4}]), structured_request()).await;
    assert_eq!(outcome.content, StepContent::Text(text.into()));
    let partials = vec![
        json!({}),
        json!({"mood": "calm"}),
        json!({"mood": "calm", "line": "H"}),
        json!({"mood": "calm", "line": "Hello"}),
    ];
    assert_eq!(heard, Heard { texts: vec![], partials });

    let (outcome, heard) = play_one(json!([]), structured_request()).await;
    assert_eq!(outcome.content, StepContent::Text("(script exhausted)".into()));
    assert_eq!(heard, Heard::default());
}

#[tokio::test]
async fn the_last_partial_is_the_whole_value_however_many_pieces() {
    let value = json!({"line": "x".repeat(10_000)});
    let (_, heard) =
        play_one(json!([{"text": value.to_string(), "chunks": 10_000}]), structured_request()).await;
    assert_eq!(heard.partials.last(), Some(&value));
}

#[tokio::test]
async fn tool_calls_keep_their_ids_or_get_new_ones() {
    let steps = json!([{"toolCalls": [
        {"name": "open_gate", "arguments": {"gate": "north"}, "id": "mine"},
        {"name": "wave"},
    ]}]);
    let (outcome, heard) = play_one(steps, request(TranscriptView::default())).await;
    assert_eq!(heard, Heard::default());
    assert_eq!(outcome.usage, Usage { output_tokens: 8, ..Usage::default() });
    let StepContent::ToolCalls(calls) = outcome.content else { panic!("no calls") };
    let open_gate = ModelToolCall {
        id: "mine".into(),
        name: "open_gate".into(),
        arguments: [("gate".to_owned(), json!("north"))].into_iter().collect(),
    };
    assert_eq!(calls[0], open_gate);
    assert_eq!((calls[1].name.as_str(), calls[1].arguments.len()), ("wave", 0));
    let random = calls[1].id.strip_prefix("scripted_call_1_").unwrap();
    assert!(random.len() == 8 && random.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{random}");
}

#[tokio::test]
async fn an_error_step_fails_with_its_code_and_message() {
    for code in ErrorCode::ALL {
        let model = ScriptedModel::new(script(
            &json!([{"error": code.as_str()}, {"error": code.as_str(), "message": "No."}]),
        ));
        for message in [format!("Scripted {code}."), "No.".into()] {
            let (outcome, heard) = step(&model, request(TranscriptView::default())).await;
            let error = outcome.unwrap_err();
            assert_eq!((error.code, error.message, error.retry_at), (code, message, None));
            assert_eq!(heard, Heard::default());
        }
    }
}

#[tokio::test]
async fn templates_are_filled_in_from_the_turn() {
    let cases = [
        ("{prompt}-{prompt} {other} {} {toolOutput}|{toolOutputs}", "Go", &[][..], "Go-Go {other} {} |"),
        ("[{toolOutput}] [{toolOutputs}]", "Go", &["a", "b"], "[b] [a\nb]"),
        ("{prompt}", "{toolOutput} {toolOutputs} {prompt}", &["a", "b"], "b a\nb {prompt}"),
        (
            "{toolOutputs}",
            "Go",
            &["{toolOutput}", "{prompt}{toolOutputs}"],
            "{prompt}{toolOutputs}\n{prompt}{toolOutputs}",
        ),
        ("{toolOutput}", "Go", &["{toolOutputs}"], "{toolOutputs}"),
        ("plain", "Go", &["a"], "plain"),
        ("{prompt}", "", &[], ""),
    ];
    for (template, prompt, outputs, text) in cases {
        let (outcome, _) =
            play_one(json!([{"template": template}]), request(conversation(prompt, outputs))).await;
        assert_eq!(outcome.content, StepContent::Text(text.into()), "{template}");
    }
}

#[tokio::test]
async fn templates_are_streamed_in_three_pieces() {
    let steps = json!([{"template": "{prompt}", "chunks": 1}, {"template": "[\"{prompt}\"]"}]);
    let model = ScriptedModel::new(script(&steps));
    let (_, heard) = step(&model, request(conversation("abcdef", &[]))).await;
    assert_eq!(heard.texts, ["ab", "cd", "ef"]);

    let structured = StepRequest { transcript: conversation("abcde", &[]), ..structured_request() };
    let (_, heard) = step(&model, structured).await;
    assert_eq!(heard.partials, [json!(["a"]), json!(["abcd"]), json!(["abcde"])]);
}

#[tokio::test]
async fn a_template_that_multiplies_fails() {
    let model = ScriptedModel::new(script(&json!([{"template": "{prompt}".repeat(100)}])));
    let prompt = "{toolOutputs}".repeat(1000);
    let output = "x".repeat(10_000);
    let (outcome, heard) = step(&model, request(conversation(&prompt, &[&output]))).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.code, ErrorCode::GenerationFailed);
    assert_eq!(error.message, "The script's template becomes longer than 64 MiB.");
    assert_eq!(heard, Heard::default());
}

#[tokio::test(start_paused = true)]
async fn a_step_waits_for_its_delay() {
    let model = ScriptedModel::new(script(&json!([{"text": "late", "delayMs": 600}])));
    let start = Instant::now();
    assert_eq!(text_of(&model).await, "late");
    assert_eq!(start.elapsed(), Duration::from_millis(600));
}

#[tokio::test(start_paused = true)]
async fn a_step_cancelled_in_its_delay_is_gone_and_says_nothing() {
    let model = ScriptedModel::new(script(&json!([{"text": "one", "delayMs": 600}, {"text": "two"}])));
    let mut heard = Heard::default();
    let cancelled = tokio::time::timeout(
        Duration::from_millis(1),
        model.step(request(TranscriptView::default()), &mut heard),
    );
    assert!(cancelled.await.is_err());
    assert_eq!(heard, Heard::default());
    assert_eq!(text_of(&model).await, "two");
}

#[tokio::test]
async fn an_inference_that_never_started_takes_no_step() {
    let model = ScriptedModel::new(script(&json!([{"text": "one"}])));
    drop(model.step(request(TranscriptView::default()), &mut Heard::default()));
    assert_eq!(text_of(&model).await, "one");
}

#[tokio::test]
async fn a_run_may_start_at_any_step() {
    let script = script(&json!([{"text": "one"}, {"text": "two"}]));
    for (position, texts) in [(1, ["two", "(script exhausted)"]), (9, ["(script exhausted)"; 2])] {
        let model = ScriptedModel::starting_at(script.clone(), position);
        assert_eq!([text_of(&model).await, text_of(&model).await], texts);
    }
}

#[test]
fn a_scripted_model_is_available_and_has_no_context_limit() {
    let model = ScriptedModel::new(Script::default());
    let availability =
        Availability { unavailable: None, context_size: 8192, variant: None, supported_languages: vec![] };
    assert_eq!(model.availability(), availability);
    assert_eq!(model.context_size(), None);

    let other = Availability { variant: Some("scripted (OAM_SCRIPT)".into()), ..availability };
    assert_eq!(ScriptedModel::with_availability(Script::default(), other.clone()).availability(), other);
}

#[test]
fn scripts_are_checked() {
    let kinds = "must have one of 'text', 'toolCalls', 'json', 'template', 'error'.";
    let steps = |step: Value| json!({ "steps": [{"text": "ok"}, step] });
    let call = |call: Value| json!({ "steps": [{"toolCalls": [{"name": "ok"}, call]}] });
    let cases = [
        (json!(5), "Parameter 'model' must be an object; got 5.".into()),
        (json!({"steps": "x"}), "Parameter 'model.steps' must be an array; got \"x\".".into()),
        (json!({"steps": {"text": "x"}}), "Parameter 'model.steps' must be an array; got {\"text\":\"x\"}.".into()),
        (json!({"fallback": []}), "Parameter 'model.fallback' must be an object; got [].".into()),
        (json!({"fallback": {}}), format!("Parameter 'model.fallback' {kinds}")),
        (steps(json!(null)), "Parameter 'model.steps[1]' must be an object; got null.".into()),
        (steps(json!("text")), "Parameter 'model.steps[1]' must be an object; got \"text\".".into()),
        (steps(json!({"dance": true, "text": null})), format!("Parameter 'model.steps[1]' {kinds}")),
        (steps(json!({"text": 5})), "Parameter 'model.steps[1].text' must be a string; got 5.".into()),
        (steps(json!({"text": "x", "chunks": 0})), "Parameter 'model.steps[1].chunks' must be at least 1.".into()),
        (steps(json!({"text": "x", "chunks": -3})), "Parameter 'model.steps[1].chunks' must be at least 1.".into()),
        (steps(json!({"text": "x", "chunks": 1.5})), "Parameter 'model.steps[1].chunks' must be an integer; got 1.5.".into()),
        (steps(json!({"text": "x", "chunks": "3"})), "Parameter 'model.steps[1].chunks' must be an integer; got \"3\".".into()),
        (
            steps(json!({"text": "x", "chunks": 9_007_199_254_740_992_u64})),
            "Parameter 'model.steps[1].chunks' must be an integer; got 9007199254740992.".into(),
        ),
        (steps(json!({"text": "x", "delayMs": -1})), "Parameter 'model.steps[1].delayMs' must be at least 0.".into()),
        (steps(json!({"text": "x", "delayMs": true})), "Parameter 'model.steps[1].delayMs' must be an integer; got true.".into()),
        (steps(json!({"template": {}})), "Parameter 'model.steps[1].template' must be a string; got {}.".into()),
        (steps(json!({"toolCalls": "x"})), "Parameter 'model.steps[1].toolCalls' must be an array; got \"x\".".into()),
        (steps(json!({"toolCalls": []})), "Parameter 'model.steps[1].toolCalls' must not be empty.".into()),
        (call(json!("x")), "Parameter 'model.steps[0].toolCalls[1]' must be an object; got \"x\".".into()),
        (call(json!({})), "Missing required parameter 'model.steps[0].toolCalls[1].name'.".into()),
        (call(json!({"name": 5})), "Parameter 'model.steps[0].toolCalls[1].name' must be a string; got 5.".into()),
        (
            call(json!({"name": "a", "arguments": [1]})),
            "Parameter 'model.steps[0].toolCalls[1].arguments' must be an object; got [1].".into(),
        ),
        (call(json!({"name": "a", "id": 5})), "Parameter 'model.steps[0].toolCalls[1].id' must be a string; got 5.".into()),
        (steps(json!({"error": 5})), "Parameter 'model.steps[1].error' must be a string; got 5.".into()),
        (
            steps(json!({"error": "parse_error"})),
            "Parameter 'model.steps[1].error' must be one of model_unavailable, guardrail_violation, refusal, \
             context_size_exceeded, rate_limited, unsupported_language, invalid_schema, tool_failed, cancelled, busy, \
             invalid_request, generation_failed; got \"parse_error\"."
                .into(),
        ),
        (steps(json!({"error": "busy", "message": 5})), "Parameter 'model.steps[1].message' must be a string; got 5.".into()),
    ];
    for (value, message) in cases {
        assert_eq!(Script::from_json(&value, "model").unwrap_err(), ScriptError { message });
    }
}

#[test]
fn the_first_member_that_tells_a_kind_decides() {
    let kind = |step: Value| format!("{:?}", script(&json!([step])).step(0).action);
    let cases = [
        (
            json!({"error": "busy", "template": "t", "json": 1, "toolCalls": [{"name": "a"}], "text": "x"}),
            "Text",
        ),
        (
            json!({"error": "busy", "template": "t", "json": 1, "toolCalls": [{"name": "a"}], "text": null}),
            "ToolCalls",
        ),
        (json!({"error": "busy", "template": "t", "json": 1}), "Json"),
        (json!({"error": "busy", "template": "t"}), "Template"),
        (json!({"error": "busy", "template": null}), "Error"),
    ];
    for (step, name) in cases {
        assert!(kind(step.clone()).starts_with(name), "{step}");
    }
}

#[test]
fn what_means_nothing_is_ignored() {
    let value = json!({
        "comment": "x", "fallback": null,
        "steps": [{"text": "hi", "note": "greeting", "delayMs": 3.0, "chunks": null}, {"json": 1, "chunks": "x"}],
    });
    let script = Script::from_json(&value, "model").unwrap();
    assert_eq!(script.step(0).delay, Duration::from_millis(3));
    assert_eq!(script.step(2), &Step::default());
    assert_eq!(Script::from_json(&json!({"steps": null}), "model").unwrap().step(0), &Step::default());
}

#[test]
fn a_script_file_may_be_a_bare_array() {
    for value in [json!([{"text": "a"}]), json!({"steps": [{"text": "a"}]})] {
        let script = Script::from_steps_or_object(&value, "").unwrap();
        assert!(matches!(&script.step(0).action, Action::Text { text, .. } if text == "a"));
    }
    for (value, message) in [
        (
            json!([{}]),
            "Parameter 'steps[0]' must have one of 'text', 'toolCalls', 'json', 'template', 'error'.",
        ),
        (json!({"fallback": 1}), "Parameter 'fallback' must be an object; got 1."),
        (json!("x"), "A script must be an array of steps or an object with 'steps'; got \"x\"."),
    ] {
        assert_eq!(Script::from_steps_or_object(&value, "").unwrap_err().message, message);
    }
}

proptest! {
    #[test]
    fn pieces_are_the_text(text in r"([a-z]|\r\n|é|👩‍👩‍👧|🇸🇪|\PC){0,40}", chunks in 1_usize..20) {
        let pieces: Vec<_> = Pieces::new(&text, chunks).collect();
        prop_assert!(pieces.len() <= chunks);
        prop_assert_eq!(pieces.iter().map(|(piece, _)| *piece).collect::<String>(), text.as_str());
        let characters: usize = pieces.iter().map(|(_, characters)| characters).sum();
        prop_assert_eq!(characters, text.graphemes(true).count());
    }
}

#[tokio::test]
async fn a_run_goes_on_from_its_position() {
    let steps = json!([{"text": "a"}, {"text": "b"}]);
    let model = ScriptedModel::new(script(&steps));
    assert_eq!(model.position(), 0);
    let _ = step(&model, request(TranscriptView::default())).await;
    let next = ScriptedModel::starting_at(script(&steps), model.position());
    let (outcome, _) = step(&next, request(TranscriptView::default())).await;
    assert_eq!(outcome.unwrap().content, StepContent::Text("b".into()));
}
