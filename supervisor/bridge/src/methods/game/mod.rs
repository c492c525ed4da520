//! The game methods: what characters and worlds add to sessions (docs/PROTOCOL.md, Game methods).

mod content;
mod decision;
mod npc;
mod world;

use std::sync::Arc;

use crate::registry::MethodSet;

pub(super) fn method_sets() -> [Arc<dyn MethodSet>; 4] {
    [
        Arc::new(npc::NpcMethods),
        Arc::new(world::WorldMethods),
        Arc::new(decision::DecisionMethods),
        Arc::new(content::ContentMethods),
    ]
}
