//! Completions from bodies to answers, with models that play scripts.

mod answers;
mod failures;
mod kit;
mod limits;
mod mapping;
mod offers;
mod responses;
mod streams;
mod tools;
