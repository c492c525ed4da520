//! The other ways to play a step, for systems where the direct one is not to be had (docs/SWIFT-WORKER.md, section 2).

use oam_tests::{
    pool::types,
    script::{calls, template, text, tool},
};
use serde_json::json;

use crate::{standing_in, swift};

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn where_events_cannot_be_read_tools_are_called_all_the_same() {
    let mut pool = standing_in(&json!({"events": "sealed"})).flags(&["--log-level", "warning"]).start();
    let both = calls(&[("look", json!({"what": "north"})), ("look", json!({"what": "south"}))]);
    pool.play_with("a", [both, template("I see {toolOutputs}.")], json!({"tools": [tool("look")]}));
    pool.answer_tools(|call| oam_tests::Reply::Output(json!(format!("the {}", call.arguments["what"]))));
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result["text"], "I see the \"north\"\nthe \"south\".");
    assert_eq!(types(&events).iter().filter(|kind| **kind == "text").count(), 1, "it comes whole");
    assert!(pool.stderr().contains("answers come as a whole"), "{}", pool.stderr());
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn events_with_one_level_more_are_read_and_streamed() {
    let mut pool = standing_in(&json!({"events": "wrapped"})).start();
    pool.play("a", [json!({"text": "The gate is shut.", "chunks": 3})]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result["text"], "The gate is shut.");
    assert_eq!(types(&events), ["modelStep", "text", "text", "text"]);
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn by_sessions_there_are_answers_and_no_tools() {
    let mut pool = swift().environment("OAM_WORKER_STEP_PATH", "session").start();
    pool.play_with("a", [text("Well."), text("Well?")], json!({"tools": [tool("look")]}));
    assert_eq!(pool.turn_with("a", "x", json!({"toolChoice": "none"}))["text"], "Well.");
    let turn = pool.start_turn("a", "x");
    assert_eq!(pool.wait_fails(&turn).name, "model_unavailable");
}
