//! What `service/status` tells.

use std::{collections::BTreeMap, sync::Arc};

use oam_agent::UnavailableReason;
use serde_json::{Value, json};

use crate::{realms::RealmsStatus, service::Shared};

/// The status as it is told to the connection `asker`.
pub(crate) async fn of(service: &Arc<Shared>, asker: u64) -> Value {
    let workers = match &service.pool {
        Some(pool) => pool.status().await,
        None => None,
    };
    let look = async || {
        let service = Arc::clone(service);
        tokio::task::spawn_blocking(move || service.realms.status()).await.ok()
    };
    let realms = service.realms_seen.take(look).await;
    let realms = realms.as_deref();
    let connections: Vec<Value> =
        service.connections.all().iter().map(|connection| connection.to_json(asker)).collect();
    let limits = service.limits.borrow().clone();
    let unavailable = service.model_unavailable();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "state": service.phase.borrow().as_str(),
        "uptimeSeconds": service.started.elapsed().as_secs(),
        "socket": service.file.path().to_string_lossy(),
        "log": service.log.as_ref().map(|path| path.to_string_lossy()),
        "activation": service.manager_kind.map(crate::activation::Manager::as_str),
        "idleExitSeconds": limits.idle_exit.map(|limit| limit.as_secs_f64()),
        "drainSeconds": limits.drain.as_secs_f64(),
        "maxConnections": limits.connections,
        "connections": connections,
        "maxRealms": limits.realms,
        "realms": realms.map_or_else(Vec::new, of_realms),
        "store": store(service, realms),
        "model": {
            "available": unavailable.is_none(),
            "reason": unavailable.map(UnavailableReason::as_str),
        },
        "workers": workers,
        "steps": service.fair_shares.as_ref().map(|shares| {
            let load = shares.load();
            json!({"parallel": load.capacity, "playing": load.playing, "waiting": load.waiting})
        }),
    })
}

/// All that are on disk, with what is known of those in memory.
fn of_realms(status: &RealmsStatus) -> Vec<Value> {
    let mut realms: BTreeMap<&str, Value> = BTreeMap::new();
    if let Ok(Some((_, sizes))) = &status.store {
        for realm in &sizes.realms {
            realms.insert(
                &realm.name,
                json!({"name": realm.name, "objects": realm.objects, "bytes": realm.bytes, "isLoaded": false}),
            );
        }
    }
    for (name, overview) in &status.loaded {
        let realm = realms.entry(name.as_str()).or_insert_with(|| json!({"name": name}));
        realm["isLoaded"] = true.into();
        realm["connections"] = overview.connections.into();
        realm["sessions"] = overview.sessions.into();
        realm["npcs"] = overview.npcs.into();
        realm["worlds"] = overview.worlds.into();
        realm["busy"] = overview.pending_operations.into();
    }
    realms.into_values().collect()
}

fn store(service: &Shared, realms: Option<&RealmsStatus>) -> Value {
    let folder = service.realms.folder().to_string_lossy();
    match realms.map(|realms| &realms.store) {
        Some(Ok(Some((status, sizes)))) => json!({
            "folder": folder,
            "state": if status.failure.is_some() { "failing" } else { "open" },
            "reason": status.failure.as_ref().map(ToString::to_string),
            "fileBytes": sizes.file_bytes,
            "queuedBytes": sizes.queued_bytes,
        }),
        Some(Err(reason)) => json!({"folder": folder, "state": "failed", "reason": reason}),
        Some(Ok(None)) | None => json!({"folder": folder, "state": "opening"}),
    }
}
