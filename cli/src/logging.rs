//! Temporary.
use crate::arguments::LogLevel;
pub(crate) fn init(_: &'static str, _: LogLevel) {}
