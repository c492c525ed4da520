//! The commands, one file each.

pub(crate) mod available;
pub(crate) mod chat;
pub(crate) mod stdio;
