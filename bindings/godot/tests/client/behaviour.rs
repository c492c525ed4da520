//! What the nodes rely on, beyond the scenes of all bindings.

use std::{cell::RefCell, rc::Rc, time::Duration};

use oam_godot::client::{Client, Delivery, RequestError, ToolAnswer, Toolbox, pump};
use serde_json::{Value, json};

use crate::game::{Game, Handler};

fn scripted(steps: &Value) -> Value {
    json!({"type": "scripted", "steps": steps})
}

fn bell() -> Value {
    json!({"name": "ring_bell", "description": "Rings the bell."})
}

/// A session whose model calls `ring_bell` and then says what came of it.
fn with_a_bell(game: &mut Game) {
    let model = scripted(&json!([{"toolCalls": [{"name": "ring_bell"}]}, {"template": "{toolOutput}"}]));
    game.ask("session/create", json!({"session": "s", "tools": [bell()], "model": model})).unwrap();
}

#[test]
fn only_the_first_answer_to_a_call_counts() {
    let mut game = Game::new();
    game.tools.handle("ring_bell", Handler::NeverAnswers);
    with_a_bell(&mut game);
    let turn = game.begin("session/respond", json!({"session": "s", "prompt": "Ring!"}));
    game.pump_until(|game| !game.calls.is_empty());
    let call = game.calls[0].id.clone();
    assert!(game.client.is_open(&call));
    assert!(game.client.answer(&call, ToolAnswer::Output("dong".into())));
    assert!(!game.client.is_open(&call));
    assert!(!game.client.answer(&call, ToolAnswer::Output("ding".into())));
    assert_eq!(game.finish(turn).unwrap()["text"], "dong");
}

#[test]
fn an_answer_to_a_cancelled_call_is_not_sent() {
    let mut game = Game::new();
    game.tools.handle("ring_bell", Handler::NeverAnswers);
    with_a_bell(&mut game);
    let turn = game.begin("session/respond", json!({"session": "s", "prompt": "Ring!"}));
    game.pump_until(|game| !game.calls.is_empty());
    game.client.notify("session/cancel", json!({"session": "s"})).unwrap();
    assert_eq!(game.finish(turn).unwrap_err().name, "cancelled");
    assert_eq!(game.cancelled, ["ring_bell"]);
    let call = game.calls[0].id.clone();
    assert!(!game.client.answer(&call, ToolAnswer::Output("dong".into())));
}

#[test]
fn a_call_comes_to_the_owner_of_its_request() {
    let mut client = Client::start(&json!({}), None).unwrap();
    let model = scripted(&json!([
        {"toolCalls": [{"name": "ring_bell"}]},
        {"json": {"reasoning": "It rang.", "choice": "flee", "confidence": 60}},
    ]));
    let params = json!({"situation": "Night.", "options": ["flee", "stay"], "tools": [bell()],
        "toolChoice": "required", "model": model});
    client.request("decision/decide", params, "the goblin").unwrap();
    assert!(client.wait(Duration::from_secs(30)));
    match client.next_delivery() {
        Some(Delivery::ToolCall { owner, call }) => {
            assert_eq!(owner, Some("the goblin"));
            assert_eq!((call.tool.as_str(), call.session, call.npc), ("ring_bell", None, None));
        }
        other => panic!("not the call: {other:?}"),
    }
}

#[test]
fn a_call_of_one_of_several_decisions_tells_which() {
    let mut game = Game::new();
    game.tools.handle("ring_bell", Handler::Answers(ToolAnswer::Output(Value::Null)));
    let decision = json!({"situation": "Night.", "options": ["flee", "stay"], "tools": [bell()], "toolChoice": "required"});
    let model = scripted(&json!([
        {"toolCalls": [{"name": "ring_bell"}]},
        {"json": {"reasoning": "R", "choice": "flee", "confidence": 60}},
        {"toolCalls": [{"name": "ring_bell"}]},
        {"json": {"reasoning": "R", "choice": "stay", "confidence": 60}},
    ]));
    let params = json!({"requests": [decision, decision], "maxConcurrency": 1, "model": model});
    game.ask("decision/decideMany", params).unwrap();
    assert_eq!(game.calls.iter().map(|call| call.index).collect::<Vec<_>>(), [Some(0), Some(1)]);
}

#[test]
fn everything_may_be_done_while_something_is_delivered() {
    let client = RefCell::new(Client::start(&json!({}), None).unwrap());
    for owner in 1..=3 {
        client.borrow_mut().request("ping", json!({}), owner).unwrap();
    }
    while client.borrow().waiting() < 3 {
        assert!(client.borrow().wait(Duration::from_secs(30)));
        std::thread::yield_now();
    }
    let mut told = Vec::new();
    pump(&client, |delivery| {
        let Delivery::Completed { owner, .. } = delivery else { panic!("not a completion: {delivery:?}") };
        told.push(owner);
        client.borrow_mut().request("ping", json!({}), owner + 10).unwrap();
        if owner == 2 {
            assert_eq!(client.borrow_mut().close(), [3, 11, 12]);
        }
    });
    assert_eq!(told, [1, 2], "nothing is delivered of what was closed");
}

#[test]
fn what_arrives_while_something_is_delivered_waits_for_the_next_pump() {
    let client = RefCell::new(Client::start(&json!({}), None).unwrap());
    client.borrow_mut().request("ping", json!({}), 1).unwrap();
    assert!(client.borrow().wait(Duration::from_secs(30)));
    let mut told = Vec::new();
    pump(&client, |delivery| {
        told.push(delivery);
        client.borrow_mut().request("ping", json!({}), 2).unwrap();
        assert!(client.borrow().wait(Duration::from_secs(30)));
    });
    assert_eq!(told.len(), 1);
    pump(&client, |delivery| told.push(delivery));
    assert!(matches!(told[..], [Delivery::Completed { owner: 1, .. }, Delivery::Completed { owner: 2, .. }]));
}

#[test]
fn closing_tells_whose_requests_get_no_answer_in_order() {
    let mut client = Client::start(&json!({}), None).unwrap();
    let model = scripted(&json!([{"text": "Never.", "delayMs": 60_000}]));
    client.request("session/create", json!({"session": "s", "model": model}), 1).unwrap();
    for owner in 2..=12 {
        client.request("session/respond", json!({"session": "s", "prompt": "?"}), owner).unwrap();
    }
    assert!(client.wait(Duration::from_secs(30)));
    assert!(matches!(client.next_delivery(), Some(Delivery::Completed { owner: 1, outcome: Ok(_) })));
    assert_eq!(client.close(), (2..=12).collect::<Vec<_>>());
    assert_eq!(client.close(), Vec::<i32>::new());
}

#[test]
fn a_closed_client_refuses_everything() {
    let mut client = Client::start(&json!({}), None).unwrap();
    client.close();
    assert_eq!(client.request("ping", json!({}), ()).unwrap_err(), RequestError::closed());
    assert_eq!(client.call("ping", json!({}), None).unwrap_err().name, "shut_down");
    assert!(!client.answer("t-1", ToolAnswer::Output(Value::Null)));
    assert_eq!(client.notify("ping", json!({})).unwrap_err().name, "shut_down");
    assert_eq!((client.waiting(), client.next_delivery()), (0, None));
    assert!(!client.wait(Duration::ZERO));
}

#[test]
fn options_that_cannot_be_used_are_named() {
    let error = Client::<()>::start(&json!({"wrokers": 2}), None).unwrap_err();
    assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"));
    assert!(error.message.contains("options.wrokers"), "{error}");
}

#[test]
fn a_subscription_ends_with_its_world() {
    let mut game = Game::new();
    game.ask("world/create", json!({"world": "w", "state": {"gold": 1}})).unwrap();
    let watch = game.begin("world/subscribe", json!({"world": "w", "path": ""}));
    game.finish(watch).unwrap();
    game.ask("world/set", json!({"world": "w", "path": "gold", "value": 2})).unwrap();
    game.ask("world/delete", json!({"world": "w"})).unwrap();
    game.ask("world/create", json!({"world": "w"})).unwrap();
    game.ask("world/set", json!({"world": "w", "path": "gold", "value": 3})).unwrap();
    let news: Vec<_> = game.changes[&watch].iter().map(|change| change.new.clone()).collect();
    assert_eq!(news, [Some(json!(2))]);
}

#[test]
fn who_watched_a_world_that_is_gone_is_let_go() {
    let mut client = Client::start(&json!({}), None).unwrap();
    let owner = Rc::new(());
    client.request("world/create", json!({"world": "w"}), Rc::clone(&owner)).unwrap();
    client.request("world/subscribe", json!({"world": "w"}), Rc::clone(&owner)).unwrap();
    for _ in 0..2 {
        assert!(client.wait(Duration::from_secs(30)));
        assert!(matches!(client.next_delivery(), Some(Delivery::Completed { outcome: Ok(_), .. })));
    }
    assert_eq!(Rc::strong_count(&owner), 2, "the subscription holds it");
    client.notify("world/delete", json!({"world": "w"})).unwrap();
    assert_eq!(Rc::strong_count(&owner), 1);
}

#[test]
fn values_cross_as_they_are() {
    let mut game = Game::new();
    let state =
        json!({"z": 1, "a": [1.5, null, true, "Grüße \"🗡\"\u{2028}"], "n": {"": -9_007_199_254_740_991_i64}});
    game.ask("world/create", json!({"world": "w", "state": state})).unwrap();
    let back = game.ask("world/snapshot", json!({"world": "w"})).unwrap();
    assert_eq!(back["state"].to_string(), state.to_string());
}

/// One array inside the other, deeper than the protocol allows.
fn too_deep() -> Value {
    (0..100).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn a_message_that_would_not_be_understood_fails_its_request() {
    let mut game = Game::new();
    let error = game.client.request("world/create", json!({"state": too_deep()}), 0).unwrap_err();
    assert_eq!(error.name, "invalid_params");
    let at_the_limit = (0..97).fold(json!(1), |inner, _| json!([inner]));
    game.ask("world/create", json!({"state": {"deep": at_the_limit}})).unwrap();
}

#[test]
fn an_output_that_would_not_be_understood_is_told_to_the_model_as_an_error() {
    let mut game = Game::new();
    game.tools.handle("ring_bell", Handler::Answers(ToolAnswer::Output(too_deep())));
    with_a_bell(&mut game);
    let turn = game.ask("session/respond", json!({"session": "s", "prompt": "Ring!"})).unwrap();
    assert_eq!(turn["toolCalls"][0]["isError"], true);
    assert!(turn["text"].as_str().unwrap().contains("nested"), "{turn}");
}

#[test]
fn a_toolbox_puts_definitions_in_the_place_of_names() {
    let mut tools = Toolbox::<()>::default();
    tools.define("look", "Looks.", json!({"type": "object"}), Some(Duration::from_millis(1500)));
    tools.define("wave", "Greets.", Value::Null, None);
    tools.define("wave", "Waves.", Value::Null, None);
    let own = json!({"name": "own"});
    let resolved = tools.resolve(&["wave".into(), own.clone(), "look".into()]).unwrap();
    let wave = json!({"name": "wave", "description": "Waves."});
    let look = json!({"name": "look", "description": "Looks.", "parameters": {"type": "object"}, "timeoutSeconds": 1.5});
    assert_eq!(resolved, [wave.clone(), own, look.clone()]);
    assert_eq!(tools.definitions(), [look, wave]);
    let error = tools.resolve(&["fly".into()]).unwrap_err();
    assert_eq!(error.name, "invalid_params");
    assert!(error.message.contains("'fly'"), "{error}");
}
