//! Content in the form of a schema.

use oam_tests::{
    Oam,
    script::{call, error, template, text, tool},
};
use serde_json::{Value, json};

fn item() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "damage": {"type": "integer", "minimum": 1, "maximum": 50},
    }, "required": ["name", "damage"]})
}

/// Parameters of `content/generate` on a model that plays `steps`; `more` adds members or replaces them.
fn asking(steps: impl IntoIterator<Item = Value>, more: Value) -> Value {
    let steps: Vec<_> = steps.into_iter().collect();
    let mut params = json!({"prompt": "A drowned sword.", "schema": item(), "model": {"type": "scripted", "steps": steps}});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

fn sword() -> Value {
    json!({"json": {"damage": 45, "name": "Drowned Fang"}})
}

#[test]
fn content_comes_in_schema_order_and_alone() {
    let mut oam = Oam::start();
    oam.ok("content/generate", asking([sword()], json!({})));
    let line = &oam.messages().last().unwrap().line;
    assert!(line.ends_with(r#""result":{"content":{"name":"Drowned Fang","damage":45}}}"#), "{line}");
}

#[test]
fn content_may_be_of_any_kind() {
    let mut oam = Oam::start();
    for (schema, content) in [
        (json!({"type": "string"}), json!("A rumour.")),
        (json!({"type": "array", "items": item()}), json!([{"name": "Axe", "damage": 3}])),
        (json!(item().to_string()), json!({"name": "Axe", "damage": 3})),
    ] {
        let params = asking([json!({"json": content})], json!({"schema": schema}));
        assert_eq!(oam.ok("content/generate", params)["content"], content, "{schema}");
    }
}

#[test]
fn the_prompt_reaches_the_model_as_it_is() {
    let mut oam = Oam::start();
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    for prompt in ["A starter weapon.", ""] {
        let echo = template(r#"{"name": "{prompt}"}"#);
        let params = asking([echo], json!({"prompt": prompt, "schema": schema}));
        assert_eq!(oam.ok("content/generate", params)["content"]["name"], prompt);
    }
}

#[test]
fn what_is_wrong_is_named_in_the_order_of_the_checks() {
    let mut oam = Oam::start();
    let faults = [
        ("prompt", json!(4), "Parameter 'prompt' must be a string; got 4."),
        ("schema", json!({"type": "nope"}), "schema: "),
        ("instructions", json!(1), "Parameter 'instructions' must be a string; got 1."),
        ("model", json!(true), "Parameter 'model' must be"),
        ("temperature", json!(-1), "Parameter 'temperature' must be at least 0."),
        ("toolTimeoutSeconds", json!(-1), "Parameter 'toolTimeoutSeconds' must be a number of seconds"),
        ("tools", json!([{"name": "bad name"}]), "Parameter 'tools[0].name' must be"),
    ];
    for number in 0..faults.len() {
        let mut params = asking([sword()], json!({}));
        for (name, value, _) in &faults[number..] {
            params[name] = value.clone();
        }
        let error = oam.fails("content/generate", params);
        let (name, _, message) = &faults[number];
        let code = if *name == "schema" { -32007 } else { -32602 };
        assert!(error.code == code && error.message.starts_with(message), "{name}: {error:?}");
    }
}

#[test]
fn prompt_and_schema_are_required() {
    let mut oam = Oam::start();
    let cases = [
        (json!({"prompt": null}), "Missing required parameter 'prompt'."),
        (json!({"schema": null}), "Missing required parameter 'schema'."),
        (json!({"schema": 5}), "'schema' must be a JSON Schema object."),
        (json!({"schema": true}), "'schema' must be a JSON Schema object."),
        (json!({"schema": "not json"}), "'schema' must be a JSON Schema object;"),
    ];
    for (more, message) in cases {
        let error = oam.fails("content/generate", asking([], more.clone()));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{more}");
        assert!(error.message.starts_with(message), "{more}: {}", error.message);
    }
}

#[test]
fn an_unusable_schema_is_told_with_its_place() {
    let mut oam = Oam::start();
    let schema = json!({"type": "object", "properties": {"a": {"type": "nope"}}});
    let error = oam.fails("content/generate", asking([], json!({"schema": schema})));
    assert_eq!((error.code, error.name.as_str()), (-32007, "invalid_schema"));
    assert_eq!(
        (&error.data["path"], &error.data["schemaPath"]),
        (&json!("schema"), &json!("#/properties/a"))
    );
    let tools = json!([{"name": "look", "parameters": {"type": "nope"}}]);
    let error = oam.fails("content/generate", asking([], json!({"tools": tools})));
    assert_eq!((error.code, &error.data["path"]), (-32007, &json!("tools[0].parameters")));
}

#[test]
fn a_reserved_tool_name_is_refused() {
    let mut oam = Oam::start();
    let error = oam.fails("content/generate", asking([], json!({"tools": [tool("respond_directly")]})));
    assert_eq!((error.code, error.name.as_str()), (-32011, "invalid_request"));
}

#[test]
fn warnings_are_of_members_schema_and_tools_but_not_of_their_number() {
    let mut oam = Oam::start();
    let schema = json!({"type": "object", "properties": {"code": {"type": "string", "pattern": "^a$"}}});
    let mut tools = vec![json!({"name": "bare"})];
    tools.extend((0..6).map(|number| tool(&format!("t{number}"))));
    let params = asking(
        [json!({"json": {"code": "a"}})],
        json!({"tools": tools, "style": "grim", "schema": schema, "toolChoice": "required"}),
    );
    let result = oam.ok("content/generate", params);
    let members: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(members, ["content", "warnings"]);
    assert_eq!(
        result["warnings"],
        json!([
            "Unknown parameter 'style' was ignored.",
            "Unknown parameter 'toolChoice' was ignored.",
            "#/properties/code: pattern '^a$' is described to the model but not enforced",
            "bare: no description; the model may not know when to call it.",
        ])
    );
}

#[test]
fn the_model_may_look_things_up_first() {
    let mut oam = Oam::start();
    let params = asking([call("look", json!({"what": "biome"})), sword()], json!({"tools": [tool("look")]}));
    let id = oam.request("content/generate", params);
    let call = oam.tool_call();
    let line = oam.messages().last().unwrap().line.clone();
    assert!(
        line.contains(&format!(r#""params":{{"requestId":{id},"call":{{"id":"{}""#, call.call_id)),
        "{line}"
    );
    assert_eq!((call.name.as_str(), &call.arguments), ("look", &json!({"what": "biome"})));
    oam.ok("ping", json!({}));
    oam.reply(&call, json!("swamp"));
    assert_eq!(oam.wait_ok(&id), json!({"content": {"name": "Drowned Fang", "damage": 45}}));
}

#[test]
fn tools_may_be_called_in_four_rounds() {
    let mut oam = Oam::start();
    let mut steps = vec![call("look", json!({})); 5];
    steps.push(sword());
    oam.answer_tools_with(json!("seen"));
    oam.ok("content/generate", asking(steps, json!({"tools": [tool("look")]})));
    assert_eq!(oam.count("tool/call"), 4);
}

#[test]
fn a_call_that_nobody_answers_is_withdrawn_and_the_generation_goes_on() {
    let mut oam = Oam::start();
    let params = asking(
        [call("look", json!({})), sword()],
        json!({"tools": [tool("look")], "toolTimeoutSeconds": 0.05}),
    );
    let id = oam.request("content/generate", params);
    let call = oam.tool_call();
    assert_eq!(oam.wait_ok(&id)["content"]["damage"], 45);
    let cancel = oam.take("tool/cancel", |message| message.method() == Some("tool/cancel"));
    let members: Vec<_> = cancel.value["params"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["requestId", "id", "callId", "reason"]);
    assert_eq!(cancel.value["params"]["id"], call.id);
}

#[test]
fn failures_of_the_model_are_returned_as_they_are() {
    let mut oam = Oam::start();
    for (code, name) in
        [(-32002, "guardrail_violation"), (-32003, "refusal"), (-32004, "context_size_exceeded")]
    {
        let failure = oam.fails("content/generate", asking([error(name), sword()], json!({})));
        assert_eq!((failure.code, failure.name.as_str()), (code, name));
    }
    let failure = oam.fails("content/generate", asking([], json!({"model": "system"})));
    assert_eq!(failure.name, "model_unavailable");
}

#[test]
fn content_that_does_not_fit_is_asked_for_once_more() {
    let mut oam = Oam::start();
    let broken = json!({"json": {"name": "Drowned Fang", "damage": 51}});
    for first in [broken.clone(), text("I would rather talk."), error("generation_failed")] {
        assert_eq!(oam.ok("content/generate", asking([first, sword()], json!({})))["content"]["damage"], 45);
    }
    let failure = oam.fails("content/generate", asking([broken.clone(), broken, sword()], json!({})));
    assert_eq!((failure.code, failure.name.as_str()), (-32012, "generation_failed"));
}
