//! The methods of the service: `service/status`, `service/deleteRealm`, `service/handover` (docs/PROTOCOL.md).

use std::sync::{Arc, Weak};

use oam_bridge::{Bridge, BridgeError, MethodRegistry, MethodSet, Payload, RealmName, Reply, Request};
use serde_json::{Map, Value, json};

use crate::{connections::OpenConnection, realms::DeleteError, service::Shared, status};

/// The methods as one connection has them.
#[derive(Debug)]
pub(crate) struct ServiceMethods {
    pub(crate) service: Weak<Shared>,
    pub(crate) connection: Weak<OpenConnection>,
    pub(crate) span: tracing::Span,
}

impl MethodSet for ServiceMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        let of_service = |set: &Arc<Self>| {
            let set = Arc::clone(set);
            move || {
                Ok::<_, BridgeError>((
                    set.service.upgrade().ok_or_else(BridgeError::shut_down)?,
                    set.asker()?,
                ))
            }
        };
        let service = of_service(&self);
        registry.register("service/status", move |_| {
            let (service, asker) = service()?;
            status(service, asker.id)
        });
        let service = of_service(&self);
        registry.register("service/deleteRealm", move |request| delete_realm(service()?.0, &request));
        let service = of_service(&self);
        registry.register("service/handover", move |_| {
            let (service, asker) = service()?;
            hand_over(&service, asker.id)
        });
    }

    fn client_introduced(&self, _: &Bridge, client: &Map<String, Value>) {
        let Some(connection) = self.connection.upgrade() else { return };
        connection.introduce(client);
        if let Some(name) = connection.client() {
            self.span.record("client", name);
        }
    }
}

impl ServiceMethods {
    fn asker(&self) -> Result<Arc<OpenConnection>, BridgeError> {
        self.connection.upgrade().ok_or_else(BridgeError::shut_down)
    }
}

fn status(service: Arc<Shared>, asker: u64) -> Result<Reply, BridgeError> {
    Reply::later(async move { Ok(Payload::of(&status::of(&service, asker).await)) })
}

fn delete_realm(service: Arc<Shared>, request: &Request) -> Result<Reply, BridgeError> {
    let name: RealmName = request
        .params
        .string("realm")?
        .parse()
        .map_err(|error| request.params.invalid("realm", format!("is no realm: {error}.")))?;
    Reply::later(async move {
        let deleted = tokio::task::spawn_blocking(move || {
            service.realms.delete(&name).map_err(|error| not_deleted(&name, error))
        });
        deleted.await.map_err(|error| BridgeError::internal_error(error.to_string()))??;
        Ok(Payload::empty_object())
    })
}

fn hand_over(service: &Shared, asker: u64) -> Result<Reply, BridgeError> {
    let drain = service
        .promise_handover(asker)
        .map_err(|reason| BridgeError::extension(-32064, "handover_refused", reason))?;
    Reply::now(&json!({"pid": std::process::id(), "drainSeconds": drain.as_secs_f64()}))
}

fn not_deleted(name: &RealmName, error: DeleteError) -> BridgeError {
    let with_name = |error: BridgeError| error.with("realm", name.as_str());
    match error {
        DeleteError::Absent => with_name(BridgeError::extension(
            -32062,
            "realm_not_found",
            format!("No realm with the name '{name}'."),
        )),
        DeleteError::InUse(connections) => with_name(BridgeError::extension(
            -32063,
            "realm_in_use",
            format!("Realm '{name}' is in use ({connections} connections); end them first."),
        ))
        .with("connections", connections),
        DeleteError::Storage(failure) => BridgeError::storage_failed(&failure),
        DeleteError::NotYetStored(failure) => BridgeError::not_yet_stored(&failure),
    }
}
