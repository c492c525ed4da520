//! `shutdown` as a Rust host sees it.
#![allow(clippy::unwrap_used)]

use std::{future::pending, sync::Arc};

use oam_agent::BoxFuture;
use oam_bridge::{Bridge, BridgeConfig, MethodRegistry, MethodSet, Reply};
use serde_json::Value;
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// A bridge with these methods, what it sends, and at last `told` from `on_shutdown`.
fn bridge(method_sets: Vec<Arc<dyn MethodSet>>) -> (Bridge, UnboundedReceiver<String>) {
    let (sent, received) = mpsc::unbounded_channel();
    let told = sent.clone();
    let on_shutdown = move || told.send("told".to_owned()).unwrap();
    let config =
        BridgeConfig { method_sets, on_shutdown: Some(Arc::new(on_shutdown)), ..BridgeConfig::default() };
    (Bridge::new(config, move |line| sent.send(line.to_owned()).unwrap()), received)
}

/// The id of the next message and the name of its error, or `told`.
async fn next(received: &mut UnboundedReceiver<String>) -> String {
    let line = received.recv().await.unwrap();
    match serde_json::from_str::<Value>(&line) {
        Ok(message) => {
            let name = message["error"]["data"]["code"].as_str().unwrap_or("ok");
            format!("{} {name}", message["id"])
        }
        Err(_) => line,
    }
}

/// `wait` never ends, nor does the shutdown of its set.
struct Stubborn;

impl MethodSet for Stubborn {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register("wait", |_| Reply::later(pending()));
    }

    fn shut_down(&self) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }
}

struct Panicking;

impl MethodSet for Panicking {
    fn register(self: Arc<Self>, _: &mut MethodRegistry) {}

    fn shut_down(&self) -> BoxFuture<'static, ()> {
        panic!("as planned")
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_requests_are_answered_first_and_the_host_is_told_last() {
    let sets: [Arc<dyn MethodSet>; 2] = [Arc::new(Panicking), Arc::new(Stubborn)];
    for set in sets {
        let (bridge, mut received) = bridge(vec![set, Arc::new(Stubborn)]);
        bridge.receive(br#"{"jsonrpc":"2.0","id":1,"method":"wait"}"#);
        bridge.receive(br#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#);
        bridge.receive(br#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
        for expected in ["1 cancelled", "2 ok", "3 shut_down", "told"] {
            assert_eq!(next(&mut received).await, expected);
        }
    }
}
