//! A model that fails, or cannot be asked, does so in the protocol's words.

use std::fs;

use oam_tests::{
    pool::Pool,
    script::{error, text, tool},
};
use serde_json::{Value, json};

use crate::{standing_in, swift};

const GENERATIVE: &str = "com.apple.GenerativeFunctionsFoundation.GenerativeError";

/// An error without a type that the framework knows, and what caused it.
fn untyped(domain: &str, code: i64) -> Value {
    json!({"nsError": {"domain": "Outer", "code": -1, "underlying": [{"domain": domain, "code": code}]}})
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn every_failure_has_its_code() {
    let mut pool = swift().start();
    for (step, code) in [
        (error("refusal"), "refusal"),
        (error("guardrail_violation"), "guardrail_violation"),
        (error("unsupported_language"), "unsupported_language"),
        (error("invalid_schema"), "invalid_schema"),
        (error("context_size_exceeded"), "context_size_exceeded"),
        (error("model_unavailable"), "model_unavailable"),
        (error("generation_failed"), "generation_failed"),
        (json!({"legacyError": "guardrailViolation"}), "guardrail_violation"),
        (json!({"legacyError": "exceededContextWindowSize"}), "context_size_exceeded"),
        (untyped(GENERATIVE, 4_050_000), "context_size_exceeded"),
        (untyped(GENERATIVE, 1_020_000), "model_unavailable"),
        (untyped("Unheard", 7), "generation_failed"),
    ] {
        let what = step.to_string();
        pool.play("a", [step]);
        let turn = pool.start_turn("a", "x");
        assert_eq!(pool.wait_fails(&turn).name, code, "{what}");
        pool.ok("session/delete", json!({"session": "a"}));
    }
    assert_eq!(pool.crashes(), json!({}), "no worker died of it");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_rate_limit_tells_how_long_to_wait() {
    let mut pool = swift().start();
    pool.play("a", [json!({"error": "rate_limited", "retryAfterSeconds": 3600})]);
    let turn = pool.start_turn("a", "x");
    let error = pool.wait_fails(&turn);
    let wait = error.data["retryAfterSeconds"].as_f64().unwrap();
    assert!(error.name == "rate_limited" && (3000.0..=3600.0).contains(&wait), "{error:?}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn what_is_not_known_is_told_as_it_came() {
    let mut pool = swift().start();
    pool.play("a", [untyped("Unheard", 7)]);
    let turn = pool.start_turn("a", "x");
    let data = pool.wait_fails(&turn).data;
    assert!(data.to_string().contains("Unheard"), "{data}");
}

/// A pool whose model plays these steps, which no variable would hold.
fn playing_from_a_file(steps: &Value) -> Pool {
    let setup = swift();
    let script = setup.path("script.json");
    fs::write(&script, steps.to_string()).unwrap();
    setup.environment("OAM_WORKER_STANDIN", script.to_str().unwrap()).start()
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn an_answer_that_is_too_long_fails_its_turn_and_kills_no_worker() {
    let long = "x".repeat((1 << 20) + 1);
    for step in [
        text(&long),
        json!({"replacements": ["short", long]}),
        json!({"toolCalls": [{"name": long, "arguments": {}}]}),
        json!({"toolCalls": [{"name": long, "argumentsText": "no JSON"}]}),
        json!({"toolCalls": [{"name": "look", "id": long, "arguments": {}}]}),
    ] {
        let mut pool = playing_from_a_file(&json!([step, step, step]));
        pool.open("a", json!({"tools": [tool("look")]}));
        let turn = pool.start_turn_with("a", "x", json!({"stream": true}));
        assert_eq!(pool.wait_fails(&turn).name, "generation_failed");
        assert_eq!((pool.counter("violations"), pool.crashes()), (0, json!({})));
    }
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn an_answer_of_many_small_parts_is_no_longer_than_its_json() {
    let answer = json!({"marks": vec![7; 500_000]});
    let mut pool = playing_from_a_file(&json!([{"json": answer, "chunks": 4}]));
    pool.open("a", json!({}));
    let schema = json!({"type": "object", "required": ["marks"], "properties":
        {"marks": {"type": "array", "items": {"type": "integer"}}}});
    let result = pool.turn_with("a", "x", json!({"schema": schema, "stream": true}));
    assert_eq!(result["structured"], answer);
    assert_eq!(pool.counter("violations"), 0);
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_model_that_is_not_there_is_unavailable() {
    let mut pool = standing_in(&json!({"availability": "appleIntelligenceNotEnabled"})).start();
    pool.when_ready(2);
    pool.play("a", [text("never said")]);
    let turn = pool.start_turn("a", "x");
    assert_eq!(pool.wait_fails(&turn).name, "model_unavailable");
    let model = pool.ok("initialize", json!({}))["model"].clone();
    assert_eq!(model["available"], false, "{model}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_long_conversation_is_fitted_into_a_small_context() {
    let mut pool = standing_in(&json!({"contextSize": 400})).start();
    pool.when_ready(2);
    pool.open("a", json!({}));
    for turn in 0..20 {
        let prompt = format!("Turn {turn} {}", "and ".repeat(30));
        assert_eq!(pool.turn("a", &prompt)["text"], format!("You say: {prompt}"));
    }
    assert_eq!(pool.entries("a").len(), 2 * 20);
}
