//! Finds the program under test.

use std::{path::PathBuf, sync::OnceLock};

/// The path of the `oam` binary.
///
/// `OAM_BIN` names it where a script has built it already. Otherwise cargo builds it, in the profile of the tests:
/// the binary belongs to another package, so cargo does not see that the tests need it, and one that happens to
/// lie in the target folder may be stale.
pub fn oam_binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("OAM_BIN") {
        Some(path) => PathBuf::from(path),
        None => escargot::CargoBuild::new()
            .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
            .package("oam")
            .bin("oam")
            .current_release()
            .run()
            .expect("cargo builds oam")
            .path()
            .to_path_buf(),
    })
}
