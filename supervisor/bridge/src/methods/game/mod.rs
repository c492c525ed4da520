//! The game methods: what characters and worlds add to sessions (docs/PROTOCOL.md).

mod cast;
mod content;
mod decision;

pub(super) use cast::{Cast, NoCast};
pub(super) use content::ContentMethods;
pub(super) use decision::DecisionMethods;
