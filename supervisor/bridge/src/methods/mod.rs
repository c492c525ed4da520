//! The built-in methods, one file for each part of the protocol (docs/PROTOCOL.md).
#![expect(
    clippy::needless_pass_by_value,
    reason = "a handler is given its request, whether it keeps it or not"
)]

mod core;
mod schema;
mod session;
mod world;

use std::sync::Arc;

use crate::{registry::MethodSet, worlds::Worlds};

/// The method sets that every bridge has.
pub(crate) fn built_in() -> Vec<Arc<dyn MethodSet>> {
    let worlds = Arc::new(Worlds::default());
    vec![
        Arc::new(core::CoreMethods),
        Arc::new(session::SessionMethods::default()),
        Arc::new(schema::SchemaMethods),
        Arc::new(world::WorldMethods::new(worlds)),
    ]
}
