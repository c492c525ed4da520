//! The handshake and what it tells.

use oam_tests::Oam;
use serde_json::json;

const METHODS: [&str; 16] = [
    "initialize",
    "model/availability",
    "ping",
    "schema/validate",
    "session/cancel",
    "session/compact",
    "session/create",
    "session/delete",
    "session/list",
    "session/reset",
    "session/respond",
    "session/setContextNote",
    "session/setInstructions",
    "session/setTools",
    "session/transcript",
    "shutdown",
];

#[test]
fn it_tells_protocol_server_capabilities_and_model() {
    let mut oam = Oam::start();
    let result =
        oam.ok("initialize", json!({"client": {"name": "Game", "version": "1"}, "protocolVersion": "1.0"}));
    let members: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(members, ["protocolVersion", "server", "capabilities", "model"]);
    assert_eq!(result["protocolVersion"], "1.0");
    assert_eq!(result["server"], json!({"name": "oam", "version": env!("CARGO_PKG_VERSION")}));
    let capabilities = &result["capabilities"];
    assert_eq!(capabilities["clientRequests"], json!(["tool/call"]));
    assert_eq!(capabilities["models"], json!(["system", "scripted"]));
    assert_eq!(capabilities["maxSessions"], 64);
    assert_eq!(capabilities["batch"], false);
    for flag in ["streaming", "clientTools", "structuredOutput"] {
        assert_eq!(capabilities[flag], true, "{flag}");
    }
    let notifications = capabilities["notifications"].as_array().unwrap();
    assert!(notifications.starts_with(&[json!("session/event"), json!("tool/cancel")]), "{notifications:?}");
    assert_eq!(result["model"], oam.ok("model/availability", json!({})));
}

#[test]
fn every_method_is_listed_once_in_order() {
    let mut oam = Oam::start();
    let result = oam.ok("initialize", json!({}));
    let listed: Vec<_> = result["capabilities"]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(listed.is_sorted_by(|a, b| a < b), "{listed:?}");
    for method in METHODS.into_iter().chain(["tools/validate"]) {
        assert!(listed.contains(&method), "{method}");
    }
}

#[test]
fn every_listed_method_exists() {
    let mut oam = Oam::start();
    let result = oam.ok("initialize", json!({}));
    for method in result["capabilities"]["methods"].as_array().unwrap() {
        let method = method.as_str().unwrap();
        if method != "shutdown"
            && let Err(error) = oam.call(method, json!({}))
        {
            assert_ne!(error.name, "method_not_found", "{method}");
        }
    }
}

#[test]
fn it_is_optional_and_may_be_repeated() {
    let mut oam = Oam::start();
    oam.settle();
    let first = oam.ok("initialize", json!({"protocolVersion": "1.0"}));
    for params in
        [json!({}), json!({"protocolVersion": null, "client": null}), json!({"protocolVersion": "1.7"})]
    {
        assert_eq!(oam.ok("initialize", params), first);
    }
}

#[test]
fn another_major_version_is_refused() {
    let mut oam = Oam::start();
    for version in [json!("2.0"), json!("0.9"), json!("10.0"), json!(""), json!("x"), json!(1.0), json!([])] {
        let error = oam.fails("initialize", json!({"protocolVersion": version}));
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{version}");
        assert!(error.message.contains("protocolVersion"), "{}", error.message);
    }
    oam.settle();
}

#[test]
fn the_client_is_an_object_of_any_form() {
    let mut oam = Oam::start();
    oam.ok("initialize", json!({"client": {}}));
    oam.ok("initialize", json!({"client": {"name": 7, "engine": ["x"]}}));
    for client in [json!("Game"), json!([]), json!(1), json!(true)] {
        let error = oam.fails("initialize", json!({"client": client}));
        assert_eq!(error.name, "invalid_params");
        assert!(error.message.contains("client"), "{}", error.message);
    }
}

#[test]
fn availability_has_a_reason_exactly_when_it_is_false() {
    let mut oam = Oam::start();
    let model = oam.ok("model/availability", json!({}));
    let available = model["available"].as_bool().unwrap();
    assert_eq!(available, model.get("reason").is_none(), "{model}");
    assert!(model["contextSize"].as_u64().unwrap() >= 4096);
    assert!(model["supportedLanguages"].is_array());
}
