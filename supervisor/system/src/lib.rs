//! What every host of a bridge needs to serve the model `system`: the program and the libraries share it.
//!
//! [`worker`] finds the worker program and says what is wrong with its name. [`PooledSystem`] makes a pool of workers the
//! bridge's model, [`UnservedSystem`] stands where there is none, and [`SupervisorMethods`] show the workers through the
//! bridge.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod methods;
mod models;
pub mod program;
pub mod worker;

pub use methods::SupervisorMethods;
pub use models::{PooledSystem, UnservedSystem};
