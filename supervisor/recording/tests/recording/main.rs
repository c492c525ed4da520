//! What is recorded, how it is written, and that it is played again as it was.
#![allow(clippy::unwrap_used)]

mod going_on;
mod matching;
mod reading;
mod round_trip;
mod stage;
mod writing;
