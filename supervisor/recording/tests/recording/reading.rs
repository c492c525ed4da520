//! What is said of files that cannot be used.

use oam_recording::Recording;
use serde_json::{Value, json};

#[test]
fn a_script_is_no_recording() {
    for file in [json!([{"text": "Hello"}]), json!({"steps": [{"text": "Hello"}]}), json!(7)] {
        assert!(Recording::from_json(&file).unwrap().is_none(), "{file}");
    }
}

#[test]
fn an_empty_recording_will_do() {
    assert!(Recording::from_json(&json!({"recording": {"version": 1}})).unwrap().is_some());
}

#[test]
fn errors_name_the_place() {
    let step = |step: Value| json!({"version": 1, "sessions": [{"session": "a", "steps": [step]}]});
    let key = json!({"turn": "0123456789abcdef"});
    let cases = [
        (json!(7), "'recording.version': invalid type: integer `7`, expected struct Version."),
        (json!({}), "'recording.version': missing field `version`."),
        (
            json!({"version": 2}),
            "'recording.version': is 2; this version of oam reads recordings up to version 1.",
        ),
        (
            json!({"version": 1, "sessions": 7}),
            "'recording.sessions': invalid type: integer `7`, expected a sequence.",
        ),
        (json!({"version": 1, "npcs": [{"steps": []}]}), "'recording.npcs[0]': missing field `npc`."),
        (
            step(json!({"key": {"turn": "xyz"}, "text": "Hi"})),
            "'recording.sessions[0].steps[0].key.turn': must be 16 hexadecimal digits.",
        ),
        (
            step(json!({"key": key})),
            "'recording.sessions[0].steps[0]': must have one of 'text', 'json', 'toolCalls', 'error', 'unfinished' (true).",
        ),
        (
            step(json!({"key": key, "text": "Hi", "unfinished": true})),
            "'recording.sessions[0].steps[0]': must have one of 'text', 'json', 'toolCalls', 'error', 'unfinished' (true).",
        ),
        (
            step(json!({"key": key, "error": "refusal", "retryAfterSeconds": -1})),
            "'recording.sessions[0].steps[0]': 'retryAfterSeconds' must be a number of seconds, at least 0.",
        ),
    ];
    for (recording, message) in cases {
        let error = Recording::from_json(&json!({"recording": recording})).unwrap_err();
        assert_eq!(error.message, message);
    }
}

#[test]
fn the_script_of_the_file_is_read_too() {
    let file = json!({"recording": {"version": 1}, "fallback": {"chunks": 3}});
    let error = Recording::from_json(&file).unwrap_err();
    assert_eq!(
        error.message,
        "Parameter 'fallback' must have one of 'text', 'toolCalls', 'json', 'template', 'error'."
    );
}
