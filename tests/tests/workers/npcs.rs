//! NPCs, barks and decisions whose workers die or hang: the player hears one line, and everything happens once.

use oam_tests::{
    npc::{conversation, played},
    pool::{Pool, Setup, types, workers},
    script::{call, calls, remember, reply, reply_in_pieces, text, tool, write_world},
};
use serde_json::{Value, json};

const LINE: &str = "Welcome to my forge, lad. Mind the sparks.";

/// Creates NPC "gorm" in world "w", whose worker plays `steps`.
fn gorm(pool: &mut Pool, steps: impl IntoIterator<Item = Value>, options: Value) {
    let steps: Vec<_> = steps.into_iter().collect();
    let mut all = json!({"memoryTools": "all", "worldWritable": [""], "maxToolRounds": 5, "compactAfterTurns": 0,
        "extraInstructions": format!("oam-script:{}", json!(steps))});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    pool.ok("world/create", json!({"world": "w", "state": {"gold": 1, "log": []}}));
    pool.ok("world/subscribe", json!({"world": "w"}));
    pool.ok(
        "npc/create",
        json!({"npc": "gorm", "persona": {"name": "Gorm"}, "tools": [tool("look")], "world": "w", "options": all}),
    );
}

/// A tool of each kind, then the line.
fn everything(chunks: usize) -> [Value; 3] {
    [
        calls(&[
            ("look", json!({"what": "door"})),
            ("remember_fact", json!({"fact": "Aria is brave."})),
            ("change_relationship", json!({"reason": "Kind.", "delta": 5})),
        ]),
        write_world("log.0", "met Aria"),
        reply_in_pieces("happy", LINE, chunks),
    ]
}

/// What must be the same whatever happens to workers: the answer, what is remembered and written, what was told.
fn told(pool: &mut Pool, prompt: &str) -> Value {
    pool.answer_tools_with(json!("a closed door"));
    let (mut turn, events) = pool.talk_streamed("gorm", prompt);
    assert_eq!(played(&events), (Some("happy".to_owned()), LINE.to_owned()));
    assert_eq!(types(&events).iter().filter(|kind| **kind == "emotion").count(), 1);
    let tools = |kind: &str| types(&events).iter().filter(|event| **event == kind).count();
    assert_eq!((tools("toolCallStarted"), tools("toolCallCompleted")), (4, 4));
    for record in turn["toolCalls"].as_array_mut().unwrap() {
        record["durationSeconds"].take();
        record["call"]["id"].take();
    }
    let mut records = turn["toolCalls"].take();
    records.as_array_mut().unwrap().sort_by_key(ToString::to_string);
    let state = pool.saved_npc("gorm");
    let roles: Vec<_> = conversation(&state).iter().map(|entry| entry["role"].clone()).collect();
    let world = pool.ok("world/snapshot", json!({"world": "w"}));
    json!({"turn": turn, "records": records, "memory": state["memory"], "roles": roles, "world": world,
        "asked": pool.count("tool/call"), "changes": pool.count("world/changed")})
}

#[test]
fn a_turn_comes_out_the_same_wherever_its_worker_dies() {
    let undisturbed = {
        let mut pool = workers().start();
        gorm(&mut pool, everything(6), json!({}));
        told(&mut pool, "boom")
    };
    assert_eq!(undisturbed["asked"], 1);
    assert_eq!((&undisturbed["world"]["version"], &undisturbed["changes"]), (&json!(1), &json!(1)));
    assert_eq!(undisturbed["memory"], json!({"facts": ["Aria is brave."], "relationship": 5}));
    let once = |kind: &str, when: &str| -> (Setup, String) {
        (workers().fault_once(kind, when), format!("{kind}:{when}"))
    };
    for (setup, what) in [
        once("kill", "word=boom+at=start"),
        once("abort", "word=boom+at=end"),
        once("segv", "word=boom"),
        once("half-frame", "word=boom"),
        once("exit0", "word=boom+at=end"),
        (workers().fault("abort:step=2"), "the step after the client's tool".to_owned()),
        (workers().fault("abort:step=2+at=end"), "the step after the client's tool, at its end".to_owned()),
        (workers().fault("kill:step=3"), "the line".to_owned()),
        (workers().fault("crash-streaming"), "the line, in the middle".to_owned()),
        (workers().fault("kill:step=3+at=start"), "before the line".to_owned()),
        (workers().fault("kill:step=3+at=end"), "the whole line".to_owned()),
    ] {
        let mut pool = setup.flags(&["--no-spare"]).start();
        pool.when_ready(1);
        gorm(&mut pool, everything(6), json!({}));
        assert_eq!(told(&mut pool, "boom"), undisturbed, "{what}");
        assert!(pool.counter("replays") > 0, "{what}");
    }
}

#[test]
fn a_line_that_breaks_off_is_continued_in_every_format() {
    let spoken = json!({"text": format!("[happy] Gorm: {LINE}"), "chunks": 9});
    for (format, step) in
        [("structured", reply_in_pieces("happy", &format!("Gorm: {LINE}"), 9)), ("text", spoken)]
    {
        for fault in ["abort:stream", "kill:stream+at=end", "crash-streaming"] {
            let mut pool = workers().fault(fault).start();
            gorm(&mut pool, [step.clone()], json!({"replyFormat": format}));
            let (turn, events) = pool.talk_streamed("gorm", "Hello");
            assert_eq!(
                (&turn["line"], &turn["emotion"]),
                (&json!(LINE), &json!("happy")),
                "{format} {fault}"
            );
            assert!(!types(&events).contains(&"lineReset"), "{format} {fault}: {events:?}");
            assert_eq!(pool.counter("replays"), 1, "{format} {fault}");
        }
    }
}

#[test]
fn a_line_that_goes_on_otherwise_starts_over() {
    let setup = workers();
    let script = setup.path("script.json");
    std::fs::write(
        &script,
        json!([text("[sad] Halt! Who is there?"), text("[happy] Go away at once!")]).to_string(),
    )
    .unwrap();
    // Counted by each process, the second step of the script is the first of the next process, which says the first.
    let counted = ["--script", script.to_str().unwrap(), "--script-position", "process"];
    let mut pool = setup.worker_args(&counted).fault("crash-streaming:step=2").start();
    pool.when_ready(2);
    pool.ok(
        "npc/create",
        json!({"npc": "gorm", "persona": {"name": "Gorm"}, "options": {"replyFormat": "text"}}),
    );
    assert_eq!(pool.talk("gorm", "x")["line"], "Halt! Who is there?");
    let (turn, events) = pool.talk_streamed("gorm", "y");
    assert_eq!(turn["line"], "Halt! Who is there?");
    let (emotion, line) = played(&events);
    assert_eq!((json!(emotion), json!(line)), (turn["emotion"].clone(), turn["line"].clone()));
    assert_eq!(pool.counter("replays"), 1);
}

#[test]
fn a_turn_whose_worker_hangs_comes_out_the_same() {
    let mut pool = workers().fault_once("hang", "word=boom").flags(&["--step-timeout", "0.3"]).start();
    gorm(&mut pool, everything(6), json!({}));
    let told = told(&mut pool, "boom");
    assert_eq!((&told["asked"], &told["changes"]), (&json!(1), &json!(1)));
    assert_eq!(told["memory"], json!({"facts": ["Aria is brave."], "relationship": 5}));
    assert_eq!((pool.counter("hangs"), pool.counter("replays")), (1, 1));
}

#[test]
fn a_turn_that_kills_every_worker_fails_and_leaves_what_tools_did_to_the_world_only() {
    let mut pool = workers().fault("kill:word=boom+at=end").flags(&["--max-step-crashes", "2"]).start();
    let steps = [reply("happy", LINE), reply("sad", "Well.")];
    gorm(&mut pool, steps, json!({}));
    pool.talk("gorm", "Hello");
    let before = pool.saved_npc("gorm");
    let turn = pool.start_talk_with("gorm", "boom", json!({"stream": true}));
    let error = pool.wait_fails(&turn);
    assert_eq!(
        (error.code, &error.data["workerCrashes"]),
        (-32012, &json!(2)),
        "no fallback line: nothing was blocked"
    );
    let after = pool.saved_npc("gorm");
    assert_eq!((conversation(&after), &after["memory"]), (conversation(&before), &before["memory"]));
    assert_eq!(pool.talk("gorm", "Hello again")["line"], "Well.");
}

#[test]
fn memory_is_staged_once_although_the_step_that_stages_it_crashed() {
    let mut pool = workers().fault_once("abort", "at=end").start();
    let steps = [
        remember("Aria is brave."),
        call("change_relationship", json!({"reason": "x", "delta": 5})),
        reply("happy", LINE),
    ];
    gorm(&mut pool, steps, json!({}));
    let turn = pool.talk("gorm", "Hello");
    assert_eq!(turn["relationship"], 5);
    assert_eq!(turn["toolCalls"].as_array().unwrap().len(), 2);
    assert_eq!(pool.saved_npc("gorm")["memory"], json!({"facts": ["Aria is brave."], "relationship": 5}));
    assert_eq!(pool.counter("replays"), 1);
}

#[test]
fn a_forced_tool_is_called_by_a_worker_without_a_script() {
    let mut pool = workers().start();
    pool.answer_tools_with(json!("a closed door"));
    for (options, talk, count) in [
        (json!({"groundingTool": "wave"}), json!({}), 1),
        (json!({"toolChoice": {"tool": "wave"}}), json!({}), 1),
        (json!({"groundingTool": "wave"}), json!({"toolChoice": "none"}), 0),
        (json!({"toolChoice": "auto"}), json!({}), 0),
        (json!({"toolChoice": "none"}), json!({"toolChoice": "required"}), 1),
        (json!({"groundingTool": "wave", "maxToolRounds": 0}), json!({}), 0),
        (json!({"toolChoice": "explicit"}), json!({}), 1),
    ] {
        let npc = json!({"npc": "gorm", "persona": {"name": "Gorm"}, "tools": [tool("wave")],
            "options": {"replyFormat": "text"}});
        pool.ok("npc/create", npc);
        pool.ok("npc/update", json!({"npc": "gorm", "options": options}));
        let turn = pool.talk_with("gorm", "Hello", talk.clone());
        let records = turn["toolCalls"].as_array().unwrap();
        assert_eq!(records.len(), count, "{options} {talk}: {turn}");
        pool.ok("npc/delete", json!({"npc": "gorm"}));
    }
}

#[test]
fn a_bark_whose_worker_dies_is_still_barked() {
    for fault in ["abort", "kill", "exit0", "half-frame"] {
        let mut pool = workers().fault_once(fault, "").start();
        gorm(&mut pool, [text("Gorm: Rain again.")], json!({}));
        let bark = pool.ok("npc/bark", json!({"npc": "gorm", "situation": "Rain."}));
        assert_eq!(bark, json!({"npc": "gorm", "line": "Rain again."}), "{fault}");
        assert_eq!(pool.counter("replays"), 1, "{fault}");
    }
    let mut pool = workers().fault("segv:word=boom").flags(&["--max-step-crashes", "2"]).start();
    gorm(&mut pool, [text("Rain again.")], json!({}));
    let error = pool.fails("npc/bark", json!({"npc": "gorm", "situation": "boom"}));
    assert_eq!((error.code, &error.data["workerCrashes"]), (-32012, &json!(2)));
    assert_eq!(pool.ok("npc/bark", json!({"npc": "gorm"}))["line"], "Rain again.");
}

/// Instructions that have a worker choose `option`.
fn choosing(option: &str) -> String {
    let step = json!({"json": {"reasoning": "Because.", "choice": option, "confidence": 60}});
    format!("Decide.\noam-script:{}", json!([call("look", json!({})), step]))
}

#[test]
fn a_decision_whose_worker_dies_is_made_and_its_tool_is_called_once() {
    for fault in ["abort:step=2", "kill:step=2+at=start", "segv:step=2+at=end"] {
        let mut pool = workers().fault(fault).flags(&["--no-spare"]).start();
        pool.when_ready(1);
        pool.answer_tools_with(json!("a closed door"));
        let decided = pool.ok("decision/decide", decision());
        assert_eq!(
            (&decided["optionID"], &decided["isFallback"]),
            (&json!("stay"), &json!(false)),
            "{fault}"
        );
        assert_eq!((pool.count("tool/call"), pool.counter("replays")), (1, 1), "{fault}");
    }
}

#[test]
fn a_decision_that_kills_every_worker_fails_although_it_has_a_fallback() {
    let mut pool = workers().fault("kill").flags(&["--max-step-crashes", "2"]).start();
    let error = pool.fails("decision/decide", decision());
    assert_eq!((error.code, &error.data["workerCrashes"]), (-32012, &json!(2)), "nothing was blocked");
}

fn decision() -> Value {
    json!({"situation": "x", "options": ["go", "stay"], "tools": [tool("look")], "instructions": choosing("stay"),
        "fallbackOptionID": "go"})
}

#[test]
fn of_a_crowd_only_the_decision_that_kills_workers_fails() {
    let mut pool = workers().fault("kill:word=boom").flags(&["--max-step-crashes", "2"]).start();
    pool.answer_tools_with(json!("a closed door"));
    let requests: Vec<_> = ["a", "boom", "c"]
        .iter()
        .map(|situation| json!({"situation": situation, "options": ["go", "stay"], "tools": [tool("look")]}))
        .collect();
    let crowd = json!({"requests": requests, "instructions": choosing("stay"), "maxConcurrency": 1});
    let results = pool.ok("decision/decideMany", crowd)["results"].clone();
    assert_eq!((&results[0]["optionID"], &results[2]["optionID"]), (&json!("stay"), &json!("stay")));
    assert_eq!(results[1]["error"]["data"]["code"], "generation_failed", "{results}");
    assert_eq!(pool.count("tool/call"), 2);
}

#[test]
fn a_compaction_whose_worker_dies_is_made() {
    for fault in ["abort", "kill", "exit1"] {
        // A word that only the prompt of a compaction has.
        let mut pool = workers().fault_once(fault, "word=fold").start();
        let options = json!({"replyFormat": "text", "compactAfterTurns": 2, "keepRecentTurns": 1});
        pool.ok("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "options": options}));
        pool.talk("gorm", "one");
        pool.talk("gorm", "two");
        let state = pool.saved_npc("gorm");
        let summary = state["memory"]["summary"].as_str().unwrap();
        assert!(summary.contains("Player: one") && !summary.contains("two"), "{fault}: {summary}");
        assert_eq!(conversation(&state).len(), 2, "{fault}");
        assert_eq!(pool.counter("replays"), 1, "{fault}");
    }
}

#[test]
fn a_compaction_that_kills_every_worker_changes_nothing_and_is_tried_again() {
    let mut pool = workers().fault("kill:word=fold").flags(&["--max-step-crashes", "1"]).start();
    let options = json!({"replyFormat": "text", "compactAfterTurns": 2, "keepRecentTurns": 1});
    pool.ok("npc/create", json!({"npc": "gorm", "persona": {"name": "Gorm"}, "options": options}));
    for (turns, crashes) in [(1, 0), (2, 1), (3, 2)] {
        pool.talk("gorm", "Hello");
        let state = pool.saved_npc("gorm");
        assert_eq!(state["memory"].get("summary"), None);
        assert_eq!(conversation(&state).len(), turns * 2);
        assert_eq!(pool.crashes(), if crashes == 0 { json!({}) } else { json!({"SIGKILL": crashes}) });
    }
}

#[test]
fn a_cancelled_line_frees_its_worker() {
    let mut pool = workers().fault("hang:word=boom").flags(&["--no-spare"]).start();
    let before = pool.when_ready(1);
    gorm(&mut pool, [reply_in_pieces("happy", LINE, 6)], json!({}));
    let turn = pool.start_talk_with("gorm", "boom", json!({"stream": true}));
    pool.status_when("a busy worker", |status| status["workers"][0]["state"] == "busy");
    assert_eq!(pool.ok("npc/cancel", json!({"npc": "gorm"}))["cancelled"], 1);
    assert_eq!(pool.wait_fails(&turn).name, "cancelled");
    assert_eq!(pool.when_ready(1), before);
    assert_eq!(pool.talk("gorm", "Hello")["line"], LINE);
    assert_eq!(pool.listed_npc("gorm")["turnCount"], 1);
}
