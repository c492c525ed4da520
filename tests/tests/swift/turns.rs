//! Sessions: what the model says, calls and answers reaches the game as the protocol has it.

use oam_tests::{
    Reply,
    pool::types,
    script::{calls, template, text, tool},
};
use serde_json::{Value, json};

use crate::swift;

fn deltas(events: &[Value]) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "text").map(|event| &event["delta"]);
    deltas.map(|delta| delta.as_str().unwrap()).collect()
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn an_answer_is_streamed_as_the_model_says_it() {
    let mut pool = swift().start();
    let spoken = json!({"text": "Die Brücke fällt. 🌉 Go back!", "chunks": 4, "usage":
        {"input": 40, "cached": 30, "output": 9}});
    pool.play("a", [spoken.clone(), spoken]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(types(&events), ["modelStep", "text", "text", "text", "text"]);
    assert_eq!(
        (&result["text"], deltas(&events)),
        (&json!("Die Brücke fällt. 🌉 Go back!"), deltas(&events))
    );
    assert_eq!(deltas(&events), "Die Brücke fällt. 🌉 Go back!");
    assert_eq!(
        result["usage"],
        json!({"inputTokens": 40, "cachedInputTokens": 30, "outputTokens": 9, "totalTokens": 49})
    );
    assert_eq!(pool.turn("a", "y")["text"], result["text"], "not streamed it is the same");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_text_that_takes_the_place_of_another_starts_over() {
    let mut pool = swift().start();
    pool.play("a", [json!({"replacements": ["Halt!", "Halt! Who", "Go away."]})]);
    let (result, events) = pool.streamed("a", "x");
    assert_eq!(result["text"], "Go away.");
    let told: Vec<_> = events[1..].iter().map(|event| (&event["delta"], &event["isReset"])).collect();
    assert_eq!(
        told,
        [
            (&json!("Halt!"), &json!(false)),
            (&json!(" Who"), &json!(false)),
            (&json!("Go away."), &json!(true))
        ]
    );
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn tools_are_called_round_after_round_and_the_model_hears_of_them_in_order() {
    let mut pool = swift().start();
    let mut both = calls(&[("look", json!({"what": "north"})), ("look", json!({"what": "south"}))]);
    both["fragments"] = json!(5);
    both["preamble"] = json!("Let me see.");
    let again = calls(&[("look", json!({"what": "up"}))]);
    pool.play_with(
        "a",
        [both, again, template("{prompt}: {toolOutputs}"), template("And {prompt}")],
        json!({"tools": [tool("look")]}),
    );
    let turn = pool.start_turn_with("a", "I see", json!({"stream": true}));
    let (north, south) = (pool.tool_call(), pool.tool_call());
    assert_eq!((&north.arguments, &south.arguments), (&json!({"what": "north"}), &json!({"what": "south"})));
    pool.reply(&south, json!("sand"));
    pool.reply(&north, json!("snow"));
    let up = pool.tool_call();
    pool.reply(&up, json!({"sky": ["blue", 1]}));
    let result = pool.wait_ok(&turn);
    assert_eq!(result["text"], "I see: snow\nsand\n{\"sky\":[\"blue\",1]}");
    assert_eq!((result["steps"].as_array().unwrap().len(), pool.count("tool/call")), (3, 3));
    assert_eq!(pool.turn("a", "thank you")["text"], "And thank you");
    let entries = pool.entries("a");
    let roles: Vec<_> = entries.iter().map(|entry| entry["role"].as_str().unwrap()).collect();
    assert_eq!(
        roles,
        [
            "instructions",
            "user",
            "response",
            "tool",
            "tool",
            "response",
            "tool",
            "response",
            "user",
            "response"
        ]
    );
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_tool_that_failed_is_told_to_the_model() {
    let mut pool = swift().start();
    let look = calls(&[("look", json!({}))]);
    pool.play_with("a", [look, template("{toolOutput}")], json!({"tools": [tool("look")]}));
    pool.answer_tools(|_| Reply::Error(json!({"code": 1, "message": "It is dark."})));
    let result = pool.turn("a", "x");
    assert_eq!(result["toolCalls"][0]["isError"], true);
    assert!(result["text"].as_str().unwrap().contains("It is dark."), "{result}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn the_tool_choice_is_the_model_s_to_keep() {
    let mut pool = swift().start();
    pool.answer_tools_with(json!("a gate"));
    for (choice, calls, said) in [
        ("required", 1, "You say: Look. And look tells me: a gate"),
        ("none", 0, "You say: Look."),
        ("auto", 0, "You say: Look."),
    ] {
        pool.open(choice, json!({"tools": [tool("look")]}));
        let result = pool.turn_with(choice, "Look.", json!({"toolChoice": choice}));
        assert_eq!((&result["text"], result["toolCalls"].as_array().unwrap().len()), (&json!(said), calls));
    }
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_structured_answer_grows_in_the_order_of_its_schema() {
    let mut pool = swift().start();
    let mood = json!({"why": "It rains.", "mood": "calm", "marks": [1, 2.5]});
    pool.play("a", [json!({"json": mood, "chunks": 6})]);
    let schema = json!({"title": "Mood", "type": "object", "required": ["why", "mood", "marks"], "properties": {
        "why": {"type": "string"}, "mood": {"enum": ["calm", "angry"]}, "marks": {"type": "array",
        "items": {"type": "number"}}}});
    let turn = pool.start_turn_with("a", "x", json!({"schema": schema, "stream": true}));
    let result = pool.wait_ok(&turn);
    assert_eq!(result["structured"].to_string(), mood.to_string());
    let events = pool.events(&turn);
    let partials: Vec<_> = events.iter().filter(|event| event["type"] == "partial").collect();
    assert!(partials.len() > 1, "{events:?}");
    assert_eq!(partials.last().unwrap()["value"].to_string(), mood.to_string());
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn without_a_script_a_structured_answer_fits_its_schema() {
    let mut pool = swift().start();
    pool.open("a", json!({}));
    let schema = json!({"type": "object", "required": ["choice", "count"], "properties":
        {"choice": {"enum": ["fight", "flee"]}, "count": {"type": "integer", "minimum": 3}}});
    let result = pool.turn_with("a", "x", json!({"schema": schema}));
    assert_eq!(result["structured"], json!({"choice": "fight", "count": 3}));
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_saved_session_is_gone_on_with() {
    let mut pool = swift().start();
    let steps = [calls(&[("look", json!({}))]), text("A gate."), template("Still {prompt}")];
    pool.play_with("a", steps, json!({"tools": [tool("look")]}));
    pool.answer_tools_with(json!("a gate"));
    pool.turn("a", "What is it?");
    let saved = pool.ok("session/transcript", json!({"session": "a"}))["transcript"].clone();
    pool.open("b", json!({"history": saved}));
    assert_eq!(pool.turn("b", "a gate?")["text"], "Still a gate?");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_cancelled_turn_leaves_its_worker_and_no_trace() {
    let mut pool = swift().flags(&["--no-spare"]).start();
    let before = pool.when_ready(1);
    let slow = json!({"text": "It takes me for ever.", "chunks": 3, "pieceDelayMs": 500});
    pool.play("a", [slow]);
    for _ in 0..3 {
        let turn = pool.start_turn_with("a", "x", json!({"stream": true}));
        pool.take("a piece", |message| {
            message.request_id().as_ref() == Some(&turn)
                && message.event().is_some_and(|event| event["type"] == "text")
        });
        assert_eq!(pool.ok("session/cancel", json!({"session": "a"}))["cancelled"], 1);
        assert_eq!(pool.wait_fails(&turn).name, "cancelled");
    }
    assert_eq!(pool.entries("a").len(), 1, "the instructions");
    pool.play("b", [text("Well.")]);
    assert_eq!(pool.turn("b", "x")["text"], "Well.");
    assert_eq!(pool.when_ready(1), before);
    let status = pool.status();
    assert_eq!((&status["counters"]["hangs"], &status["counters"]["crashes"]), (&json!(0), &json!({})));
}
