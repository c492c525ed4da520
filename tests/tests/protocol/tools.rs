//! Tools: the client executes them, and the model sees what it answers.

use std::collections::HashSet;

use oam_tests::{
    Oam, Reply,
    script::{call, calls, template, text, tool},
};
use serde_json::{Value, json};

/// A session "a" whose model calls `look` once and then repeats what it saw.
fn looking(oam: &mut Oam) {
    oam.session_with(
        "a",
        [call("look", json!({})), template("{toolOutput}")],
        json!({"tools": [tool("look")]}),
    );
}

#[test]
fn each_form_of_reply_has_its_reading() {
    let error = |message: &str| Reply::Error(json!({"code": -32000, "message": message}));
    let flagged = |output: Value| Reply::Result(json!({"output": output, "isError": true}));
    // The reply, what the model sees, the recorded output, whether it is an error.
    let cases = [
        (Reply::Output(json!("The gate opened.")), "The gate opened.", json!("The gate opened."), false),
        (Reply::Output(json!("")), "", json!(""), false),
        (Reply::Output(json!({"opened": true})), r#"{"opened":true}"#, json!({"opened": true}), false),
        (Reply::Output(json!([1, 2.5, "x"])), r#"[1,2.5,"x"]"#, json!([1, 2.5, "x"]), false),
        (Reply::Output(json!(7)), "7", json!(7), false),
        (Reply::Output(json!(false)), "false", json!(false), false),
        (Reply::Output(Value::Null), "null", Value::Null, false),
        (Reply::Result(json!({"opened": true})), r#"{"opened":true}"#, json!({"opened": true}), false),
        (Reply::Result(json!("as it is")), "as it is", json!("as it is"), false),
        (Reply::Result(json!([])), "[]", json!([]), false),
        (Reply::Result(Value::Null), "null", Value::Null, false),
        (Reply::Result(json!({"output": "x", "isError": false})), "x", json!("x"), false),
        (Reply::Result(json!({"output": "x", "isError": "true"})), "x", json!("x"), false),
        (Reply::Result(json!({"output": "x", "isError": 1, "more": 2})), "x", json!("x"), false),
        (flagged(json!("Chain jammed.")), "Error: Chain jammed.", json!("Chain jammed."), true),
        (flagged(json!({"why": "jammed"})), r#"Error: {"why":"jammed"}"#, json!(r#"{"why":"jammed"}"#), true),
        (
            error("Gate subsystem offline"),
            "Error: Gate subsystem offline",
            json!("Gate subsystem offline"),
            true,
        ),
        (Reply::Error(json!({"code": 1})), "Error: Unknown error", json!("Unknown error"), true),
    ];
    let mut oam = Oam::start();
    for (reply, seen, output, is_error) in cases {
        looking(&mut oam);
        let (shown, answer) = (format!("{reply:?}"), reply.clone());
        oam.answer_tools(move |_| answer.clone());
        let result = oam.turn("a", "x");
        assert_eq!(result["text"], seen, "{shown}");
        let record = &result["toolCalls"][0];
        assert_eq!((&record["output"], &record["isError"]), (&output, &json!(is_error)), "{shown}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
}

#[test]
fn a_record_tells_the_call_its_output_and_its_duration() {
    let mut oam = Oam::start();
    oam.session_with(
        "a",
        [call("look", json!({"what": "door"})), text("ok")],
        json!({"tools": [tool("look")]}),
    );
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let call = oam.tool_call();
    assert_eq!((call.session.as_deref(), call.name.as_str()), (Some("a"), "look"));
    assert_eq!(call.arguments, json!({"what": "door"}));
    oam.reply(&call, json!({"open": false}));
    let result = oam.wait_ok(&turn);
    let record = result["toolCalls"][0].as_object().unwrap();
    let members: Vec<_> = record.keys().collect();
    assert_eq!(members, ["call", "output", "isError", "durationSeconds"]);
    let told = json!({"id": call.call_id, "name": "look", "arguments": {"what": "door"}});
    assert_eq!(record["call"], told);
    assert!(record["durationSeconds"].as_f64().unwrap() >= 0.0);
    let events = oam.events(&turn);
    assert_eq!(events[1], json!({"type": "toolCallStarted", "call": told, "execution": "client"}));
    assert_eq!(events[2]["record"], result["toolCalls"][0]);
}

#[test]
fn a_call_has_a_fresh_id_that_is_not_the_models() {
    let mut oam = Oam::start();
    let step = json!({"toolCalls": [{"name": "look", "id": "mine"}, {"name": "look", "id": "mine too"}]});
    oam.session_with("a", [step, text("ok")], json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    let result = oam.turn("a", "x");
    let ids: HashSet<_> = result["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["call"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let random = id.strip_prefix("call_").unwrap();
        assert!(random.len() == 24 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    let entries = oam.entries("a");
    let saved: Vec<_> =
        entries.iter().flat_map(|entry| entry["toolCalls"].as_array().into_iter().flatten()).collect();
    assert_eq!((&saved[0]["id"], &saved[1]["id"]), (&json!("mine"), &json!("mine too")));
}

#[test]
fn calls_of_one_step_go_out_together_and_may_be_answered_in_any_order() {
    let mut oam = Oam::start();
    let step = calls(&[
        ("look", json!({"what": "1"})),
        ("look", json!({"what": "2"})),
        ("act", json!({"what": "3"})),
    ]);
    oam.session_with("a", [step, template("{toolOutputs}")], json!({"tools": [tool("look"), tool("act")]}));
    let turn = oam.start_turn("a", "x");
    let open = [oam.tool_call(), oam.tool_call(), oam.tool_call()];
    for index in [2, 0, 1] {
        oam.reply(&open[index], json!(format!("out {}", open[index].arguments["what"].as_str().unwrap())));
        // The next answer must not overtake this one on its way to the record.
        oam.settle();
    }
    let result = oam.wait_ok(&turn);
    assert_eq!(result["text"], "out 1\nout 2\nout 3", "the model sees them in the order of its calls");
    let mut outputs: Vec<_> = result["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["output"].as_str().unwrap())
        .collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["out 1", "out 2", "out 3"]);
}

#[test]
fn records_are_in_completion_order() {
    let mut oam = Oam::start();
    let step = calls(&[("look", json!({"what": "1"})), ("look", json!({"what": "2"}))]);
    oam.session_with("a", [step, text("ok")], json!({"tools": [tool("look")]}));
    let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
    let (first, second) = (oam.tool_call(), oam.tool_call());
    oam.reply(&second, json!("quick"));
    oam.take("the completion of the second", |message| {
        message.event().is_some_and(|event| event["record"]["output"] == "quick")
    });
    oam.reply(&first, json!("slow"));
    let result = oam.wait_ok(&turn);
    assert_eq!(
        (&result["toolCalls"][0]["output"], &result["toolCalls"][1]["output"]),
        (&json!("quick"), &json!("slow"))
    );
}

#[test]
fn an_answer_reaches_only_the_call_it_names() {
    let mut oam = Oam::start();
    looking(&mut oam);
    let turn = oam.start_turn("a", "x");
    let call = oam.tool_call();
    for id in [json!("t-999"), json!("T-1"), json!("t-01"), json!(1), json!(call.call_id)] {
        oam.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"output": "wrong"}}));
    }
    oam.reply(&call, json!("right"));
    oam.reply(&call, json!("again"));
    assert_eq!(oam.wait_ok(&turn)["text"], "right");
}

#[test]
fn an_answer_without_result_or_error_is_refused_and_the_call_still_waits() {
    let mut oam = Oam::start();
    looking(&mut oam);
    let turn = oam.start_turn("a", "x");
    let call = oam.tool_call();
    oam.send(&json!({"jsonrpc": "2.0", "id": call.id}));
    assert_eq!(oam.wait_fails(&call.id.as_str().into()).name, "invalid_message");
    oam.reply(&call, json!("right"));
    assert_eq!(oam.wait_ok(&turn)["text"], "right");
}

#[test]
fn outputs_are_those_of_the_turn() {
    let mut oam = Oam::start();
    let script =
        [call("look", json!({})), template("[{toolOutputs}]"), template("[{toolOutput}{toolOutputs}]")];
    oam.session_with("a", script, json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    assert_eq!(oam.turn("a", "x")["text"], "[seen]");
    assert_eq!(oam.turn("a", "x")["text"], "[]");
}

#[test]
fn numbers_in_outputs_are_written_plainly() {
    let mut oam = Oam::start();
    looking(&mut oam);
    let turn = oam.start_turn("a", "x");
    let call = oam.tool_call();
    oam.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":"{}","result":{{"output":{{"b":1e3,"a":2.0,"c":0.1,"d":-0.0}}}}}}"#,
        call.id
    ));
    assert_eq!(oam.wait_ok(&turn)["text"], r#"{"b":1000,"a":2,"c":0.1,"d":0}"#);
}

/// A tool whose parameter must be one of two words.
fn strict() -> Value {
    json!({"name": "open", "description": "Opens a gate.", "parameters": {"type": "object",
        "properties": {"gate": {"type": "string", "enum": ["north", "south"]}, "times": {"type": "integer"}},
        "required": ["gate"]}})
}

#[test]
fn arguments_that_break_the_parameters_never_reach_the_client() {
    let mut oam = Oam::start();
    for wrong in [
        json!({}),
        json!({"gate": "west"}),
        json!({"gate": 7}),
        json!({"gate": null}),
        json!({"gate": "north", "times": "twice"}),
        json!({"gate": "north", "times": 1.5}),
    ] {
        oam.session_with(
            "a",
            [call("open", wrong.clone()), call("open", json!({"gate": "north"})), template("{toolOutputs}")],
            json!({"tools": [strict()]}),
        );
        let turn = oam.start_turn_with("a", "x", json!({"stream": true}));
        let call = oam.tool_call();
        assert_eq!(call.arguments, json!({"gate": "north"}), "the model may try again after {wrong}");
        oam.reply(&call, json!("opened"));
        let result = oam.wait_ok(&turn);
        let seen = result["text"].as_str().unwrap();
        assert!(seen.starts_with("Error: ") && seen.ends_with("\nopened"), "{seen}");
        let records = result["toolCalls"].as_array().unwrap();
        assert_eq!((&records[0]["isError"], &records[1]["isError"]), (&json!(true), &json!(false)));
        assert_eq!(records[0]["call"]["arguments"], wrong);
        oam.ok("session/delete", json!({"session": "a"}));
    }
    assert_eq!(oam.count("tool/call"), 6);
}

#[test]
fn a_call_of_an_unknown_tool_is_an_error_the_model_sees() {
    let mut oam = Oam::start();
    let script = [calls(&[("fly", json!({})), ("look", json!({}))]), template("{toolOutputs}"), text("next")];
    oam.session_with("a", script, json!({"tools": [tool("look")]}));
    oam.answer_tools_with(json!("seen"));
    let result = oam.turn("a", "x");
    let seen = result["text"].as_str().unwrap();
    assert!(seen.starts_with("Error: ") && seen.contains("fly") && seen.ends_with("\nseen"), "{seen}");
    assert_eq!(oam.count("tool/call"), 1);
    assert_eq!(oam.turn("a", "x")["text"], "next");
}

#[test]
fn calls_on_a_step_that_hides_the_tools_never_reach_the_client() {
    let mut oam = Oam::start();
    for params in [json!({"toolChoice": "none"}), json!({"maxToolRounds": 0}), json!({"enabledTools": []})] {
        oam.session_with(
            "a",
            [call("look", json!({})), template("{toolOutput}")],
            json!({"tools": [tool("look")]}),
        );
        let result = oam.turn_with("a", "x", params.clone());
        assert!(result["text"].as_str().unwrap().starts_with("Error: "), "{params}: {result}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
    assert_eq!(oam.count("tool/call"), 0);
}

#[test]
fn a_tool_hidden_by_enabled_tools_or_a_named_choice_cannot_be_called() {
    let mut oam = Oam::start();
    for params in [json!({"enabledTools": ["look"]}), json!({"toolChoice": {"tool": "look"}})] {
        oam.session_with(
            "a",
            [call("act", json!({})), template("{toolOutput}")],
            json!({"tools": [tool("look"), tool("act")]}),
        );
        let result = oam.turn_with("a", "x", params.clone());
        assert!(result["text"].as_str().unwrap().starts_with("Error: "), "{params}: {result}");
        oam.ok("session/delete", json!({"session": "a"}));
    }
    assert_eq!(oam.count("tool/call"), 0);
}

#[test]
fn a_model_that_never_stops_calling_ends_its_turn_all_the_same() {
    let mut oam = Oam::start();
    for name in ["look", "fly"] {
        let model = json!({"type": "scripted", "steps": [], "fallback": call(name, json!({}))});
        oam.session_with("a", [], json!({"tools": [tool("look")], "model": model}));
        oam.answer_tools_with(json!("seen"));
        let turn = oam.start_turn("a", "x");
        let _whatever_it_is = oam.wait(&turn);
        oam.ok("session/delete", json!({"session": "a"}));
    }
    assert!(oam.count("tool/call") <= 12);
}

#[test]
fn ids_of_calls_are_unique_across_sessions_and_turns() {
    let mut oam = Oam::start();
    for session in ["a", "b"] {
        let step = || calls(&[("look", json!({})), ("look", json!({}))]);
        oam.session_with(session, [step(), text("1"), step(), text("2")], json!({"tools": [tool("look")]}));
    }
    oam.answer_tools_with(json!("seen"));
    let turns: Vec<_> = ["a", "b", "a", "b"].iter().map(|session| oam.start_turn(session, "x")).collect();
    for turn in &turns {
        oam.wait_ok(turn);
    }
    let ids: HashSet<_> = oam
        .messages()
        .iter()
        .filter(|message| message.method() == Some("tool/call"))
        .map(|message| message.value["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 8);
}

#[test]
fn definitions_are_checked() {
    let mut oam = Oam::start();
    let cases = [
        (json!([1]), "tools[0]"),
        (json!([{}]), "tools[0].name"),
        (json!([{"name": 7}]), "tools[0].name"),
        (json!([{"name": ""}]), "tools[0].name"),
        (json!([{"name": "two words"}]), "tools[0].name"),
        (json!([{"name": "ä"}]), "tools[0].name"),
        (json!([{"name": "n".repeat(65)}]), "tools[0].name"),
        (json!([{"name": "a"}, {"name": "a"}]), "'a'"),
        (json!([{"name": "a"}, {"type": "function", "function": {"name": "a"}}]), "'a'"),
        (json!([{"name": "a", "description": 1}]), "tools[0].description"),
        (json!([{"name": "a", "execution": "local"}]), "tools[0].execution"),
        (json!([{"name": "a", "parameters": true}]), "tools[0].parameters"),
        (json!([{"name": "a", "parameters": "no json"}]), "tools[0].parameters"),
        (json!([{"name": "a", "timeoutSeconds": -1}]), "tools[0].timeoutSeconds"),
        (json!([{"name": "a", "timeoutSeconds": 86_401}]), "tools[0].timeoutSeconds"),
        (json!([{"name": "a"}, {"name": "b", "timeoutSeconds": "1"}]), "tools[1].timeoutSeconds"),
    ];
    oam.session("a", []);
    for (tools, named) in cases {
        for (method, params) in [
            ("session/create", json!({"model": "scripted", "tools": tools})),
            ("session/setTools", json!({"session": "a", "tools": tools})),
            ("tools/validate", json!({"tools": tools})),
        ] {
            let error = oam.fails(method, params);
            assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{method} {tools}");
            assert!(error.message.contains(named), "{method} {tools}: {}", error.message);
        }
    }
    assert_eq!(oam.listed("a")["tools"], json!([]));
}

#[test]
fn parameters_that_cannot_be_used_name_the_tool_and_the_place() {
    let mut oam = Oam::start();
    let bad = json!({"name": "b", "parameters": {"type": "object", "properties": {"x": {"type": "odd"}}}});
    let error = oam.fails("session/create", json!({"model": "scripted", "tools": [tool("a"), bad]}));
    assert_eq!((error.code, error.name.as_str()), (-32007, "invalid_schema"));
    assert_eq!(
        (&error.data["path"], &error.data["schemaPath"]),
        (&json!("tools[1].parameters"), &json!("#/properties/x"))
    );
}

#[test]
fn names_may_use_all_allowed_characters_and_differ_in_case() {
    let mut oam = Oam::start();
    let names = ["A", "a", "open_gate", "open-gate", "open.gate", "0", &"n".repeat(64)];
    let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
    oam.session_with("a", [], json!({"tools": tools}));
    assert_eq!(oam.listed("a")["tools"], json!(names));
}

#[test]
fn the_function_wrapper_is_accepted() {
    let mut oam = Oam::start();
    let wrapped = json!({"type": "function", "function": {"name": "look", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}, "timeoutSeconds": 5}});
    let created = oam.session_with(
        "a",
        [call("look", json!({"what": "x"})), template("{toolOutput}")],
        json!({"tools": [wrapped]}),
    );
    assert_eq!(created["warnings"], json!([]));
    oam.answer_tools_with(json!("seen"));
    assert_eq!(oam.turn("a", "x")["text"], "seen");
}

#[test]
fn the_built_in_tools_name_is_reserved() {
    let mut oam = Oam::start();
    let tools = json!([tool("respond_directly")]);
    let error = oam.fails("session/create", json!({"model": "scripted", "tools": tools}));
    assert_eq!((error.code, error.name.as_str()), (-32011, "invalid_request"));
    oam.session("a", []);
    assert_eq!(
        oam.fails("session/setTools", json!({"session": "a", "tools": tools})).name,
        "invalid_request"
    );
}

#[test]
fn validation_tells_each_tools_schema_and_warnings() {
    let mut oam = Oam::start();
    let pattern = json!({"name": "b", "parameters": {"type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[0-9]+$"}}}});
    let result = oam.ok("tools/validate", json!({"tools": [tool("a"), pattern]}));
    let tools = result["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!((&tools[0]["name"], &tools[0]["warnings"]), (&json!("a"), &json!([])));
    assert_eq!(tools[0]["generationSchema"]["type"], "object");
    let warning = tools[1]["warnings"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert_eq!(warning, "#/properties/code: pattern '^[0-9]+$' is described to the model but not enforced");
    let all: Vec<_> =
        result["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(
        all,
        [
            "b: no description; the model may not know when to call it.",
            "b: #/properties/code: pattern '^[0-9]+$' is described to the model but not enforced",
        ]
    );
}
