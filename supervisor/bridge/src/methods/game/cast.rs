//! The characters that decisions can be made for by their id.

use oam_game::Persona;

/// Everyone who plays a part.
pub(crate) trait Cast: Send + Sync {
    /// Who the NPC with this id is now; `None` when there is none.
    fn persona_of(&self, npc: &str) -> Option<Persona>;
}

/// Nobody.
pub(crate) struct NoCast;

impl Cast for NoCast {
    fn persona_of(&self, _: &str) -> Option<Persona> {
        None
    }
}
