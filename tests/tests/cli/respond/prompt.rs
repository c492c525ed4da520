//! Where the prompt comes from.

use serde_json::json;

use super::respond;
use crate::run::Run;

fn prompt_of(run: Run) -> String {
    run.script(&json!([{"template": "{prompt}"}])).ends_with(0).stdout
}

#[test]
fn words_are_joined_and_piped_text_is_appended() {
    assert_eq!(prompt_of(respond(["Good", "day,", "Gorm."])), "Good day, Gorm.\n");
    assert_eq!(prompt_of(respond(["--no-stream"]).stdin("From a pipe.\n\n")), "From a pipe.\n");
    assert_eq!(prompt_of(respond(["Summarize:"]).stdin("a\nb\r\n")), "Summarize:\n\na\nb\n");
    assert_eq!(prompt_of(respond(["Hello!"]).stdin("\n")), "Hello!\n");
    assert_eq!(prompt_of(respond(["Hello!", "--no-stdin"]).stdin("more")), "Hello!\n");
    assert_eq!(prompt_of(respond(["--", "--json"])), "--json\n");
}

#[test]
fn instructions_come_from_the_flag() {
    let saved = |run: Run| {
        let told = run.script(&json!([{"text": "Hi."}])).ends_with(0);
        let file = told.saved("c.json");
        file["transcript"]["transcript"]["entries"][0].clone()
    };
    let entry = saved(respond(["Hello!", "-i", "You are Gorm.", "--save-transcript", "c.json"]));
    assert_eq!(
        (&entry["role"], &entry["contents"][0]["text"]),
        (&json!("instructions"), &json!("You are Gorm."))
    );
}

#[test]
fn generation_flags_reach_the_model() {
    let told = respond([
        "Hi",
        "--temperature",
        "0.5",
        "--max-tokens",
        "20",
        "--greedy",
        "--save-transcript",
        "c.json",
    ])
    .script(&json!([{"text": "Hi."}]))
    .ends_with(0);
    let file = told.saved("c.json");
    let options = &file["transcript"]["transcript"]["entries"][0]["options"];
    assert_eq!(*options, json!({"temperature": 0.5, "maximumResponseTokens": 20}));
}

/// As much of an image as is looked at here.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[test]
fn a_file_that_is_no_image_is_told_apart_before_the_model_is_asked() {
    for content in ["", "{}", "RIFF\0\0\0\0WAVE"] {
        let run = respond(["--image", "a.png", "What is it?", "--json"]).file("a.png", content);
        let (code, message) = run.script(&json!([{"text": "A gate."}])).ends_with(2).error();
        assert_eq!(code, "invalid_input");
        assert!(message.contains("a.png: is no image that is known here"), "{message}");
    }
}

#[test]
fn a_model_that_cannot_see_is_shown_no_image() {
    let worker = format!("{} worker scripted", oam_tests::oam_binary().display());
    let run = respond(["--image", "a.png", "What is it?", "--json", "--worker", &worker]).file("a.png", PNG);
    let (code, message) = run.ends_with(2).error();
    assert_eq!((code.as_str(), message.as_str()), ("invalid_request", "The model cannot do with images."));
}

#[test]
fn images_come_before_the_text() {
    let told = respond(["--image", "a b.png", "--image", "./c.png", "--save-transcript", "t.json"])
        .file("a b.png", PNG)
        .file("c.png", PNG)
        .stdin("")
        .script(&json!([{"text": "A gate."}]))
        .ends_with(0);
    let file = told.saved("t.json");
    let contents = file["transcript"]["transcript"]["entries"][0]["contents"].as_array().unwrap().clone();
    assert_eq!(contents.len(), 3);
    assert!(contents[0]["url"].as_str().unwrap().starts_with("file:///"));
    assert!(contents[0]["url"].as_str().unwrap().ends_with("/a%20b.png"));
    assert_eq!((&contents[0]["type"], &contents[2]["text"]), (&json!("image"), &json!("")));
}

#[test]
fn an_image_is_a_file() {
    for name in [".", "/dev/null", "nowhere.png"] {
        let (code, message) = respond(["--image", name, "--json", "What is it?"]).ends_with(2).error();
        assert_eq!(code, "invalid_input");
        assert!(message.contains(name.trim_start_matches('.')), "{message}");
    }
    let told = respond(["Hello!"]).script(&json!([])).ends_with(0);
    nix::unistd::mkfifo(&told.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Nobody writes to the pipe: to open it would be to wait for ever.
    let (_, message) =
        told.then(["respond", "--image", "pipe", "--json", "What is it?"]).ends_with(2).error();
    assert!(message.ends_with("/pipe: is not a file"), "{message}");
}

#[test]
fn a_model_that_cannot_see_is_not_shown_images() {
    let worker = |flag: &str| format!("{} worker scripted {flag}", oam_tests::oam_binary().display());
    let ask = |flag: &str| {
        respond(["What is it?", "--image", "a.png", "--json", "--worker", &worker(flag)]).file("a.png", PNG)
    };
    ask("--images").ends_with(0);
    let (code, message) = ask("").ends_with(2).error();
    assert_eq!(code, "invalid_request");
    assert!(message.contains("images"), "{message}");
}
