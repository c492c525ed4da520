//! Clients of bridges that share realms, and what realms need of a host, in memory.

mod changes;
mod client;
mod directory;
mod journal;
mod view;

pub(crate) use changes::{changes, look, said, scripted};
pub(crate) use client::{Client, Message};
pub(crate) use directory::Directory;
pub(crate) use journal::{Entry, MemoryJournal, Rewriting};
pub(crate) use view::seen;
