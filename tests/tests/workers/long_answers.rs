//! Models whose answers are longer than a supervisor takes: their steps fail, and nothing else comes of it.

use oam_tests::{
    pool::workers,
    script::{call, text, tool},
};
use serde_json::{Value, json};

const TOO_LONG: &str = "The answer is longer than 1048576 bytes.";

fn long() -> String {
    "x".repeat((1 << 20) + 1)
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]})
}

#[test]
fn an_answer_that_is_too_long_fails_its_turn_and_kills_no_worker() {
    for (step, params) in [
        (text(&long()), json!({})),
        (json!({"text": long(), "chunks": 4}), json!({})),
        (json!({"json": {"line": long()}}), json!({"schema": schema()})),
        (call("look", json!({"what": long()})), json!({})),
    ] {
        for stream in [true, false] {
            let mut pool = workers().start();
            pool.play_with("a", [step.clone()], json!({"tools": [tool("look")]}));
            let mut params = params.clone();
            params["stream"] = stream.into();
            let turn = pool.start_turn_with("a", "x", params);
            let error = pool.wait_fails(&turn);
            assert_eq!((&*error.name, &*error.message), ("generation_failed", TOO_LONG), "{stream}");
            assert_eq!((pool.counter("violations"), pool.crashes()), (0, json!({})), "{stream}");
        }
    }
}

#[test]
fn answers_that_are_too_long_all_at_once_leave_the_model_to_everybody_else() {
    let mut pool = workers().flags(&["--workers", "2"]).start();
    let sessions: Vec<_> = (0..8).map(|number| format!("long {number}")).collect();
    for session in &sessions {
        pool.play(session, [text(&long())]);
    }
    pool.open("b", json!({}));
    let turns: Vec<_> = sessions.iter().map(|session| pool.start_turn(session, "x")).collect();
    assert_eq!(pool.turn("b", "Hello")["text"], "You say: Hello");
    for turn in &turns {
        assert_eq!(pool.wait_fails(turn).message, TOO_LONG);
    }
    assert_eq!(pool.turn("b", "Hello again")["text"], "You say: Hello again");
    let status = pool.status();
    assert_eq!((&status["counters"]["started"], &status["counters"]["crashes"]), (&json!(3), &json!({})));
}
