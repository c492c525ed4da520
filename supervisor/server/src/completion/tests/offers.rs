//! What a server says of itself, and what it cannot be made of.

use std::sync::Arc;

use oam_agent::{Model, Tool, ToolDefinition, ToolName, UnavailableModel, UnavailableReason};
use serde_json::{Value, json};

use super::kit::*;
use crate::{
    Completions, ConfigError, ServedModel, Server,
    http::tests::client::{Answer, Wire, config, get},
};

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

async fn health_of(model: Arc<dyn Model>) -> Answer {
    let server = Server::start(config(), server(model)).await.unwrap();
    Wire::connect(&server).await.ask(get("/health", "")).await
}

#[test]
fn models_are_listed_with_their_other_names() {
    let server = server(scripted(&json!([])));
    let mut list = json(&server.models());
    let created = list["data"][0]["created"].take();
    list["data"][1]["created"].take();
    assert!(created.as_u64().unwrap() > 1_700_000_000);
    let model = json!({"id": "system", "object": "model", "created": null, "owned_by": "apple"});
    let alias = json!({"id": "gpt-4o-mini", "object": "model", "created": null, "owned_by": "apple", "parent": "system"});
    assert_eq!(list, json!({"object": "list", "data": [model, alias]}));
    assert_eq!(json(&server.model("gpt-4o-mini").unwrap())["parent"], "system");
    assert_eq!(json(&server.model("system").unwrap()).get("parent"), None);
    let unknown = server.model("nope").unwrap_err();
    assert_eq!(
        (unknown.status, unknown.code, unknown.param.as_deref()),
        (404, Some("model_not_found"), Some("model"))
    );
}

#[test]
fn models_come_by_name_and_an_alias_never_hides_one() {
    let model = scripted(&json!([]));
    let server = server_with(model.clone(), |config| {
        config.models.push(ServedModel { id: "adapter".into(), owned_by: "oam".into(), model });
        config.aliases.insert("adapter".into(), "system".into());
        config.aliases.insert("a".into(), "adapter".into());
    });
    let list = json(&server.models());
    let ids: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["adapter", "system", "a", "gpt-4o-mini"]);
    assert_eq!(json(&server.model("adapter").unwrap()).get("parent"), None);
}

#[tokio::test]
async fn health_tells_of_models_and_requests() {
    let health = health_of(scripted(&json!([]))).await;
    assert_eq!(health.status, 200);
    assert_eq!(
        health.json(),
        json!({
            "status": "ok", "default_model": "system", "models": {"system": "available"},
            "active_requests": 0, "queued_requests": 0,
        })
    );
    for reason in [
        UnavailableReason::DeviceNotEligible,
        UnavailableReason::AppleIntelligenceNotEnabled,
        UnavailableReason::ModelNotReady,
    ] {
        let health = health_of(Arc::new(UnavailableModel::new(reason, ""))).await;
        assert_eq!(health.status, 503);
        let body = health.json();
        assert_eq!((&body["status"], &body["reason"]), (&json!("unavailable"), &json!(reason.as_str())));
        assert_eq!(body["models"]["system"], format!("unavailable: {}", reason.as_str()));
    }
}

#[test]
fn what_cannot_be_served_is_told() {
    let client_tool = |name: &str| {
        let name = ToolName::new(name).unwrap();
        Tool::client(ToolDefinition::from_json_schema(name, "", &json!({})).unwrap().0)
    };
    let error = |edit: &dyn Fn(&mut crate::CompletionsConfig)| {
        let mut config = completions_config(scripted(&json!([])));
        edit(&mut config);
        Completions::new(config).unwrap_err()
    };
    assert_eq!(error(&|config| config.models.clear()), ConfigError::NoModel);
    assert_eq!(
        error(&|config| config.models.push(config.models[0].clone())),
        ConfigError::DuplicateModel("system".into())
    );
    assert_eq!(error(&|config| config.default_model = "x".into()), ConfigError::UnknownDefault("x".into()));
    let alias = ConfigError::UnknownAliasTarget { alias: "b".into(), target: "x".into() };
    assert_eq!(error(&|config| drop(config.aliases.insert("b".into(), "x".into()))), alias);
    assert_eq!(
        error(&|config| config.tools = vec![client_tool("a")]),
        ConfigError::ToolWithoutHandler("a".into())
    );
    let local = |name: &str| {
        let tool = client_tool(name);
        Tool::local(ToolDefinition::clone(&tool.definition), async |_| {
            oam_agent::ToolOutput::Text(String::new())
        })
    };
    assert!(matches!(error(&|config| config.tools = vec![local("a"), local("a")]), ConfigError::Tools(_)));
}
