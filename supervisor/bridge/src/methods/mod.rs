//! The built-in methods, one file for each part of the protocol (docs/PROTOCOL.md).
#![expect(
    clippy::needless_pass_by_value,
    reason = "a handler is given its request, whether it keeps it or not"
)]

mod core;
mod game;
mod schema;
mod session;

use std::sync::Arc;

use crate::registry::MethodSet;

/// The method sets that every bridge has.
pub(crate) fn built_in() -> Vec<Arc<dyn MethodSet>> {
    let mut sets: Vec<Arc<dyn MethodSet>> =
        vec![Arc::new(core::CoreMethods), Arc::new(session::SessionMethods), Arc::new(schema::SchemaMethods)];
    sets.extend(game::method_sets());
    sets
}
