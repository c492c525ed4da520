//! The oam binary.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod logging;

fn main() -> std::io::Result<()> {
    let _log = logging::init("stdio", logging::LogLevel::Warning)?;
    Ok(())
}
