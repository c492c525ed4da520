//! NPCs from creation to deletion: what they are made of, their ids, their limit, their list.

use oam_tests::{
    Oam,
    script::{endless, reply, tool},
};
use serde_json::{Value, json};

/// Parameters of `npc/create` for a nameable character on a scripted model; `more` adds members or replaces them.
fn params(more: Value) -> Value {
    let mut params = json!({"persona": {"name": "Gorm"}, "model": "scripted"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn ids(oam: &mut Oam) -> Vec<String> {
    let list = oam.ok("npc/list", json!({}));
    list["npcs"].as_array().unwrap().iter().map(|npc| npc["npc"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_answer_names_the_tools_in_the_order_in_which_the_model_sees_them() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    let wrapped = json!({"type": "function", "function": tool("wave")});
    let options = json!({"worldWritable": ["player"], "memoryTools": "all"});
    oam.ok(
        "npc/create",
        params(json!({"npc": "gorm", "tools": [tool("look"), wrapped], "world": "w", "options": options})),
    );
    let line = &oam.messages().last().unwrap().line;
    assert!(
        line.ends_with(
            r#""result":{"npc":"gorm","tools":["look","wave","read_world_state","update_world_state","remember_fact","change_relationship"],"warnings":["6 tools: Apple recommends at most 3-5 tools per request on-device; give only those that are needed here."]}}"#
        ),
        "{line}"
    );
}

#[test]
fn world_and_options_decide_on_the_built_in_tools() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    for (world, options, tools) in [
        (json!(null), json!({"worldWritable": [""]}), json!([])),
        (json!("w"), json!({}), json!(["read_world_state"])),
        (json!("w"), json!({"worldReadable": []}), json!([])),
        (
            json!("w"),
            json!({"worldReadable": [], "worldWritable": ["player.gold"]}),
            json!(["update_world_state"]),
        ),
        (json!("w"), json!({"worldReadable": ["a..b"], "worldWritable": ["a..b"]}), json!([])),
        (
            json!("w"),
            json!({"worldReadable": ["a..b", "a"], "worldWritable": [""]}),
            json!(["read_world_state", "update_world_state"]),
        ),
        (json!(null), json!({"memoryTools": ["changeRelationship"]}), json!(["change_relationship"])),
        (json!(null), json!({"memoryTools": 1}), json!(["remember_fact"])),
    ] {
        let created = oam.ok("npc/create", params(json!({"world": world, "options": options})));
        assert_eq!(created["tools"], tools, "{world} {options}");
        assert_eq!(created["warnings"], json!([]), "{options}");
    }
}

#[test]
fn the_list_tells_of_each_npc_in_order_of_creation() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    let persona = json!({"name": "Gorm", "role": "the smith"});
    let wrapped = json!({"type": "function", "function": tool("wave")});
    oam.npc_with(
        "z",
        [reply("happy", "Hm.")],
        json!({"persona": persona, "world": "w", "memory": {"relationship": -7}, "tools": [tool("look"), wrapped]}),
    );
    oam.ok("npc/create", json!({"npc": "a", "persona": {"name": "Ash"}}));
    oam.talk("z", "Hello");
    let list = oam.ok("npc/list", json!({}));
    let mut npcs = list["npcs"].as_array().unwrap().clone();
    let members: Vec<_> = npcs[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "npc",
            "name",
            "role",
            "world",
            "model",
            "tools",
            "turnCount",
            "relationship",
            "busy",
            "pendingOperations",
            "createdAt"
        ]
    );
    for npc in &mut npcs {
        let created = npc["createdAt"].take();
        let created = created.as_str().unwrap();
        assert!(created.len() == 20 && created.ends_with('Z') && created.contains('T'), "{created}");
    }
    assert_eq!(
        npcs,
        [
            json!({"npc": "z", "name": "Gorm", "role": "the smith", "world": "w", "model": "scripted",
                "tools": ["look", "wave"], "turnCount": 1, "relationship": -7, "busy": false,
                "pendingOperations": 0, "createdAt": null}),
            json!({"npc": "a", "name": "Ash", "role": "", "world": null, "model": "system", "tools": [],
                "turnCount": 0, "relationship": 0, "busy": false, "pendingOperations": 0, "createdAt": null})
        ]
    );
}

#[test]
fn the_list_counts_what_is_unfinished() {
    let mut oam = Oam::start();
    oam.npc("gorm", [endless()]);
    oam.start_talk("gorm", "a");
    oam.request("npc/update", json!({"npc": "gorm", "persona": {"name": "Gorm II"}}));
    oam.request("npc/state", json!({"npc": "gorm"}));
    oam.request("npc/reset", json!({"npc": "gorm"}));
    oam.request("npc/bark", json!({"npc": "gorm"}));
    let listed = oam.listed_npc("gorm");
    assert_eq!((&listed["busy"], &listed["pendingOperations"]), (&json!(true), &json!(4)));
    assert_eq!(listed["name"], "Gorm", "an update that waits has no effect yet");
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 4);
}

#[test]
fn ids_are_chosen_or_made_up() {
    let mut oam = Oam::start();
    for id in ["npc2", "Gorm the smith", "鍛冶屋", &"x".repeat(128), &"e\u{301}".repeat(128)] {
        assert_eq!(oam.ok("npc/create", params(json!({"npc": id})))["npc"], id);
    }
    for id in [json!(""), json!("x".repeat(129)), json!("a\nb"), json!("a\u{200d}b"), json!(7), json!([])] {
        let error = oam.fails("npc/create", params(json!({"npc": id})));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{id}");
        assert!(error.message.contains("npc"), "{}", error.message);
    }
    for id in ["npc1", "npc3"] {
        assert_eq!(oam.ok("npc/create", params(json!({"npc": null})))["npc"], id);
    }
    oam.fails("npc/create", params(json!({"persona": null})));
    assert_eq!(oam.ok("npc/create", params(json!({})))["npc"], "npc5", "the refused one had npc4");
}

#[test]
fn an_id_is_taken_until_its_npc_is_deleted() {
    let mut oam = Oam::start();
    oam.npc("gorm", [reply("happy", "Hm.")]);
    oam.session("gorm", []);
    oam.ok("world/create", json!({"world": "gorm"}));
    let error = oam.fails("npc/create", params(json!({"npc": "gorm"})));
    assert_eq!((error.code, error.message.as_str()), (-32051, "An NPC with id 'gorm' already exists."));
    assert_eq!(*error.data, json!({"code": "npc_exists", "npc": "gorm"}));
    oam.talk("gorm", "Hello");
    assert_eq!(oam.ok("npc/delete", json!({"npc": "gorm"})), json!({"npc": "gorm", "deleted": true}));
    assert_eq!(oam.ok("npc/list", json!({})), json!({"npcs": []}));
    oam.npc("gorm", []);
    assert_eq!(oam.listed_npc("gorm")["turnCount"], 0);
    assert_eq!(oam.listed("gorm")["session"], "gorm", "a session's name is its own");
}

#[test]
fn methods_on_an_unknown_npc_say_so() {
    let mut oam = Oam::start();
    for method in ["talk", "bark", "state", "update", "reset", "cancel", "delete"] {
        let method = format!("npc/{method}");
        // What else is wrong is not looked at.
        let error = oam.fails(&method, json!({"npc": "nobody", "line": 1, "settle": 1, "persona": 1}));
        assert_eq!((error.code, error.message.as_str()), (-32050, "No NPC with id 'nobody'."), "{method}");
        assert_eq!(*error.data, json!({"code": "npc_not_found", "npc": "nobody"}));
        for (npc, message) in [
            (json!(null), "Missing required parameter 'npc'."),
            (json!(7), "Parameter 'npc' must be a string; got 7."),
        ] {
            let error = oam.fails(&method, json!({"npc": npc, "line": "x"}));
            assert_eq!((error.code, error.message.as_str()), (-32602, message), "{method}");
        }
    }
}

#[test]
fn parameters_of_the_simple_methods_are_checked() {
    let mut oam = Oam::start();
    oam.npc("gorm", []);
    for (method, name, value) in [
        ("npc/state", "settle", json!("no")),
        ("npc/state", "settle", json!(0)),
        ("npc/reset", "clearMemory", json!("yes")),
        ("npc/reset", "clearMemory", json!([])),
    ] {
        let error = oam.fails(method, json!({"npc": "gorm", name: value}));
        assert_eq!(error.code, -32602);
        assert_eq!(error.message, format!("Parameter '{name}' must be a boolean; got {value}."));
    }
    assert_eq!(oam.ok("npc/reset", json!({"npc": "gorm", "clearMemory": null})), json!({"npc": "gorm"}));
    assert_eq!(oam.ok("npc/cancel", json!({"npc": "gorm"})), json!({"npc": "gorm", "cancelled": 0}));
}

/// What is wrong with a create, in the order in which it is found: parameter, value, code, and a part of the message.
fn faults() -> Vec<(&'static str, Value, i64, &'static str)> {
    vec![
        ("npc", json!(""), -32602, "'npc'"),
        ("npc", json!("taken"), -32051, "An NPC with id 'taken' already exists."),
        ("persona", json!({"name": " "}), -32602, "'persona.name' must not be empty."),
        ("memory", json!(3), -32602, "Parameter 'memory' must be an object; got 3."),
        ("tools", json!({}), -32602, "Parameter 'tools' must be an array; got {}."),
        ("options", json!("x"), -32602, "Parameter 'options' must be an object; got \"x\"."),
        ("world", json!(1), -32602, "Parameter 'world' must be a string; got 1."),
        ("model", json!("nope"), -32602, "Unknown model type 'nope'."),
        ("tools", json!([{"name": "a b"}]), -32602, "Parameter 'tools[0].name' must be"),
        ("tools", json!([{"name": "look", "parameters": {"type": "nope"}}]), -32007, "tools[0].parameters"),
        ("world", json!("nowhere"), -32052, "No world with id 'nowhere'."),
        ("tools", json!([tool("read_world_state")]), -32602, "Duplicate tool name 'read_world_state'."),
        ("tools", json!([tool("respond_directly")]), -32602, "'respond_directly' is reserved"),
        ("options", json!({"groundingTool": "fly"}), -32602, "'options.groundingTool'"),
        ("options", json!({"toolChoice": {"tool": "fly"}}), -32602, "'options.toolChoice'"),
    ]
}

#[test]
fn what_is_wrong_is_named_in_the_order_of_the_checks_and_nothing_is_created() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    oam.npc("taken", []);
    let faults = faults();
    for number in 0..faults.len() {
        let mut params = params(json!({"world": "w"}));
        for (name, value, ..) in faults[number..].iter().rev() {
            params[name] = value.clone();
        }
        let (_, _, code, message) = &faults[number];
        let error = oam.fails("npc/create", params);
        assert_eq!(error.code, *code, "{message} {}", error.message);
        assert!(error.message.contains(message), "{message} {}", error.message);
    }
    assert_eq!(ids(&mut oam), ["taken"]);
}

#[test]
fn names_of_tools_may_clash_with_those_of_built_in_tools_only_where_there_are_none() {
    let mut oam = Oam::start();
    let tools = ["read_world_state", "update_world_state", "remember_fact", "change_relationship"];
    let all: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    assert_eq!(oam.ok("npc/create", params(json!({"tools": all})))["tools"], json!(tools));
    oam.ok("world/create", json!({"world": "w"}));
    let options = json!({"worldWritable": [""], "memoryTools": "all"});
    for name in tools {
        let params = params(json!({"tools": [tool(name)], "world": "w", "options": options}));
        assert_eq!(oam.fails("npc/create", params).message, format!("Duplicate tool name '{name}'."));
    }
}

#[test]
fn what_is_probably_not_meant_is_warned_about_in_order() {
    let mut oam = Oam::start();
    let mut tools: Vec<_> = (0..5).map(|number| tool(&format!("t{number}"))).collect();
    tools.push(json!({"name": "bare", "parameters": {"type": "object", "properties":
        {"code": {"type": "string", "pattern": "^x$"}}}}));
    let created = oam.ok(
        "npc/create",
        json!({"voice": null, "options": {"temp": 1}, "memory": {"mood": "x", "facts": []}, "tools": tools,
            "persona": {"age": 3, "name": "Gorm"}}),
    );
    let warnings: Vec<_> =
        created["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let expected = [
        "Unknown parameter 'voice' was ignored.",
        "Unknown parameter 'persona.age' was ignored.",
        "Unknown parameter 'memory.mood' was ignored.",
        "Unknown parameter 'options.temp' was ignored.",
        "bare: no description; the model may not know when to call it.",
        "bare: ",
        "The system model is unavailable (",
        "6 tools: Apple recommends at most 3-5 tools",
    ];
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning:?} {expected:?}");
    }
}

#[test]
fn null_parameters_count_as_absent() {
    let mut oam = Oam::start();
    let created = oam.ok(
        "npc/create",
        params(json!({"npc": null, "tools": null, "world": null, "memory": null, "options": null})),
    );
    assert_eq!(created, json!({"npc": "npc1", "tools": [], "warnings": []}));
    let created = oam.ok("npc/create", json!({"persona": {"name": "Gorm", "role": null}, "model": null}));
    assert_eq!(oam.listed_npc(created["npc"].as_str().unwrap())["model"], "system");
}

#[test]
fn there_may_be_128_npcs() {
    let mut oam = Oam::start();
    let requests: Vec<_> = (0..128).map(|_| oam.request("npc/create", params(json!({})))).collect();
    for request in &requests {
        oam.wait_ok(request);
    }
    let state = oam.saved_npc("npc7");
    let expected: Vec<_> = (1..=128).map(|number| format!("npc{number}")).collect();
    assert_eq!(ids(&mut oam), expected);
    for (method, params) in [
        ("npc/create", params(json!({}))),
        ("npc/restore", json!({"state": state, "npc": "copy", "model": "scripted"})),
    ] {
        let error = oam.fails(method, params);
        assert_eq!((error.code, error.name.as_str()), (-32055, "limit_reached"));
        assert_eq!(error.message, "The limit of 128 NPCs is reached; delete some first.");
        assert_eq!(*error.data, json!({"code": "limit_reached", "limit": 128}));
    }
    assert_eq!(oam.fails("npc/create", params(json!({"npc": "npc1"}))).name, "npc_exists");
    assert_eq!(oam.fails("npc/create", params(json!({"options": 1}))).name, "invalid_params");
    oam.ok("npc/delete", json!({"npc": "npc64"}));
    oam.ok("npc/create", params(json!({"npc": "last"})));
    let ids = ids(&mut oam);
    assert_eq!((ids.len(), ids.last().unwrap().as_str()), (128, "last"));
}

#[test]
fn an_npc_is_created_and_used_in_one_burst() {
    let mut oam = Oam::start();
    let model = json!({"type": "scripted", "steps": [reply("happy", "One."), reply("sad", "Two.")]});
    let create = oam.request("npc/create", params(json!({"npc": "gorm", "model": model})));
    let talk = oam.start_talk("gorm", "a");
    let update = oam.request("npc/update", json!({"npc": "gorm", "memory": {"relationship": 30}}));
    let again = oam.start_talk("gorm", "b");
    let state = oam.request("npc/state", json!({"npc": "gorm"}));
    let list = oam.request("npc/list", json!({}));
    assert_eq!(oam.wait_ok(&list)["npcs"][0]["npc"], "gorm");
    oam.wait_ok(&create);
    assert_eq!(
        (&oam.wait_ok(&talk)["line"], oam.wait_ok(&update)),
        (&json!("One."), json!({"npc": "gorm", "warnings": []}))
    );
    let turn = oam.wait_ok(&again);
    assert_eq!((&turn["line"], &turn["relationship"]), (&json!("Two."), &json!(30)));
    let state = oam.wait_ok(&state);
    assert_eq!(oam_tests::npc::conversation(&state["state"]).len(), 4);
}

#[test]
fn notifications_take_effect_in_silence() {
    let mut oam = Oam::start();
    oam.notify("npc/create", params(json!({"npc": "gorm"})));
    oam.notify("npc/create", params(json!({"npc": "gorm"})));
    oam.notify("npc/update", json!({"npc": "gorm", "persona": {"role": "the smith"}}));
    assert_eq!(oam.saved_npc("gorm")["persona"]["role"], "the smith");
    oam.notify("npc/delete", json!({"npc": "gorm"}));
    assert_eq!(ids(&mut oam).len(), 0);
    assert_eq!(oam.messages().len(), 2, "only what was asked for is answered");
}

#[test]
fn initialize_tells_of_the_methods_and_the_notification() {
    let mut oam = Oam::start();
    let capabilities = oam.ok("initialize", json!({}))["capabilities"].clone();
    let methods: Vec<_> =
        capabilities["methods"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let npc: Vec<_> = methods.iter().filter_map(|name| name.strip_prefix("npc/")).collect();
    assert_eq!(
        npc,
        ["bark", "cancel", "create", "delete", "list", "reset", "restore", "state", "talk", "update"]
    );
    assert!(methods.contains(&"decision/decide") && methods.contains(&"content/generate"));
    assert_eq!(
        capabilities["notifications"],
        json!(["session/event", "tool/cancel", "npc/event", "world/changed"])
    );
}
