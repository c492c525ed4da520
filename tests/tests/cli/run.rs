//! Running `oam` once, and looking at what it said.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use oam_tests::{DEADLINE, oam_command, oam_command_without_terminal};
use serde_json::Value;
use tempfile::TempDir;

/// One run of `oam`, in a folder of its own.
pub(crate) struct Run {
    folder: TempDir,
    command: Command,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Lives as long as the files of the run are looked at.
    folder: TempDir,
}

/// `oam` with these arguments, and nothing of the tests' own environment that it looks at.
pub(crate) fn oam<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Run {
    run(oam_command(), tempfile::tempdir().unwrap(), arguments)
}

/// The same without a terminal that could be asked.
pub(crate) fn oam_without_terminal<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Run {
    run(oam_command_without_terminal(), tempfile::tempdir().unwrap(), arguments)
}

fn run<'a>(
    command: std::process::Command,
    folder: TempDir,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Run {
    let mut command = Command::from_std(command);
    command.args(arguments).current_dir(folder.path()).timeout(DEADLINE);
    Run { folder, command }
}

impl Run {
    /// Plays this script instead of asking a model.
    pub(crate) fn script(mut self, steps: &Value) -> Self {
        let path = self.folder.path().join("script.json");
        std::fs::write(&path, steps.to_string()).unwrap();
        self.command.env("OAM_SCRIPT", path);
        self
    }

    /// Puts a file into the folder that the command runs in.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Puts a program into that folder.
    pub(crate) fn program(self, name: &str, content: &str) -> Self {
        let run = self.file(name, content);
        std::fs::set_permissions(run.folder.path().join(name), Permissions::from_mode(0o755)).unwrap();
        run
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.command.write_stdin(text);
        self
    }

    /// Runs it; it must end with `code`.
    pub(crate) fn ends_with(mut self, code: i32) -> Ended {
        let output = self.command.assert().code(code).get_output().clone();
        Ended {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            folder: self.folder,
        }
    }
}

impl Ended {
    /// The output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The output as one JSON value a line.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The error that standard error tells as JSON: its code and message.
    pub(crate) fn error(&self) -> (String, String) {
        let told: Value =
            serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let text = |member: &str| told["error"][member].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }

    /// Another run in the same folder.
    pub(crate) fn then<'a>(self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        run(oam_command(), self.folder, arguments)
    }

    /// What is in a JSON file in the folder that the command ran in.
    pub(crate) fn saved(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// A file in the folder that the command ran in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }
}
