//! The game methods: what characters and worlds add to sessions (docs/PROTOCOL.md, Game methods).

mod content;
mod decision;
mod npc;
mod world;

use std::sync::Arc;

use crate::{npc::Npcs, registry::MethodSet, worlds::Worlds};

/// The method sets of games, which share their NPCs and worlds.
pub(super) fn method_sets() -> [Arc<dyn MethodSet>; 4] {
    let (npcs, worlds) = (Arc::new(Npcs::default()), Arc::new(Worlds::default()));
    [
        Arc::new(npc::NpcMethods::new(Arc::clone(&npcs), Arc::clone(&worlds))),
        Arc::new(world::WorldMethods::new(worlds, Arc::clone(&npcs))),
        Arc::new(decision::DecisionMethods::new(npcs)),
        Arc::new(content::ContentMethods),
    ]
}
