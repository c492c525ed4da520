//! Whose work it is, as methods and models see it.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use oam_bridge::{
    Bridge, BridgeConfig, ClientId, MethodRegistry, MethodSet, OperationQueue, Payload, Reply, current_client,
};
use serde_json::Value;
use tokio::{sync::oneshot, task::JoinHandle};

/// Methods whose work notes whose it is; they share a queue, as bridges of a realm share its objects.
struct Noting {
    queue: Arc<OperationQueue>,
    seen: Mutex<Vec<Option<ClientId>>>,
}

impl Noting {
    fn note(&self) -> Payload {
        self.seen.lock().unwrap().push(current_client());
        Payload::empty_object()
    }
}

impl MethodSet for Noting {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        let set = Arc::clone(&self);
        registry.register("later", move |_| {
            let set = Arc::clone(&set);
            Reply::later(async move { Ok(set.note()) })
        });
        registry.register("queued", move |_| {
            let set = Arc::clone(&self);
            Reply::queued(&self.queue, move |_| async move {
                tokio::task::yield_now().await;
                Ok(set.note())
            })
        });
    }
}

#[tokio::test]
async fn work_belongs_to_the_client_of_its_request() {
    let queue = OperationQueue::new("noting");
    let noting = Arc::new(Noting { queue, seen: Mutex::default() });
    let bridges = [(); 2].map(|()| {
        let config = BridgeConfig { method_sets: vec![Arc::clone(&noting) as _], ..BridgeConfig::default() };
        Bridge::new(config, |_| {})
    });
    let clients = bridges.each_ref().map(Bridge::client);
    assert_ne!(clients[0], clients[1]);
    for method in ["later", "queued"] {
        let [one, other] = bridges.each_ref().map(|bridge| bridge.call(method, Value::Null, None));
        let (one, other) = tokio::join!(one, other);
        one.and(other).unwrap();
        assert_eq!(std::mem::take(&mut *noting.seen.lock().unwrap()), clients.map(Some), "{method}");
    }
    assert_eq!(current_client(), None);
}

#[tokio::test]
async fn what_nobody_waits_for_has_no_client() {
    let (spawned, task) = oneshot::channel::<JoinHandle<Option<ClientId>>>();
    ClientId::new().scope(async { spawned.send(tokio::spawn(async { current_client() })).unwrap() }).await;
    assert_eq!(task.await.unwrap().await.unwrap(), None);
}
