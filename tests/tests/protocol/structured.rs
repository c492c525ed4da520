//! Turns with a schema: the answer is JSON that obeys it, in its order.

use oam_tests::{
    Oam,
    script::{call, template, text, tool},
};
use serde_json::{Value, json};

fn choice() -> Value {
    json!({"type": "object", "properties": {
        "reasoning": {"type": "string"},
        "choice": {"type": "string", "enum": ["open", "refuse"]},
        "force": {"type": "integer", "minimum": 0, "maximum": 10}},
        "required": ["reasoning", "choice"]})
}

fn answer(oam: &mut Oam, schema: Value, answer: Value) -> Value {
    oam.session("a", [json!({"json": answer})]);
    let result = oam.turn_with("a", "x", json!({"schema": schema}));
    oam.ok("session/delete", json!({"session": "a"}));
    result
}

#[test]
fn the_answer_comes_in_schema_order() {
    let mut oam = Oam::start();
    let result = answer(&mut oam, choice(), json!({"force": 3, "choice": "refuse", "reasoning": "No."}));
    let line = &oam.messages()[oam.messages().len() - 2].line;
    let json = r#"{"reasoning":"No.","choice":"refuse","force":3}"#;
    assert!(line.contains(&format!("\"structured\":{json}")), "{line}");
    assert_eq!(result["text"], json);
    let members: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(members, ["session", "text", "structured", "toolCalls", "usage", "steps"]);
}

#[test]
fn x_order_wins_and_nested_values_are_ordered_too() {
    let mut oam = Oam::start();
    let inner = json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}});
    let schema = json!({"type": "object", "x-order": ["second", "first"], "properties": {
        "first": {"type": "array", "items": inner}, "second": {"type": "number"}}, "required": ["first", "second"]});
    let result = answer(&mut oam, schema, json!({"first": [{"b": null, "a": true}], "second": 0.5}));
    let text = result["text"].as_str().unwrap();
    assert!(text.starts_with(r#"{"second":0.5,"first":[{"a":true"#), "{text}");
}

#[test]
fn every_kind_of_value_comes_back_as_it_is() {
    let mut oam = Oam::start();
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "a": {"type": "array", "items": {"type": "integer"}}, "e": {"type": "string", "enum": ["x", "y"]},
        "c": {"const": "fixed"}, "u": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "o": {"type": ["string", "null"]}},
        "required": ["s", "i", "n", "b", "a", "e", "c", "u"]});
    let value =
        json!({"s": "ß", "i": -3, "n": 0.25, "b": false, "a": [1, 2], "e": "y", "c": "fixed", "u": 7});
    assert_eq!(answer(&mut oam, schema, value.clone())["structured"], value);
}

#[test]
fn an_answer_need_not_be_an_object() {
    let mut oam = Oam::start();
    for (schema, value) in [
        (json!({"type": "string", "enum": ["yes", "no"]}), json!("yes")),
        (json!({"type": "integer"}), json!(7)),
        (json!({"type": "array", "items": {"type": "boolean"}}), json!([true])),
    ] {
        assert_eq!(answer(&mut oam, schema, value.clone())["structured"], value);
    }
}

#[test]
fn text_that_is_json_counts_as_an_answer() {
    let mut oam = Oam::start();
    oam.session("a", [text(r#" {"choice": "open", "reasoning": "Yes."} "#)]);
    let result = oam.turn_with("a", "x", json!({"schema": choice()}));
    assert_eq!(result["text"], r#"{"reasoning":"Yes.","choice":"open"}"#);
}

#[test]
fn an_answer_that_breaks_its_schema_fails_the_turn() {
    let mut oam = Oam::start();
    let good = json!({"reasoning": "x", "choice": "open"});
    let broken = [
        json!({"json": {"reasoning": "x"}}),
        json!({"json": {"reasoning": "x", "choice": "burn"}}),
        json!({"json": {"reasoning": 7, "choice": "open"}}),
        json!({"json": {"reasoning": "x", "choice": "open", "force": 11}}),
        json!({"json": {"reasoning": "x", "choice": "open", "force": 1.5}}),
        json!({"json": ["x"]}),
        json!({"json": null}),
        text("I would rather talk."),
        text(""),
        text(r#"{"reasoning": "x", "choice": "#),
    ];
    for step in broken {
        let script = [step.clone(), step.clone(), step.clone(), json!({"json": good})];
        oam.session_with("a", script, json!({"options": {"maxAttempts": 1}}));
        let params = json!({"session": "a", "prompt": "x", "schema": choice()});
        let error = oam.fails("session/respond", params.clone());
        assert_eq!((error.code, error.name.as_str()), (-32012, "generation_failed"), "{step}");
        assert_eq!(oam.listed("a")["entries"], 0);
        oam.ok("session/delete", json!({"session": "a"}));

        let script = [step.clone(), json!({"json": good})];
        oam.session("a", script);
        assert_eq!(oam.ok("session/respond", params)["structured"], good, "tried again after {step}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn tools_may_come_first() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({})), json!({"json": {"choice": "open", "reasoning": "Seen."}})],
        json!({"tools": [tool("look")]}),
    );
    oam.answer_tools_with(json!("seen"));
    let turn = oam.start_turn_with("a", "x", json!({"schema": choice(), "stream": true}));
    let result = oam.wait_ok(&turn);
    assert_eq!(result["toolCalls"].as_array().unwrap().len(), 1);
    assert_eq!(result["structured"]["choice"], "open");
    let kinds: Vec<_> =
        oam.events(&turn).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds[..4], ["modelStep", "toolCallStarted", "toolCallCompleted", "modelStep"]);
    assert!(kinds.len() > 4 && kinds[4..].iter().all(|kind| kind == "partial"), "{kinds:?}");
    assert_eq!(oam.events(&turn).last().unwrap()["value"], json!({"choice": "open", "reasoning": "Seen."}));
}

#[test]
fn partial_values_grow_out_of_streamed_text() {
    let mut oam = Oam::start();
    oam.session(
        "a",
        [json!({"text": r#"{"reasoning": "Because it is late.", "choice": "refuse"}"#, "chunks": 10})],
    );
    let turn = oam.start_turn_with("a", "x", json!({"schema": choice(), "stream": true}));
    let result = oam.wait_ok(&turn);
    let events = oam.events(&turn);
    assert!(events[1..].iter().all(|event| event["type"] == "partial"), "{events:?}");
    assert_eq!(events.last().unwrap()["value"], result["structured"]);
}

#[test]
fn an_unusable_schema_fails_at_once() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"json": {}})]);
    let error = oam.fails(
        "session/respond",
        json!({"session": "a", "prompt": "x", "schema":
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}}),
    );
    assert_eq!((error.code, error.name.as_str()), (-32007, "invalid_schema"));
    assert_eq!(
        (&error.data["path"], &error.data["schemaPath"]),
        (&json!("schema"), &json!("#/properties/x"))
    );
    for schema in [json!(true), json!(1), json!([]), json!("no schema")] {
        let error = oam.fails("session/respond", json!({"session": "a", "prompt": "x", "schema": schema}));
        assert_eq!(error.name, "invalid_params");
        assert!(error.message.contains("'schema'"), "{}", error.message);
    }
    assert_eq!(oam.listed("a")["entries"], 0);
}

#[test]
fn the_next_turn_is_free_again() {
    let mut oam = Oam::start();
    oam.session(
        "a",
        [
            json!({"json": {"reasoning": "x", "choice": "open"}}),
            template("as {prompt}"),
            json!({"json": [1]}),
        ],
    );
    oam.turn_with("a", "x", json!({"schema": choice()}));
    let turn = oam.turn("a", "prose");
    assert_eq!((&turn["text"], turn.get("structured")), (&json!("as prose"), None));
    assert_eq!(oam.turn("a", "x")["text"], "[1]", "without a schema, JSON is text");
}

#[test]
fn a_structured_answer_is_in_the_transcript_and_comes_back() {
    let mut oam = Oam::start();
    oam.session("a", [json!({"json": {"reasoning": "x", "choice": "open"}})]);
    oam.turn_with("a", "x", json!({"schema": choice()}));
    let saved = oam.ok("session/transcript", json!({"session": "a"}));
    assert!(saved.to_string().contains(r#""choice":"open""#), "{saved}");
    oam.session_with("b", [text("ok")], json!({"history": saved}));
    assert_eq!(oam.listed("b")["entries"], 2);
    oam.turn("b", "x");
}
