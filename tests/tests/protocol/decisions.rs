//! Decisions: one option of several, for one character or a crowd.

use oam_tests::{
    Oam, Reply,
    script::{call, error, text, tool},
};
use serde_json::{Value, json};

fn chosen(option: &str) -> Value {
    json!({"json": {"reasoning": "Because.", "choice": option, "confidence": 60}})
}

fn scripted(steps: impl IntoIterator<Item = Value>) -> Value {
    json!({"type": "scripted", "steps": steps.into_iter().collect::<Vec<_>>()})
}

fn with(mut params: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

/// Parameters of `decision/decide` between `go` and `stay` on a model that plays `steps`; `more` adds members or
/// replaces them.
fn one(steps: impl IntoIterator<Item = Value>, more: Value) -> Value {
    with(json!({"situation": "x", "options": ["go", "stay"], "model": scripted(steps)}), more)
}

/// Parameters of `decision/decideMany`: a decision between `go` and `stay` for each of `requests`, which add members
/// or replace them.
fn many<const N: usize>(steps: impl IntoIterator<Item = Value>, requests: [Value; N], more: Value) -> Value {
    let decision = json!({"situation": "x", "options": ["go", "stay"]});
    let requests = requests.map(|more| with(decision.clone(), more));
    with(json!({"requests": requests.to_vec(), "model": scripted(steps)}), more)
}

fn looking(more: Value) -> Value {
    with(json!({"tools": [tool("look")]}), more)
}

#[test]
fn a_decision_has_its_members_in_order() {
    let mut oam = Oam::start();
    oam.ok("decision/decide", one([chosen("stay")], json!({})));
    let line = oam.messages().last().unwrap().line.clone();
    let start =
        r#""result":{"optionID":"stay","reasoning":"Because.","confidence":60,"toolCalls":[],"usage":{"#;
    assert!(line.contains(start) && line.ends_with(r#"},"isFallback":false}}"#), "{line}");
}

#[test]
fn options_are_ids_or_objects_with_one() {
    let mut oam = Oam::start();
    let cases = [
        json!(["go", "stay"]),
        json!([{"id": "go", "description": "Run into the woods"}, "stay"]),
        json!([{"id": "go", "description": null}, {"id": " stay ", "description": "", "cost": 3}]),
        json!(["GO", "go", "stay\n"]),
    ];
    for options in cases {
        let result = oam.ok("decision/decide", one([chosen("stay")], json!({"options": options})));
        assert_eq!(result["optionID"], "stay", "{options}");
    }
}

#[test]
fn a_single_option_needs_no_model() {
    let mut oam = Oam::start();
    let alone = looking(json!({"options": [" fight "], "toolChoice": "required", "model": "system"}));
    let nothing = json!({"inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "totalTokens": 0});
    assert_eq!(
        oam.ok("decision/decide", one([], alone)),
        json!({"optionID": "fight", "reasoning": "It is the only option.", "confidence": 100,
            "toolCalls": [], "usage": nothing, "isFallback": false})
    );
    assert_eq!(oam.count("tool/call"), 0);
}

#[test]
fn an_unavailable_model_fails_the_decision_that_needs_it() {
    let mut oam = Oam::start();
    let failure = oam.fails("decision/decide", one([], json!({"model": null})));
    assert_eq!((failure.code, failure.name.as_str()), (-32001, "model_unavailable"));
    let requests = [json!({}), json!({"options": ["wait"]})];
    let result = oam.ok("decision/decideMany", many([], requests, json!({"model": "system"})));
    assert_eq!(result["results"][0]["error"]["data"]["code"], "model_unavailable");
    assert_eq!((&result["results"][1]["optionID"], result.get("warnings")), (&json!("wait"), None));
}

/// Faults of one decision in the order in which they are found, with the beginning of what is said of them.
fn faults() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("situation", json!(null), "Missing required parameter '{}situation'."),
        ("options", json!([]), "Parameter '{}options' must not be empty."),
        ("actor", json!(5), "Parameter '{}actor' must be an NPC id or a persona object; got 5."),
        ("tools", json!([{"name": "bad name"}]), "Parameter '{}tools[0].name' must be"),
        ("toolChoice", json!({"tool": "fly"}), "'{}toolChoice' names tool 'fly', which is not in '{}tools'."),
        (
            "fallbackOptionID",
            json!("sit"),
            "Parameter '{}fallbackOptionID' must be the id of one of the options; got \"sit\".",
        ),
    ]
}

/// Faults of what decisions share.
fn engine_faults() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("model", json!(7), "Parameter 'model' must be"),
        ("instructions", json!(3), "Parameter 'instructions' must be a string; got 3."),
        ("temperature", json!(-1), "Parameter 'temperature' must be at least 0."),
        ("maxToolRounds", json!(-1), "Parameter 'maxToolRounds' must be at least 0."),
        ("toolTimeoutSeconds", json!(86401), "Parameter 'toolTimeoutSeconds' must be a number of seconds"),
    ]
}

fn set(mut params: Value, faults: &[(&'static str, Value, &'static str)]) -> Value {
    for (name, value, _) in faults {
        params[name] = value.clone();
    }
    params
}

#[test]
fn what_is_wrong_is_named_in_the_order_of_the_checks() {
    let mut oam = Oam::start();
    let mut all = engine_faults();
    all.extend(faults());
    for number in 0..all.len() {
        let failure = oam.fails("decision/decide", set(one([], json!({})), &all[number..]));
        let message = all[number].2.replace("{}", "");
        assert_eq!((failure.code, failure.name.as_str()), (-32602, "invalid_params"), "{message}");
        assert!(failure.message.starts_with(&message), "{message} {}", failure.message);
    }
}

#[test]
fn one_faulty_decision_fails_the_whole_crowd_before_the_model_is_asked() {
    let mut oam = Oam::start();
    let (engine, single) = (engine_faults(), faults());
    let params =
        |engine: &[_], single: &[_]| set(many([], [json!({}), set(json!({}), single)], json!({})), engine);
    for number in 0..engine.len() {
        let failure = oam.fails("decision/decideMany", params(&engine[number..], &single));
        assert!(failure.message.starts_with(engine[number].2), "{}", failure.message);
    }
    for number in 0..single.len() {
        let failure = oam.fails("decision/decideMany", params(&[], &single[number..]));
        let message = single[number].2.replace("{}", "requests[1].");
        assert_eq!((failure.code, failure.name.as_str()), (-32602, "invalid_params"), "{message}");
        assert!(failure.message.starts_with(&message), "{message} {}", failure.message);
    }
}

#[test]
fn a_crowd_must_be_one() {
    let mut oam = Oam::start();
    let cases = [
        (json!({"requests": null}), "Missing required parameter 'requests'."),
        (json!({"requests": {}}), "Parameter 'requests' must be an array; got {}."),
        (json!({"requests": []}), "Parameter 'requests' must not be empty."),
        (json!({"requests": ["x"]}), "Parameter 'requests[0]' must be an object; got \"x\"."),
        (json!({"maxConcurrency": 0}), "Parameter 'maxConcurrency' must be at least 1."),
        (json!({"maxConcurrency": 1.5}), "Parameter 'maxConcurrency' must be an integer; got 1.5."),
        (json!({"maxConcurrency": "2"}), "Parameter 'maxConcurrency' must be an integer; got \"2\"."),
    ];
    for (more, message) in cases {
        let failure = oam.fails("decision/decideMany", many([], [json!({})], more));
        assert_eq!((failure.code, failure.message.as_str()), (-32602, message));
    }
}

#[test]
fn options_must_tell_each_other_apart() {
    let mut oam = Oam::start();
    let cases = [
        (json!("go"), "Parameter 'options' must be an array; got \"go\"."),
        (json!(["a", 5]), "Parameter 'options[1]' must be an option id or an object with an 'id'; got 5."),
        (
            json!(["a", null]),
            "Parameter 'options[1]' must be an option id or an object with an 'id'; got null.",
        ),
        (json!([" "]), "Parameter 'options[0]' must not be empty."),
        (json!([{"id": ""}]), "Parameter 'options[0].id' must not be empty."),
        (json!([{"description": "x"}]), "Missing required parameter 'options[0].id'."),
        (json!([{"id": 1}]), "Parameter 'options[0].id' must be a string; got 1."),
        (
            json!([{"id": "a", "description": 1}]),
            "Parameter 'options[0].description' must be a string; got 1.",
        ),
        (json!(["a", "b", {"id": " a"}]), "Duplicate option id 'a' in 'options'."),
    ];
    for (options, message) in cases {
        let failure = oam.fails("decision/decide", one([], json!({"options": options})));
        assert_eq!((failure.code, failure.message.as_str()), (-32602, message));
    }
    let failure = oam.fails("decision/decideMany", many([], [json!({"options": ["a", "a"]})], json!({})));
    assert_eq!(failure.message, "Duplicate option id 'a' in 'requests[0].options'.");
}

#[test]
fn the_situation_may_be_any_json_but_null() {
    let mut oam = Oam::start();
    for situation in [json!(""), json!(" "), json!({"hp": 3}), json!([1]), json!(false), json!(0)] {
        let params = one([chosen("go")], json!({"situation": situation}));
        assert_eq!(oam.ok("decision/decide", params)["optionID"], "go", "{situation}");
    }
}

#[test]
fn an_actor_is_a_persona_or_someone_who_exists() {
    let mut oam = Oam::start();
    let failure = oam.fails("decision/decide", one([], json!({"actor": "nobody"})));
    assert_eq!((failure.code, failure.message.as_str()), (-32050, "No NPC with id 'nobody'."));
    assert_eq!(*failure.data, json!({"code": "npc_not_found", "npc": "nobody"}));
    let failure = oam.fails("decision/decideMany", many([], [json!({"actor": "nobody"})], json!({})));
    assert_eq!(failure.name, "npc_not_found");
    let cases = [
        (json!({"role": "x"}), "Missing required parameter 'actor.name'."),
        (json!({"name": " "}), "'actor.name' must not be empty."),
        (json!({"name": "Snik", "goals": "gold"}), "Parameter 'actor.goals' must be an array; got \"gold\"."),
    ];
    for (actor, message) in cases {
        let failure = oam.fails("decision/decide", one([], json!({"actor": actor})));
        assert_eq!((failure.code, failure.message.as_str()), (-32602, message));
    }
    let failure = oam.fails("decision/decideMany", many([], [json!({"actor": {"name": ""}})], json!({})));
    assert_eq!(failure.message, "'requests[0].actor.name' must not be empty.");
    let snik = json!({"name": "Snik", "goals": ["Survive."], "defaultEmotion": "hangry"});
    assert_eq!(oam.ok("decision/decide", one([chosen("go")], json!({"actor": snik}))).get("warnings"), None);
}

#[test]
fn tools_must_be_usable() {
    let mut oam = Oam::start();
    let broken = json!([{"name": "look", "parameters": {"type": "nope"}}]);
    let failure = oam.fails("decision/decideMany", many([], [json!({"tools": broken})], json!({})));
    assert_eq!((failure.code, &failure.data["path"]), (-32007, &json!("requests[0].tools[0].parameters")));
    let reserved = json!({"tools": [tool("respond_directly")]});
    let failure = oam.fails("decision/decide", one([], reserved.clone()));
    assert_eq!((failure.code, failure.name.as_str()), (-32011, "invalid_request"));
    assert_eq!(oam.fails("decision/decideMany", many([], [reserved], json!({}))).name, "invalid_request");
}

#[test]
fn what_is_probably_not_meant_is_warned_about() {
    let mut oam = Oam::start();
    let mut tools = vec![json!({"name": "bare"})];
    tools.extend((0..5).map(|number| tool(&format!("t{number}"))));
    let decision = json!({"sitation": null, "actor": {"name": "Snik", "mood": "x"}, "tools": tools});
    let expected = [
        "Unknown parameter 'sitation' was ignored.",
        "Unknown parameter 'actor.mood' was ignored.",
        "bare: no description; the model may not know when to call it.",
        "6 tools: Apple recommends at most 3-5 tools per request on-device; give only those that are needed here.",
    ];
    let result = oam.ok("decision/decide", one([chosen("go")], decision.clone()));
    assert_eq!(result["warnings"], json!(expected));
    assert_eq!(result.as_object().unwrap().keys().next_back().unwrap(), "warnings");

    let requests = [json!({"temperature": 1}), decision];
    let steps = [chosen("go"), chosen("go")];
    let result = oam.ok("decision/decideMany", many(steps, requests, json!({"concurrency": 2})));
    let members: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(members, ["results", "warnings"]);
    assert_eq!(
        result["warnings"],
        json!([
            "Unknown parameter 'concurrency' was ignored.",
            "Unknown parameter 'requests[0].temperature' was ignored.",
            "Unknown parameter 'requests[1].sitation' was ignored.",
            "Unknown parameter 'requests[1].actor.mood' was ignored.",
            format!("requests[1]: {}", expected[2]),
            format!("requests[1]: {}", expected[3]),
        ])
    );
    assert_eq!(result["results"][1].get("warnings"), None);
    assert_eq!(oam.ok("decision/decide", one([chosen("go")], json!({}))).get("warnings"), None);
}

#[test]
fn answers_are_read_leniently() {
    let mut oam = Oam::start();
    let cases = [
        (json!({"choice": "STAY", "reasoning": "So.", "confidence": 78}), "So.", 78),
        (json!({"choice": " stay ", "confidence": 140}), "", 100),
        (json!({"choice": "stay", "confidence": -5}), "", 0),
        (json!({"choice": "stay", "confidence": 77.6}), "", 78),
        (json!({"choice": "stay"}), "", 50),
    ];
    for (answer, reasoning, confidence) in cases {
        let result = oam.ok("decision/decide", one([json!({"json": answer})], json!({})));
        assert_eq!(result["optionID"], "stay", "{answer}");
        assert_eq!((&result["reasoning"], &result["confidence"]), (&json!(reasoning), &json!(confidence)));
    }
}

#[test]
fn what_is_no_option_fails_the_decision() {
    let mut oam = Oam::start();
    for answer in [json!({"choice": "dance"}), json!({"confidence": 3}), json!(["go"]), json!(null)] {
        let steps = [json!({"json": answer}), chosen("go")];
        let failure = oam.fails("decision/decide", one(steps, json!({"fallbackOptionID": "go"})));
        assert_eq!((failure.code, failure.name.as_str()), (-32012, "generation_failed"), "{answer}");
    }
}

#[test]
fn a_passing_failure_is_tried_once_more() {
    let mut oam = Oam::start();
    for first in [error("generation_failed"), text("I would go.")] {
        assert_eq!(oam.ok("decision/decide", one([first, chosen("go")], json!({})))["optionID"], "go");
    }
}

#[test]
fn the_fallback_stands_in_where_the_model_refuses() {
    let mut oam = Oam::start();
    oam.answer_tools_with(json!("seen"));
    let nothing = json!({"inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "totalTokens": 0});
    for (name, code) in [("guardrail_violation", -32002), ("refusal", -32003)] {
        let steps = [call("look", json!({})), error(name)];
        let with_fallback = looking(json!({"fallbackOptionID": " stay "}));
        assert_eq!(
            oam.ok("decision/decide", one(steps.clone(), with_fallback)),
            json!({"optionID": "stay", "reasoning": "", "confidence": 0, "toolCalls": [], "usage": nothing,
                "isFallback": true})
        );
        assert_eq!(oam.fails("decision/decide", one(steps, looking(json!({})))).code, code);
    }
    let unavailable = one([error("model_unavailable")], json!({"fallbackOptionID": "stay"}));
    assert_eq!(oam.fails("decision/decide", unavailable).name, "model_unavailable");
    for id in ["sit", "GO", ""] {
        let alone = json!({"options": ["go"], "fallbackOptionID": id});
        assert_eq!(oam.fails("decision/decide", one([], alone)).name, "invalid_params", "{id:?}");
    }
}

#[test]
fn the_model_may_look_things_up_first() {
    let mut oam = Oam::start();
    let params = one(
        [call("look", json!({"what": "sky"})), chosen("stay")],
        looking(json!({"toolChoice": "required"})),
    );
    let id = oam.request("decision/decide", params);
    let call = oam.tool_call();
    let line = oam.messages().last().unwrap().line.clone();
    assert!(
        line.contains(&format!(r#""params":{{"requestId":{id},"call":{{"id":"{}""#, call.call_id)),
        "{line}"
    );
    // A decision that waits for the game holds up nothing.
    assert_eq!(oam.ok("decision/decide", one([chosen("go")], json!({})))["optionID"], "go");
    oam.reply(&call, json!({"rain": true}));
    let result = oam.wait_ok(&id);
    assert_eq!(result["optionID"], "stay");
    let record = &result["toolCalls"][0];
    assert_eq!((&record["output"], &record["isError"]), (&json!({"rain": true}), &json!(false)));
    assert_eq!(record["call"], json!({"id": call.call_id, "name": "look", "arguments": {"what": "sky"}}));
}

#[test]
fn tools_may_be_called_in_two_rounds_unless_the_request_says_otherwise() {
    let mut oam = Oam::start();
    oam.answer_tools_with(json!("seen"));
    for (more, answered) in
        [(json!({}), 2), (json!({"maxToolRounds": 3}), 3), (json!({"maxToolRounds": 0}), 0)]
    {
        let mut steps = vec![call("look", json!({})); 3];
        steps.push(chosen("go"));
        if answered == 0 {
            steps.drain(..3);
        }
        let before = oam.count("tool/call");
        oam.ok("decision/decide", one(steps, looking(more.clone())));
        assert_eq!(oam.count("tool/call") - before, answered, "{more}");
    }
}

#[test]
fn a_tool_that_fails_does_not_fail_the_decision() {
    let mut oam = Oam::start();
    oam.answer_tools(|_| Reply::Error(json!({"code": -32000, "message": "Too dark."})));
    let result = oam.ok("decision/decide", one([call("look", json!({})), chosen("go")], looking(json!({}))));
    let record = &result["toolCalls"][0];
    assert_eq!((&record["output"], &record["isError"]), (&json!("Too dark."), &json!(true)));
}

#[test]
fn a_call_that_nobody_answers_is_withdrawn_and_the_decision_goes_on() {
    let mut oam = Oam::builder().arg("--tool-timeout").arg("0.05").start();
    let requests = [looking(json!({})), looking(json!({}))];
    let look = call("look", json!({}));
    let steps = [look.clone(), chosen("go"), look, chosen("stay")];
    let id = oam.request("decision/decideMany", many(steps, requests, json!({"maxConcurrency": 1})));
    let call = oam.tool_call();
    let result = oam.wait_ok(&id);
    assert_eq!(result["results"][0]["toolCalls"][0]["output"], "Tool 'look' timed out after 50ms.");
    let cancel = oam.take("tool/cancel", |message| message.method() == Some("tool/cancel"));
    let members: Vec<_> = cancel.value["params"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["index", "requestId", "id", "callId", "reason"]);
    assert_eq!(
        (&cancel.value["params"]["index"], &cancel.value["params"]["id"]),
        (&json!(0), &json!(call.id))
    );
}

#[test]
fn no_limit_is_no_limit() {
    let mut oam = Oam::builder().arg("--tool-timeout").arg("0.05").start();
    let mut quick = tool("quick");
    quick["timeoutSeconds"] = json!(0.05);
    let both = json!({"toolCalls": [{"name": "quick"}, {"name": "look"}]});
    let more = json!({"tools": [quick, tool("look")], "toolTimeoutSeconds": 0});
    let id = oam.request("decision/decide", one([both, chosen("go")], more));
    let open = [oam.tool_call(), oam.tool_call()];
    oam.take("the time-out of the other", |message| message.method() == Some("tool/cancel"));
    oam.reply(open.iter().find(|call| call.name == "look").unwrap(), json!("at last"));
    assert_eq!(oam.wait_ok(&id)["toolCalls"][1]["output"], "at last");
}

#[test]
fn a_crowd_gets_its_results_in_order_failures_among_them() {
    let mut oam = Oam::start();
    let requests =
        [json!({}), json!({}), json!({"options": ["wait"]}), json!({"fallbackOptionID": "go"}), json!({})];
    let steps = [chosen("stay"), error("refusal"), error("guardrail_violation"), chosen("dance")];
    let result = oam.ok("decision/decideMany", many(steps, requests, json!({"maxConcurrency": 1})));
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    assert_eq!((&results[0]["optionID"], &results[0]["confidence"]), (&json!("stay"), &json!(60)));
    let failure =
        json!({"error": {"code": -32003, "message": "Scripted refusal.", "data": {"code": "refusal"}}});
    assert_eq!(results[1], failure);
    assert_eq!((&results[2]["optionID"], &results[2]["confidence"]), (&json!("wait"), &json!(100)));
    assert_eq!((&results[3]["optionID"], &results[3]["isFallback"]), (&json!("go"), &json!(true)));
    assert_eq!(results[4]["error"]["data"]["code"], "generation_failed");
    let members: Vec<_> = results[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["optionID", "reasoning", "confidence", "toolCalls", "usage", "isFallback"]);
}

#[test]
fn calls_of_a_crowd_tell_whose_they_are() {
    let mut oam = Oam::start();
    let look = call("look", json!({}));
    let steps = [look.clone(), look.clone(), chosen("go"), look, chosen("stay"), chosen("go")];
    let requests = [looking(json!({})), looking(json!({})), looking(json!({}))];
    let id = oam.request("decision/decideMany", many(steps, requests, json!({})));
    let open = [oam.tool_call(), oam.tool_call()];
    oam.settle();
    assert_eq!(oam.count("tool/call"), 2, "two at a time");
    oam.reply(&open[0], json!("first"));
    let third = oam.tool_call();
    let starts: Vec<_> = oam
        .messages()
        .iter()
        .filter(|message| message.method() == Some("tool/call"))
        .map(|message| message.line.split(r#","call""#).next().unwrap().to_owned())
        .collect();
    for (index, start) in starts.iter().enumerate() {
        assert!(start.ends_with(&format!(r#""params":{{"index":{index},"requestId":{id}"#)), "{start}");
    }
    oam.reply(&open[1], json!("second"));
    oam.reply(&third, json!("third"));
    let result = oam.wait_ok(&id);
    for (index, output) in ["first", "second", "third"].into_iter().enumerate() {
        assert_eq!(result["results"][index]["toolCalls"][0]["output"], output);
    }
}

#[test]
fn a_notification_decides_all_the_same() {
    let mut oam = Oam::start();
    let params = one([call("look", json!({})), chosen("go")], looking(json!({})));
    oam.notify("decision/decide", params);
    let call = oam.tool_call();
    assert_eq!((call.request_id.clone(), call.session.clone()), (Value::Null, None));
    oam.reply(&call, json!("seen"));
    oam.settle();
}

#[test]
fn shutdown_cancels_decisions() {
    let mut oam = Oam::start();
    let id = oam.request("decision/decide", one([call("look", json!({}))], looking(json!({}))));
    let call = oam.tool_call();
    let shutdown = oam.request("shutdown", json!({}));
    assert_eq!(oam.wait_fails(&id).name, "cancelled");
    oam.wait_ok(&shutdown);
    let cancel = oam.position("tool/cancel", |message| {
        message.method() == Some("tool/cancel") && message.value["params"]["id"] == call.id
    });
    assert!(cancel < oam.answer_position(&id));
}
