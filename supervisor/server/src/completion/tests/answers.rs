//! Answers that are not streamed.

use oam_agent::{
    ImageFormat,
    transcript::{EntryContent, SegmentContent},
};
use serde_json::json;

use super::kit::*;

#[tokio::test]
async fn an_answer_has_the_form_that_clients_know() {
    let model = scripted(&json!([{"text": "Hello there, traveller.", "chunks": 4}]));
    let body = json!({"model": "gpt-4o-mini", "messages": [
        {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"},
    ]});
    let mut answer = ask(&server(model.clone()), body).await.unwrap();
    let id = answer["id"].take();
    let id = id.as_str().unwrap().strip_prefix("chatcmpl-").unwrap();
    assert!(id.len() == 29 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert!(answer["created"].take().as_u64().unwrap() > 1_700_000_000);
    let tokens = answer["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(tokens > 0);
    assert_eq!(
        answer,
        json!({
            "id": null, "object": "chat.completion", "created": null, "model": "system", "system_fingerprint": "fp_oam",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "Hello there, traveller.", "refusal": null, "annotations": []},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": 0, "completion_tokens": tokens, "total_tokens": tokens,
                "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0},
            },
        })
    );
    assert_eq!(model.request(0).instructions.as_deref(), Some("Be kind."));
}

#[tokio::test]
async fn the_model_sees_what_was_said_before() {
    let model = scripted(&json!([{"text": "Three"}]));
    let body = json!({"messages": [
        {"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}, {"role": "user", "content": "And?"},
    ]});
    ask(&server_with(model.clone(), |config| config.instructions = Some("Count.".into())), body)
        .await
        .unwrap();
    let request = model.request(0);
    assert_eq!(request.instructions.as_deref(), Some("Count."));
    assert_eq!(request.transcript.last_prompt_text(), "And?");
    let kinds: Vec<_> = request
        .transcript
        .iter()
        .map(|entry| match entry.content {
            EntryContent::Prompt(_) => "prompt",
            EntryContent::Response(_) => "response",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["prompt", "response", "prompt"]);
}

#[tokio::test]
async fn instructions_of_server_client_and_format_come_in_this_order() {
    let model = scripted(&json!([{"text": "{}"}]));
    let body = json!({
        "messages": [{"role": "system", "content": "Client."}, {"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"},
    });
    let server = server_with(model.clone(), |config| config.instructions = Some("Server.".into()));
    ask(&server, body).await.unwrap();
    let instructions = model.request(0).instructions.unwrap();
    assert!(instructions.starts_with("Server.\n\nClient.\n\n"), "{instructions}");
    assert!(instructions.contains("valid JSON object"), "{instructions}");
}

#[tokio::test]
async fn a_schema_shapes_the_answer() {
    let model = scripted(&json!([{"json": {"intensity": 3, "mood": "grim"}}, {"text": "{\"intensity\":1}"}]));
    let schema = json!({
        "type": "object", "properties": {"mood": {"type": "string"}, "intensity": {"type": "integer"}},
        "required": ["mood", "intensity"], "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "mood_report", "strict": true, "schema": schema}});
    let server = server(model.clone());
    let answer = ask(&server, hi(json!({"response_format": format, "stop": "grim"}))).await.unwrap();
    assert_eq!(message(&answer)["content"], r#"{"mood":"grim","intensity":3}"#);
    assert_eq!(model.request(0).schema.unwrap().name(), "mood_report");

    let unfit = ask(&server, hi(json!({"response_format": format}))).await.unwrap_err();
    assert_eq!((unfit.status, unfit.code), (500, None));
}

#[tokio::test]
async fn an_object_is_taken_out_of_what_surrounds_it() {
    for (text, object) in [
        (r#"{"a": "X"}"#, Some(r#"{"a": "X"}"#)),
        ("```json\n{\"a\": \"X\"}\n```", Some(r#"{"a": "X"}"#)),
        (r#"Here you are: {"a": "X"}. Anything else?"#, Some(r#"{"a": "X"}"#)),
        ("[1, 2]", None),
        ("I would rather not.", None),
    ] {
        let server = server(scripted(&json!([{"text": text}])));
        let answer = ask(&server, hi(json!({"response_format": {"type": "json_object"}, "stop": "X"}))).await;
        let content = answer.map(|answer| message(&answer)["content"].clone());
        let content = content.map_err(|error| (error.status, error.code));
        let expected = object.map(|object| json!(object)).ok_or((500, Some("invalid_json_output")));
        assert_eq!(content, expected, "{text}");
    }
}

#[tokio::test]
async fn a_stop_cuts_the_answer() {
    let model = scripted(
        &json!([{"text": "One, two END three STOP four", "chunks": 8}, {"text": "Nothing of the kind"}]),
    );
    let server = server(model);
    let body = hi(json!({"stop": ["STOP", "END"]}));
    let answer = ask(&server, body.clone()).await.unwrap();
    assert_eq!((&message(&answer)["content"], finish_reason(&answer)), (&json!("One, two "), "stop"));
    // Characters by four, rounded up: `Hi` and nine of the answer.
    assert_eq!(
        (&answer["usage"]["prompt_tokens"], &answer["usage"]["completion_tokens"]),
        (&json!(1), &json!(3))
    );
    let answer = ask(&server, body).await.unwrap();
    assert_eq!(message(&answer)["content"], "Nothing of the kind");
}

#[tokio::test]
async fn stops_are_one_text_or_some() {
    let text = "One END two X three";
    for (stop, cut) in
        [(json!(["END", ""]), "One "), (json!("X"), "One END two "), (json!(""), text), (json!(null), text)]
    {
        let answer =
            ask(&server(scripted(&json!([{"text": text}]))), hi(json!({"stop": stop}))).await.unwrap();
        assert_eq!(message(&answer)["content"], cut, "{stop}");
    }
}

#[tokio::test]
async fn a_stop_ends_the_step() {
    let model = teller([vec![Act::Say("One END"), Act::Hang]]);
    let answer = ask(&server(model), hi(json!({"stop": "END"}))).await.unwrap();
    assert_eq!(message(&answer)["content"], "One ");
}

#[tokio::test]
async fn an_answer_of_the_longest_length_was_cut() {
    let text = "x".repeat(40);
    for (limit, finish) in
        [(json!({"max_tokens": 10}), "length"), (json!({"max_completion_tokens": 100}), "stop")]
    {
        let server = server(scripted(&json!([{"text": text, "chunks": 1}])));
        let answer = ask(&server, hi(limit)).await.unwrap();
        assert_eq!((finish_reason(&answer), &answer["usage"]["completion_tokens"]), (finish, &json!(10)));
    }
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let model = scripted(&json!([{"error": "refusal", "message": "I will not."}]));
    let answer = ask(&server(model), hi(json!({}))).await.unwrap();
    assert_eq!(message(&answer)["content"], json!(null));
    assert_eq!((&message(&answer)["refusal"], finish_reason(&answer)), (&json!("I will not."), "stop"));
}

#[tokio::test]
async fn the_usage_is_what_the_model_tells() {
    let model = teller([vec![Act::Answer("Yes.")]]);
    let usage = &ask(&server(model), hi(json!({}))).await.unwrap()["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(11), &json!(7)));
    assert_eq!(
        (&usage["total_tokens"], &usage["prompt_tokens_details"]["cached_tokens"]),
        (&json!(18), &json!(5))
    );
}

#[tokio::test]
async fn images_are_files_while_the_model_looks_at_them() {
    const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";
    let image = json!({"type": "image_url", "image_url": {"url": PNG}});
    let body = json!({"messages": [
        {"role": "user", "content": [image]}, {"role": "assistant", "content": "A dot."},
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, image]},
    ]});
    let model = scripted(&json!([{"text": "Two dots.", "delayMs": 1000}]));
    let server = server(model.clone());
    let asking = tokio::spawn({
        let (server, body) = (server.clone(), body.clone());
        async move { ask(&server, body).await }
    });
    while model.times_asked() == 0 {
        tokio::task::yield_now().await;
    }
    let paths: Vec<_> = model
        .request(0)
        .transcript
        .iter()
        .filter_map(|entry| match &entry.content {
            EntryContent::Prompt(prompt) => match &prompt.segments[0].content {
                SegmentContent::Attachment(image) => Some(image["url"].as_str().unwrap().to_owned()),
                _ => None,
            },
            _ => None,
        })
        .map(|url| std::path::PathBuf::from(url.strip_prefix("file://").unwrap()))
        .collect();
    assert_eq!(paths.len(), 2);
    for path in &paths {
        assert_eq!(ImageFormat::of(&std::fs::read(path).unwrap()), Some(ImageFormat::Png));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::fs::metadata(paths[0].parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }
    asking.await.unwrap().unwrap();
    assert!(paths.iter().all(|path| !path.exists() && !path.parent().unwrap().exists()));

    let blind = teller([]);
    let error = ask(&super::kit::server(blind), body).await.unwrap_err();
    assert_eq!((error.status, error.code, error.param.as_deref()), (400, None, Some("messages[0].content")));
}
