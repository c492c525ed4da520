//! A tavern: one evening at the Sleeping Stag, and how a host in Rust lets it happen.
//!
//! It is small on purpose, and worth reading before writing a host of one's own:
//!
//! * [`house`] is the game: a [`World`](oam_game::world::World) with purse and menu, and the tools that change it;
//! * [`cast`] is the character: a persona, its options, and a decision;
//! * [`scene`] is the host: it makes the [`Npc`](oam_game::Npc), has it bark, talk and decide, and hears what happens;
//! * [`show`] and [`typewriter`] are what can be seen of it, [`player`] is who talks to her.
//!
//! None of them knows what Mira's model is. Where there is none, [`playwright`] writes her a script, which only the scene
//! hands on.

mod cast;
mod house;
mod player;
mod playwright;
mod scene;
mod show;
mod typewriter;

pub(crate) use cast::CANNED_LINES;
pub(crate) use player::Player;
pub(crate) use scene::{Ending, Evening, Killing};
