//! The oam binary.
fn main() {}
