//! What a model answered, kept so that the same exchange can be played again without it (docs/RECORDING.md).
//!
//! A [`Recorder`] makes models of other models: what these answer is noted, all that a conversation could notice of it.
//! Its [`document`](Recorder::document) is a file that people can read and compare. [`Recording`] reads such a file, and a
//! [`Replay`] makes models that answer as it says.
//!
//! Models are made for an [`Owner`]: a session, an NPC, a kind of request. What an owner asks comes in conversations, told
//! apart by the cache keys of their steps; a session has one, an NPC one and another for each bark, each one-off request its own.
//! Steps are recognized by what they ask ([`StepKey`](question::StepKey)), not by their position, so conversations of one
//! owner may run beside each other in any order.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod facts;
mod fingerprint;
mod form;
mod matching;
mod missing;
mod notes;
mod owner;
mod question;
mod recorder;
mod recording;
mod replay;
mod step;

pub use matching::Matching;
pub use owner::Owner;
pub use recorder::{Recorder, RecordingDetail};
pub use recording::{Recording, RecordingError};
pub use replay::Replay;
