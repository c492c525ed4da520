//! A bridge that was asked for with options that cannot be used. Every request is answered with the error that says so:
//! a host reads answers, in whatever language it is written, but perhaps no log.

use std::sync::Arc;

use oam_bridge::{BridgeError, MethodRegistry, MethodSet};

/// The only method that goes on working: a host ends every bridge in the same way.
const SHUTDOWN: &str = "shutdown";

/// Replaces all methods.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) BridgeError);

impl MethodSet for Refusal {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        let names = registry.names().into_iter().filter(|name| *name != SHUTDOWN);
        for name in names.map(str::to_owned).collect::<Vec<_>>() {
            let error = self.0.clone();
            registry.register(&name, move |_| Err(error.clone()));
        }
    }
}
