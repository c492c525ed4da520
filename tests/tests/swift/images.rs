//! Images of prompts, which reach the model as files.

use std::fs;

use assert_cmd::Command;
use oam_tests::{DEADLINE, oam_command};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What begins like a PNG is an image to the stand-in.
const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

/// One `oam respond` with JSON output, in a folder that it can be asked in again.
struct Asked {
    folder: TempDir,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Asked {
    /// What it was told, or why not.
    fn json(&self) -> Value {
        let said = if self.code == Some(0) { &self.stdout } else { &self.stderr };
        serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("the gate.png"), IMAGE).unwrap();
    folder
}

fn ask(folder: TempDir, settings: &Value, arguments: &[&str]) -> Asked {
    let worker = std::env::var("OAM_SWIFT_WORKER").expect("OAM_SWIFT_WORKER names a worker on the stand-in");
    let output = Command::from_std(oam_command())
        .args(["respond", "--json", "--no-stdin", "--worker", &worker])
        .args(arguments)
        .current_dir(folder.path())
        .env("OAM_WORKER_STANDIN", settings.to_string())
        .timeout(DEADLINE)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Asked { folder, code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn seeing() -> Value {
    json!({"fallback": {"template": "{images}: {prompt}"}})
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn the_model_is_shown_the_images_of_the_prompt() {
    let asked =
        ask(folder(), &seeing(), &["What is it?", "--image", "the gate.png", "--image", "./the gate.png"]);
    assert_eq!(asked.json()["text"], "the gate.png, the gate.png: What is it?");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_conversation_goes_on_when_an_image_of_it_is_gone() {
    let first = ask(
        folder(),
        &seeing(),
        &["What is it?", "--image", "the gate.png", "--save-transcript", "conversation.json"],
    );
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    fs::remove_file(first.folder.path().join("the gate.png")).unwrap();
    let asked = ask(first.folder, &seeing(), &["Is it shut?", "--resume", "conversation.json"]);
    assert_eq!(asked.json()["text"], ": Is it shut?");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_model_that_cannot_see_is_shown_none() {
    let mut settings = seeing();
    settings["vision"] = json!(false);
    let asked = ask(folder(), &settings, &["What is it?", "--image", "the gate.png"]);
    let error = &asked.json()["error"];
    assert_eq!((asked.code, &error["code"]), (Some(2), &json!("invalid_request")), "{error}");
}
