//! `initialize`, `ping`, `model/availability`, `shutdown`.

use std::sync::Arc;

use oam_agent::Availability;
use serde::{Serialize, Serializer};

use crate::{
    config::ModelUse,
    message::BridgeError,
    params::Params,
    realm::{InvalidRealmName, RealmName},
    registry::{MethodRegistry, MethodSet, RealmUse, Reply, ReplyKind, Request},
};

const PROTOCOL_VERSION: &str = "1.0";
const PROTOCOL_MAJOR: &str = "1";

pub(super) struct CoreMethods;

impl MethodSet for CoreMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.insert("initialize", RealmUse::Decides, initialize);
        registry.register("ping", |_| Reply::empty());
        registry.register("model/availability", |request| {
            Reply::now(&AvailabilityResult(
                request.bridge.system_model(ModelUse::Availability).availability(),
            ))
        });
        registry.register("shutdown", |_| Ok(Reply(ReplyKind::Shutdown)));
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult<'a> {
    protocol_version: &'static str,
    server: Server,
    capabilities: Capabilities<'a>,
    model: AvailabilityResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    realm: Option<&'a RealmName>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    realm_created: bool,
}

#[derive(Serialize)]
struct Server {
    name: &'static str,
    version: &'static str,
}

#[expect(clippy::struct_excessive_bools, reason = "the members that the protocol has")]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities<'a> {
    methods: Vec<&'a str>,
    notifications: Vec<&'static str>,
    client_requests: [&'static str; 1],
    streaming: bool,
    client_tools: bool,
    structured_output: bool,
    models: Vec<String>,
    max_sessions: usize,
    batch: bool,
}

fn initialize(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let client = params.optional_object("client")?;
    // Who is refused is known all the same.
    if let Some(client) = &client {
        tracing::debug!(client = %oam_agent::json_text::compact(client.members()), "a client introduced itself");
        bridge.introduce(client.members());
    }
    check_version(params)?;
    let realm_created = match client.as_ref().map(realm).transpose()?.flatten() {
        Some(name) => bridge.enter(&name)?,
        None => false,
    };
    Reply::now(&InitializeResult {
        protocol_version: PROTOCOL_VERSION,
        server: Server { name: "oam", version: env!("CARGO_PKG_VERSION") },
        capabilities: Capabilities {
            methods: bridge.method_names(),
            notifications: bridge.notification_names(),
            client_requests: ["tool/call"],
            streaming: true,
            client_tools: true,
            structured_output: true,
            models: bridge.model_types(),
            max_sessions: bridge.config().max_sessions,
            batch: false,
        },
        model: AvailabilityResult(bridge.system_model(ModelUse::Availability).availability()),
        realm: bridge.realm_name(),
        realm_created,
    })
}

/// The client must speak this protocol.
fn check_version(params: &Params<'_>) -> Result<(), BridgeError> {
    match params.optional_string("protocolVersion")? {
        Some(version) if version.split('.').next() != Some(PROTOCOL_MAJOR) => {
            Err(BridgeError::invalid_params(format!(
                "'protocolVersion' {version} is not supported; this is protocol version {PROTOCOL_VERSION}."
            )))
        }
        _ => Ok(()),
    }
}

/// The realm that a client names, if it does.
fn realm(client: &Params<'_>) -> Result<Option<RealmName>, BridgeError> {
    let Some(name) = client.optional_string("realm")? else { return Ok(None) };
    name.parse().map(Some).map_err(|InvalidRealmName| {
        client.invalid("realm", "must be 1 to 128 characters without control or format characters.")
    })
}

/// An [`Availability`] in the protocol's form.
struct AvailabilityResult(Availability);

impl Serialize for AvailabilityResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let Availability { unavailable, context_size, variant, supported_languages } = &self.0;
        let mut result = serializer.serialize_map(None)?;
        result.serialize_entry("available", &unavailable.is_none())?;
        if let Some(reason) = unavailable {
            result.serialize_entry("reason", reason.as_str())?;
        }
        result.serialize_entry("contextSize", context_size)?;
        if let Some(variant) = variant {
            result.serialize_entry("variant", variant)?;
        }
        result.serialize_entry("supportedLanguages", supported_languages)?;
        result.end()
    }
}
