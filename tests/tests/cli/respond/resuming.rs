//! Going on with conversations, also of other programs.

use serde_json::{Value, json};

use super::respond;
use crate::run::oam;

fn conversation() -> Value {
    let tool = json!({"type": "function", "function": {"name": "look", "description": "Looks.",
        "parameters": {"title": "Look", "type": "object", "properties": {}, "required": [], "additionalProperties": false, "x-order": []}}});
    json!({"type": "FoundationModels.Transcript", "version": "1.1", "transcript": {"entries": [
        {"id": "i", "role": "instructions", "contents": [{"id": "i", "type": "text", "text": "You are Gorm."}], "tools": [tool]},
        {"id": "p", "role": "user", "contents": [{"id": "s", "type": "text", "text": "Hello!"}], "options": {}},
        {"id": "r", "role": "response", "contents": [{"id": "t", "type": "text", "text": "Hmph."}]},
    ]}})
}

#[test]
fn conversations_of_other_programs_go_on_with_their_tools_as_external_ones() {
    let alone = conversation();
    for file in [
        alone.clone(),
        json!({"transcript": alone.clone(), "modelName": "system"}),
        json!({"session": "gorm", "transcript": alone.clone()}),
    ] {
        let told = oam(["respond", "--resume", "c.json", "--save-transcript", "d.json", "Look!"])
            .file("c.json", file.to_string())
            .script(&json!([{"toolCalls": [{"name": "look", "id": "l"}]}]))
            .ends_with(10);
        assert_eq!(told.json()["calls"][0]["id"], "l");
        let saved = told.saved("d.json");
        let entries = &saved["transcript"]["transcript"]["entries"];
        assert_eq!(entries[0]["contents"][0]["text"], "You are Gorm.");
        assert_eq!(entries.as_array().unwrap().len(), 5);
        assert_eq!(saved["modelName"], "scripted");
        assert!(saved["oam"]["tools"][0].get("x-oam").is_none());
    }
}

#[test]
fn flags_replace_what_was_saved() {
    let told = oam([
        "respond",
        "--resume",
        "-",
        "--instructions",
        "You are Mira.",
        "--tool-json",
        r#"{"name":"go","description":"Goes."}"#,
        "--save-transcript",
        "d.json",
        "--json",
        "Hello!",
    ])
    .stdin(conversation().to_string())
    .script(&json!([{"text": "Hi."}]))
    .ends_with(0);
    assert_eq!(told.json()["steps"][0]["enabledTools"], json!(["go"]));
    let saved = told.saved("d.json");
    let setup = &saved["transcript"]["transcript"]["entries"][0];
    assert_eq!(setup["contents"][0]["text"], "You are Mira.");
    assert_eq!(setup["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn the_saved_tools_work_from_anywhere() {
    let told = respond(["--tools", "tools.json", "--save-transcript", "deep/er/c.json", "Hi"])
        .script(&json!([{"text": "Hi."}]))
        .ends_with(0);
    let path = told.path("deep/er/c.json").to_str().unwrap().to_owned();
    let elsewhere = oam(["respond", "--resume", &path, "Paris?"])
        .script(&json!([super::weather(), {"template": "{toolOutput}"}]))
        .ends_with(0);
    assert!(elsewhere.stdout.contains("\"temperature_c\":14"), "{elsewhere:?}");
}

#[test]
fn a_file_that_is_no_conversation_is_refused_by_name() {
    for (content, part) in [
        ("{}", "not a transcript"),
        ("[1", "is not JSON at byte 1"),
        (r#"{"transcript": {"type": "FoundationModels.Transcript", "version": "9"}}"#, "version"),
    ] {
        let told =
            oam(["respond", "--resume", "c.json", "Hi", "--json"]).file("c.json", content).ends_with(2);
        let (code, message) = told.error();
        assert_eq!(code, "invalid_input");
        assert!(message.starts_with("c.json: ") && message.contains(part), "{message}");
    }
    assert_eq!(
        oam(["respond", "--resume", "nowhere.json", "Hi", "--json"]).ends_with(2).error().0,
        "invalid_input"
    );
}
