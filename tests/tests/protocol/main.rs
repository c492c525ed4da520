//! The protocol as a client sees it, on the real program with the scripted model. One module a subject
//! (docs/PROTOCOL.md).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod budgets;
mod cancellation;
mod compaction;
mod content;
mod decisions;
mod framing;
mod ids;
mod initialize;
mod lifecycle;
mod limits;
mod npc_barks;
mod npc_cancellation;
mod npc_compaction;
mod npc_decisions;
mod npc_formats;
mod npc_lifecycle;
mod npc_memory;
mod npc_options;
mod npc_revisions;
mod npc_saves;
mod npc_spoilt_saves;
mod npc_streaming;
mod npc_talk;
mod npc_tools;
mod npc_updates;
mod npc_worlds;
mod options;
mod ordering;
mod retries;
mod schemas;
mod scripted;
mod settings;
mod shutdown;
mod streaming;
mod structured;
mod timeouts;
mod tool_choice;
mod tools;
mod transcripts;
mod turns;
mod warnings;
mod world;
mod world_subscriptions;
