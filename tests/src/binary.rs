//! Finds the program under test.

use std::{ffi::OsStr, path::PathBuf, process::Command, sync::OnceLock};

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

/// A command that runs `oam` with nothing of the tests' own environment that it looks at.
pub fn oam_command() -> Command {
    clean_command(oam_binary())
}

/// The same in a session of its own, so that not even the terminal of whoever runs the tests controls it.
pub fn oam_command_without_terminal() -> Command {
    const DETACH: &str = "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])";
    let mut command = clean_command("python3");
    command.args(["-c", DETACH]).arg(oam_binary());
    command
}

/// A command that runs a program with nothing of the tests' own environment that `oam` looks at.
pub fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in [
        "OAM_SCRIPT",
        "OAM_WORKER",
        "OAM_RECORD",
        "OAM_RECORD_APPEND",
        "OAM_RECORD_REDACT",
        "OAM_RECORD_PACE",
        "OAM_REPLAY_MATCH",
        "OAM_API_KEY",
        "NO_COLOR",
        // These welcome colours, whatever the terminal is.
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    command
}
