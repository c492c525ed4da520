//! The commands, one file each.

pub(crate) mod agent_readme;
pub(crate) mod available;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod man;
pub(crate) mod record;
pub(crate) mod respond;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod tools;
