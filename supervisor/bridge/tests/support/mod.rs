//! Clients of bridges that share realms, and what realms need of a host, in memory.
#![allow(dead_code, reason = "each test uses a part of it")]

mod client;
mod directory;
mod journal;
mod view;

pub(crate) use client::Client;
pub(crate) use directory::Directory;
pub(crate) use journal::{Entry, MemoryJournal, Rewriting};
pub(crate) use view::seen;
