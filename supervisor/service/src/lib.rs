//! The service that all programs of one user share: a bridge on a Unix socket, over one pool of workers, with realms that
//! are on disk (docs/SERVICE.md).
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod paths;
