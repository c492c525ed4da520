//! `npc/update`: patches that apply between turns, all or nothing.

use oam_tests::{
    Oam,
    npc::conversation,
    script::{call, reply, template, text, tool},
};
use serde_json::{Value, json};

/// An NPC "gorm" that looks first, in world "w".
fn gorm(oam: &mut Oam, steps: impl IntoIterator<Item = Value>) {
    oam.ok("world/create", json!({"world": "w"}));
    oam.npc_with(
        "gorm",
        steps,
        json!({"persona": {"name": "Gorm", "role": "the smith", "goals": ["Sell."]}, "tools": [tool("look")],
            "memory": {"facts": ["Old."], "relationship": 5, "summary": "They met."}, "world": "w",
            "options": {"groundingTool": "look", "maxFacts": 3, "temperature": 0.5}}),
    );
}

fn update(oam: &mut Oam, params: Value) -> Value {
    let mut all = json!({"npc": "gorm"});
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    oam.ok("npc/update", all)
}

#[test]
fn what_is_sent_changes_and_the_rest_stays() {
    let mut oam = Oam::start();
    gorm(&mut oam, []);
    for (patch, place, value) in [
        (json!({"persona": {"personality": "Kind."}}), "/persona/personality", json!("Kind.")),
        (json!({"persona": {"goals": ["Rest."]}}), "/persona/goals", json!(["Rest."])),
        (json!({"persona": {"role": null}}), "/persona/role", json!("")),
        (json!({"persona": {"defaultEmotion": "gruff"}}), "/persona/defaultEmotion", json!("annoyed")),
        (json!({"memory": {"relationship": 1000}}), "/memory/relationship", json!(100)),
        (json!({"memory": {"relationship": null}}), "/memory/relationship", json!(0)),
        (json!({"memory": {"facts": ["a", "b", "c", "d"]}}), "/memory/facts", json!(["a", "b", "c", "d"])),
        (json!({"memory": {"facts": null}}), "/memory/facts", json!([])),
        (json!({"options": {"maxFacts": 7}}), "/options/maxFacts", json!(7)),
        (json!({"options": {"maxFacts": null}}), "/options/maxFacts", json!(12)),
        (
            json!({"options": {"secretsUnlockAtRelationship": null}}),
            "/options/secretsUnlockAtRelationship",
            json!(50),
        ),
        (
            json!({"options": {"toolChoice": {"tool": "look"}}}),
            "/options/toolChoice",
            json!({"tool": "look"}),
        ),
        (json!({"options": {"toolChoice": "auto"}}), "/options/toolChoice", json!("auto")),
        (json!({"options": {"toolTimeoutSeconds": 0}}), "/options/toolTimeoutSeconds", json!(0)),
        (json!({"options": {"toolTimeoutSeconds": null}}), "/options/toolTimeoutSeconds", json!(120)),
    ] {
        let mut expected = oam.saved_npc("gorm");
        let result = update(&mut oam, patch.clone());
        assert_eq!(result, json!({"npc": "gorm", "warnings": []}), "{patch}");
        *expected.pointer_mut(place).unwrap() = value;
        assert_eq!(oam.saved_npc("gorm"), expected, "{patch}");
    }
    for (patch, part, name) in [
        (json!({"memory": {"summary": null}}), "memory", "summary"),
        (json!({"options": {"temperature": null}}), "options", "temperature"),
        (json!({"options": {"groundingTool": null}}), "options", "groundingTool"),
    ] {
        update(&mut oam, patch);
        assert_eq!(oam.saved_npc("gorm")[part].get(name), None, "{name} is unset");
    }
}

#[test]
fn nothing_to_change_changes_nothing() {
    let mut oam = Oam::start();
    gorm(&mut oam, []);
    let before = oam.saved_npc("gorm");
    for patch in [
        json!({}),
        json!({"persona": {}, "memory": {}, "options": {}}),
        json!({"persona": null, "memory": null, "options": null}),
        json!({"persona": {"mood": null}, "options": {"mood": null}, "memory": {"mood": null}}),
    ] {
        assert_eq!(update(&mut oam, patch), json!({"npc": "gorm", "warnings": []}));
        assert_eq!(oam.saved_npc("gorm"), before);
    }
}

#[test]
fn an_update_that_is_wrong_anywhere_changes_nothing() {
    let mut oam = Oam::start();
    gorm(&mut oam, []);
    let before = (oam.saved_npc("gorm"), oam.listed_npc("gorm"));
    let deep = (0..80).fold(json!(1), |inner, _| json!({"a": inner}));
    for (name, value, code, message) in [
        ("persona", json!("x"), -32602, "Parameter 'persona' must be an object; got \"x\"."),
        ("persona", json!([]), -32602, "'persona'"),
        ("persona", json!({"name": null}), -32602, "Missing required parameter 'persona.name'."),
        ("persona", json!({"name": " "}), -32602, "'persona.name' must not be empty."),
        ("persona", json!({"goals": ["a", 1]}), -32602, "'persona.goals[1]'"),
        ("persona", json!({"role": deep}), -32602, "'persona"),
        ("memory", json!(4), -32602, "'memory'"),
        ("memory", json!({"facts": "x"}), -32602, "'memory.facts'"),
        ("memory", json!({"relationship": 1.5}), -32602, "'memory.relationship'"),
        ("options", json!([1]), -32602, "'options'"),
        (
            "options",
            json!({"playerOptionCount": 5}),
            -32602,
            "'options.playerOptionCount' must be between 0 and 4",
        ),
        ("options", json!({"replyFormat": "json"}), -32602, "'options.replyFormat' must be one of"),
        ("options", json!({"groundingTool": "fly"}), -32602, "'options.groundingTool'"),
        ("options", json!({"toolChoice": {"tool": "fly"}}), -32602, "'options.toolChoice'"),
        ("options", json!({"toolTimeoutSeconds": 86_401}), -32602, "'options.toolTimeoutSeconds'"),
        ("tools", json!({}), -32602, "'tools'"),
        ("tools", json!([]), -32602, "'options.groundingTool'"),
        ("tools", json!(null), -32602, "'options.groundingTool'"),
        ("tools", json!([tool("wave")]), -32602, "'options.groundingTool'"),
        ("tools", json!([tool("look"), tool("look")]), -32602, "Duplicate tool name 'look'."),
        (
            "tools",
            json!([tool("look"), tool("read_world_state")]),
            -32602,
            "Duplicate tool name 'read_world_state'.",
        ),
        ("tools", json!([tool("look"), tool("respond_directly")]), -32602, "reserved"),
        ("tools", json!([{"name": "look", "parameters": {"type": "nope"}}]), -32007, "tools[0].parameters"),
    ] {
        let mut params = json!({"npc": "gorm", "persona": {"role": "changed"}, "memory": {"relationship": 99},
            "options": {"maxFacts": 99}, "tools": [tool("look"), tool("changed")]});
        params[name] = value.clone();
        let error = oam.fails("npc/update", params);
        assert_eq!(error.code, code, "{name}: {value} {}", error.message);
        assert!(error.message.contains(message), "{name}: {value}: {}", error.message);
        assert_eq!((oam.saved_npc("gorm"), oam.listed_npc("gorm")), before, "{name}: {value}");
    }
}

#[test]
fn tools_and_the_options_that_name_them_change_together() {
    let mut oam = Oam::start();
    gorm(&mut oam, [call("wave", json!({})), reply("sad", "Hm.")]);
    update(&mut oam, json!({"tools": [tool("wave")], "options": {"groundingTool": "wave"}}));
    assert_eq!(oam.listed_npc("gorm")["tools"], json!(["wave"]));
    oam.answer_tools_with(json!("waved"));
    assert_eq!(oam.talk("gorm", "x")["toolCalls"][0]["output"], "waved");
    update(&mut oam, json!({"tools": null, "options": {"groundingTool": null}}));
    assert_eq!(oam.listed_npc("gorm")["tools"], json!([]));
    update(&mut oam, json!({"options": {"groundingTool": "read_world_state"}}));
    let memory_tool = json!({"options": {"memoryTools": "all", "groundingTool": "remember_fact"}});
    update(&mut oam, memory_tool);
    assert_eq!(oam.saved_npc("gorm")["options"]["groundingTool"], "remember_fact");
    let error = oam.fails("npc/update", json!({"npc": "gorm", "options": {"memoryTools": "none"}}));
    assert!(error.message.contains("options.groundingTool"), "{}", error.message);
}

#[test]
fn warnings_come_in_order_and_those_of_tools_again_with_a_new_time_limit() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [], json!({"tools": [{"name": "bare"}]}));
    let bare = "bare: no description; the model may not know when to call it.";
    let result = update(
        &mut oam,
        json!({"options": {"temp": 1, "toolTimeoutSeconds": 5}, "voice": 1, "persona": {"mood": "x"},
            "memory": {"mood": "x"}}),
    );
    assert_eq!(
        result["warnings"],
        json!([
            "Unknown parameter 'voice' was ignored.",
            "Unknown parameter 'persona.mood' was ignored.",
            "Unknown parameter 'memory.mood' was ignored.",
            "Unknown parameter 'options.temp' was ignored.",
            bare
        ])
    );
    assert_eq!(update(&mut oam, json!({"options": {"toolTimeoutSeconds": 5}}))["warnings"], json!([]));
    assert_eq!(update(&mut oam, json!({"tools": [{"name": "bare"}]}))["warnings"], json!([bare]));
    let many: Vec<_> = (0..5).map(|number| tool(&format!("t{number}"))).collect();
    let result = update(&mut oam, json!({"tools": many, "options": {"memoryTools": 1}}));
    assert!(result["warnings"][0].as_str().unwrap().starts_with("6 tools: "), "{result}");
}

#[test]
fn a_new_time_limit_holds_for_the_tools_there_are() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [call("look", json!({})), reply("sad", "Hm.")], json!({"tools": [tool("look")]}));
    update(&mut oam, json!({"options": {"toolTimeoutSeconds": 0.05}}));
    let turn = oam.talk("gorm", "x");
    assert_eq!(turn["toolCalls"][0]["isError"], true);
    assert_eq!(oam.count("tool/cancel"), 1);
}

#[test]
fn an_update_applies_between_the_turns_around_it() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [
            call("look", json!({})),
            text("[sad] Gorm: One."),
            text("[sad] Gorm: Two. Ash: Two."),
            template("[sad] {prompt}"),
        ],
        json!({"tools": [tool("look")], "options": {"replyFormat": "text"}}),
    );
    let first = oam.start_talk("gorm", "a");
    let call = oam.tool_call();
    let renamed = oam.request(
        "npc/update",
        json!({"npc": "gorm", "persona": {"name": "Ash"}, "memory": {"relationship": 40}}),
    );
    let second = oam.start_talk("gorm", "b");
    oam.settle();
    assert_eq!(
        (&oam.listed_npc("gorm")["name"], &oam.listed_npc("gorm")["relationship"]),
        (&json!("Gorm"), &json!(0))
    );
    oam.reply(&call, json!("seen"));
    let first = oam.wait_ok(&first);
    assert_eq!((&first["line"], &first["relationship"]), (&json!("One."), &json!(0)));
    oam.wait_ok(&renamed);
    let second = oam.wait_ok(&second);
    assert_eq!((&second["line"], &second["relationship"]), (&json!("Gorm: Two. Ash: Two."), &json!(40)));
    let instructions = oam.npc_instructions("gorm");
    assert!(
        instructions.starts_with("You play Ash, a character")
            && instructions.contains("friendly toward the player (40")
    );
    assert_eq!(oam.npc_prompts("gorm"), ["Player: a", "Player: b"], "the conversation goes on");
}

#[test]
fn options_of_the_reply_apply_from_the_next_turn() {
    let mut oam = Oam::start();
    oam.npc("gorm", vec![reply("sad", "Hm."); 3]);
    assert_eq!(oam.talk("gorm", "x")["playerOptions"], json!(["Go on.", "Goodbye."]));
    update(&mut oam, json!({"options": {"playerOptionCount": 1}}));
    assert_eq!(oam.talk("gorm", "x")["playerOptions"], json!(["Go on."]));
    update(&mut oam, json!({"options": {"playerOptionCount": 0}}));
    assert_eq!(oam.talk("gorm", "x")["playerOptions"], json!([]));
    assert_eq!(conversation(&oam.saved_npc("gorm")).len(), 6);
}
