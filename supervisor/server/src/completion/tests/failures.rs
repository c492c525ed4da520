//! What a client hears when it does not get an answer.

use std::time::{Duration, SystemTime};

use oam_agent::{ErrorCode, ModelError, UnavailableModel, UnavailableReason};
use serde_json::json;

use super::kit::*;
use crate::ErrorKind;

#[tokio::test]
async fn a_request_that_cannot_be_used_never_reaches_the_model() {
    let calls = json!([{"id": "a", "function": {"name": "look"}}, {"id": "b", "function": {"name": "look"}}]);
    let user = json!({"role": "user", "content": "Hi"});
    let messages = |rest: &[serde_json::Value]| {
        let messages = [std::slice::from_ref(&user), rest].concat();
        json!({"messages": messages})
    };
    let output = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let cases = [
        (hi(json!({"model": "nope"})), 404, "model_not_found"),
        (messages(&[json!({"role": "assistant", "content": "Yes"})]), 400, "invalid_last_message"),
        (messages(&[output("x")]), 400, "unknown_tool_call_id"),
        (
            messages(&[json!({"role": "assistant", "tool_calls": calls}), output("a")]),
            400,
            "missing_tool_output",
        ),
        (hi(json!({"n": 3})), 400, "invalid_value"),
    ];
    let model = scripted(&json!([]));
    let server = server(model.clone());
    for (body, status, code) in cases {
        let error = ask(&server, body).await.unwrap_err();
        assert_eq!((error.status, error.code, error.kind), (status, Some(code), ErrorKind::InvalidRequest));
        assert!(!error.message.is_empty());
    }
    for no_json in ["{oops", r#"{"messages":[{"role":"user","content":"Hi"}],"seed":1e400}"#] {
        assert_eq!(server.chat(no_json.into()).await.unwrap_err().code, Some("invalid_json"), "{no_json}");
    }
    assert_eq!(model.times_asked(), 0);
}

#[tokio::test]
async fn failures_of_the_model_have_their_codes() {
    use ErrorKind::{InvalidRequest, RateLimit, Server};
    let cases = [
        (ErrorCode::ModelUnavailable, 503, Server, Some("model_unavailable"), None, Some(30)),
        (ErrorCode::GuardrailViolation, 400, InvalidRequest, Some("content_filter"), Some("messages"), None),
        (
            ErrorCode::ContextSizeExceeded,
            400,
            InvalidRequest,
            Some("context_length_exceeded"),
            Some("messages"),
            None,
        ),
        (ErrorCode::RateLimited, 429, RateLimit, Some("rate_limited"), None, Some(1)),
        (
            ErrorCode::UnsupportedLanguage,
            400,
            InvalidRequest,
            Some("unsupported_language"),
            Some("messages"),
            None,
        ),
        (ErrorCode::InvalidSchema, 400, InvalidRequest, Some("invalid_schema"), None, None),
        (ErrorCode::ToolFailed, 500, Server, Some("tool_failed"), None, None),
        (ErrorCode::Cancelled, 500, Server, Some("cancelled"), None, None),
        (ErrorCode::Busy, 503, Server, Some("busy"), None, Some(1)),
        (ErrorCode::InvalidRequest, 400, InvalidRequest, None, None, None),
        (ErrorCode::GenerationFailed, 500, Server, None, None, None),
    ];
    for (failure, status, kind, code, param, retry_after) in cases {
        let server = server(scripted(&json!([{"error": failure.as_str(), "message": "No luck."}])));
        let error = ask(&server, hi(json!({}))).await.unwrap_err();
        assert_eq!(
            (error.status, error.kind, error.code, error.retry_after),
            (status, kind, code, retry_after)
        );
        assert_eq!((error.param.as_deref(), &*error.message), (param, "No luck."));
    }
}

#[tokio::test]
async fn a_rate_limit_tells_when_it_ends() {
    let mut limited = ModelError::new(ErrorCode::RateLimited, "Slowly.");
    limited.retry_at = Some(SystemTime::now() + Duration::from_secs(30));
    let error = ask(&server(teller([vec![Act::Fail(limited)]])), hi(json!({}))).await.unwrap_err();
    assert!((29..=30).contains(&error.retry_after.unwrap()), "{error:?}");
}

#[tokio::test]
async fn a_model_that_is_unavailable_is_not_asked() {
    let model = UnavailableModel::new(UnavailableReason::ModelNotReady, "");
    let server = server(std::sync::Arc::new(model));
    let error = ask(&server, hi(json!({}))).await.unwrap_err();
    assert_eq!((error.status, error.code, error.retry_after), (503, Some("model_unavailable"), Some(30)));
    assert!(error.message.contains("model_not_ready"), "{}", error.message);
    // What is wrong with the request is told first.
    assert_eq!(ask(&server, hi(json!({"n": 2}))).await.unwrap_err().status, 400);
}

#[tokio::test]
async fn passing_failures_are_tried_once_more() {
    let steps = json!([{"error": "generation_failed"}, {"text": "Now."}, {"error": "guardrail_violation"}]);
    let model = scripted(&steps);
    let server = server_with(model.clone(), |config| config.limits.retries = 1);
    assert_eq!(message(&ask(&server, hi(json!({}))).await.unwrap())["content"], "Now.");
    ask(&server, hi(json!({}))).await.unwrap_err();
    assert_eq!(model.times_asked(), 3);
}
