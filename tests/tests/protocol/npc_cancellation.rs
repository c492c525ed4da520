//! Cancelling, deleting and shutting down under an NPC's work: every request is answered once, and what did not
//! happen leaves no trace.

use oam_tests::{
    Id, Oam,
    script::{call, calls, endless, feel, reply, tool},
};
use serde_json::{Value, json};

fn cancel(oam: &mut Oam) -> Value {
    oam.ok("npc/cancel", json!({"npc": "gorm"}))
}

/// One of each request that waits its turn.
fn queued(oam: &mut Oam) -> Vec<Id> {
    vec![
        oam.start_talk("gorm", "y"),
        oam.request("npc/update", json!({"npc": "gorm", "memory": {"relationship": 90}})),
        oam.request("npc/state", json!({"npc": "gorm"})),
        oam.request("npc/reset", json!({"npc": "gorm", "clearMemory": true})),
        oam.start_talk("gorm", "z"),
    ]
}

#[test]
fn the_running_turn_and_all_that_waits_end_in_order() {
    let mut oam = Oam::start();
    oam.npc_with(
        "gorm",
        [reply("sad", "0"), feel(3), endless(), reply("sad", "next")],
        json!({"memory": {"relationship": 5}, "options": {"memoryTools": "all"}}),
    );
    oam.talk("gorm", "x");
    let before = oam.saved_npc("gorm");
    let mut requests = vec![oam.start_talk_with("gorm", "x", json!({"stream": true}))];
    oam.take("its tool", |message| message.event().is_some_and(|event| event["type"] == "toolCallCompleted"));
    requests.extend(queued(&mut oam));
    assert_eq!(cancel(&mut oam), json!({"npc": "gorm", "cancelled": 6}));
    for request in &requests {
        let error = oam.wait_fails(request);
        assert_eq!((error.code, error.name.as_str()), (-32009, "cancelled"));
    }
    let positions: Vec<_> = requests.iter().map(|id| oam.answer_position(id)).collect();
    assert!(positions.is_sorted(), "they end in the order of the queue");
    let after = oam.saved_npc("gorm");
    assert_eq!(
        (oam_tests::npc::conversation(&after), &after["memory"]),
        (oam_tests::npc::conversation(&before), &before["memory"])
    );
    assert_eq!(oam.talk("gorm", "z")["line"], "next", "what waited has asked no model");
}

#[test]
fn open_tool_calls_are_withdrawn_before_the_error() {
    let mut oam = Oam::start();
    let both = calls(&[("look", json!({"what": "1"})), ("look", json!({"what": "2"}))]);
    oam.npc_with("gorm", [both, reply("sad", "next")], json!({"tools": [tool("look")]}));
    let turn = oam.start_talk("gorm", "x");
    let open = [oam.tool_call(), oam.tool_call()];
    cancel(&mut oam);
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
    let error = oam.answer_position(&turn);
    for call in &open {
        let withdrawn = oam.position("tool/cancel", |message| {
            message.method() == Some("tool/cancel") && message.value["params"]["id"] == call.id.as_str()
        });
        assert!(withdrawn < error);
        let params = &oam.messages()[withdrawn].value["params"];
        assert_eq!((&params["npc"], &params["callId"]), (&json!("gorm"), &json!(call.call_id)));
        assert_eq!(params["reason"], "The turn ended before the tool finished.");
        oam.reply(call, json!("late"));
    }
    assert_eq!(oam.talk("gorm", "x")["line"], "next");
    assert_eq!(oam.listed_npc("gorm")["turnCount"], 1);
}

#[test]
fn an_idle_npc_has_nothing_to_cancel() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", vec![reply("sad", "Hm."); 20], json!({"options": {"compactAfterTurns": 0}}));
    for turns in 1..=20 {
        oam.talk("gorm", "x");
        assert_eq!(cancel(&mut oam)["cancelled"], 0, "a turn whose answer is out is over");
        assert_eq!(oam.listed_npc("gorm")["turnCount"], turns);
    }
}

#[test]
fn whoever_is_cancelled_while_it_ends_is_counted_if_and_only_if_it_fails() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", vec![reply("sad", "Hm."); 60], json!({"options": {"compactAfterTurns": 0}}));
    let mut stands = 0;
    for _ in 0..60 {
        let turn = oam.start_talk_with("gorm", "x", json!({"stream": true}));
        let cancelled = cancel(&mut oam)["cancelled"].as_u64().unwrap();
        match oam.wait(&turn) {
            Ok(_) => {
                stands += 1;
                assert_eq!(cancelled, 0);
            }
            Err(error) => assert_eq!((error.name.as_str(), cancelled), ("cancelled", 1)),
        }
        assert_eq!(oam.listed_npc("gorm")["turnCount"], stands);
    }
}

#[test]
fn it_works_as_a_notification() {
    let mut oam = Oam::start();
    oam.npc("gorm", [endless()]);
    let turn = oam.start_talk("gorm", "x");
    oam.notify("npc/cancel", json!({"npc": "gorm"}));
    assert_eq!(oam.wait_fails(&turn).name, "cancelled");
}

#[test]
fn other_npcs_are_left_alone() {
    let mut oam = Oam::start();
    oam.npc("gorm", [endless()]);
    oam.npc_with("lysa", [call("look", json!({})), reply("sad", "Hm.")], json!({"tools": [tool("look")]}));
    let (one, other) = (oam.start_talk("gorm", "x"), oam.start_talk("lysa", "x"));
    let call = oam.tool_call();
    assert_eq!(cancel(&mut oam)["cancelled"], 1);
    oam.wait_fails(&one);
    oam.reply(&call, json!("seen"));
    assert_eq!(oam.wait_ok(&other)["line"], "Hm.");
}

#[test]
fn a_deleted_npc_takes_its_work_with_it_and_frees_its_id_at_once() {
    let mut oam = Oam::start();
    oam.npc_with("gorm", [call("look", json!({}))], json!({"tools": [tool("look")]}));
    let mut requests = vec![oam.start_talk("gorm", "x")];
    oam.tool_call();
    requests.extend(queued(&mut oam));
    let delete = oam.request("npc/delete", json!({"npc": "gorm"}));
    let unknown = oam.start_talk("gorm", "x");
    let model = json!({"type": "scripted", "steps": [reply("sad", "Fresh.")]});
    let create =
        oam.request("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "model": model}));
    let talk = oam.start_talk("gorm", "x");
    assert_eq!(oam.wait_ok(&delete), json!({"npc": "gorm", "deleted": true}));
    for request in &requests {
        assert_eq!(oam.wait_fails(request).name, "cancelled");
    }
    assert_eq!(oam.wait_fails(&unknown).name, "npc_not_found");
    oam.wait_ok(&create);
    assert_eq!(oam.wait_ok(&talk)["line"], "Fresh.");
    assert_eq!(oam.count("tool/cancel"), 1);
    assert_eq!(oam.listed_npc("gorm")["turnCount"], 1);
}

#[test]
fn a_shutdown_answers_all_that_is_unfinished_first() {
    let mut oam = Oam::start();
    oam.ok("world/create", json!({"world": "w"}));
    oam.npc_with("gorm", [call("look", json!({}))], json!({"tools": [tool("look")], "world": "w"}));
    oam.npc("lysa", [endless(), endless()]);
    let mut requests = vec![oam.start_talk("gorm", "x")];
    oam.tool_call();
    requests.extend(queued(&mut oam));
    requests.push(oam.start_talk("lysa", "x"));
    requests.push(oam.request("npc/bark", json!({"npc": "lysa"})));
    let endless = json!({"type": "scripted", "steps": [endless()]});
    let decision = json!({"situation": "x", "options": ["a", "b"], "actor": "gorm"});
    requests.push(oam.request("decision/decideMany", json!({"requests": [decision], "model": endless})));
    let shutdown = oam.request("shutdown", json!({}));
    assert_eq!(oam.wait_ok(&shutdown), json!({}));
    for request in &requests {
        assert!(oam.answer_position(request) < oam.answer_position(&shutdown));
        match oam.wait(request) {
            Err(error) => assert_eq!(error.name, "cancelled"),
            Ok(crowd) => assert_eq!(crowd["results"][0]["error"]["data"]["code"], "cancelled"),
        }
    }
    assert!(oam.wait_exit().success());
}

#[test]
fn the_end_of_input_lets_what_was_asked_finish() {
    let mut oam = Oam::start();
    let slow = |line: &str| {
        let mut step = reply("sad", line);
        step["delayMs"] = json!(50);
        step
    };
    oam.npc_with(
        "gorm",
        [slow("One."), slow("Two.")],
        json!({"options": {"compactAfterTurns": 2, "keepRecentTurns": 0}}),
    );
    let requests = [
        oam.start_talk("gorm", "x"),
        oam.start_talk("gorm", "x"),
        oam.request("npc/state", json!({"npc": "gorm"})),
    ];
    oam.close_input();
    assert_eq!(oam.wait_ok(&requests[0])["line"], "One.");
    assert_eq!(oam.wait_ok(&requests[1])["line"], "Two.");
    assert_eq!(oam.wait_ok(&requests[2])["state"]["memory"]["summary"], "(script exhausted)");
    assert!(oam.wait_exit().success());
}
