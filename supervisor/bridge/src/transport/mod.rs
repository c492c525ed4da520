//! Transports: how lines reach a bridge, and how its messages leave.
//!
//! A transport knows bytes, lines, and the ends that a connection can come to. What the lines mean is the
//! business of the [`Connection`] behind it. [`serve()`] joins the two over any pair of streams; [`stdio`] does
//! so for the descriptors of the process.

mod lines;
#[cfg(unix)]
mod pollable;
mod serve;
#[cfg(unix)]
pub mod stdio;
#[cfg(test)]
mod test_connection;

pub use lines::{Line, LineSplitter, MAX_LINE_BYTES};
#[cfg(unix)]
pub use pollable::reader_gone;
pub use serve::{Connection, End, StopSignal, serve};
