//! What the scripted workers and the scripted model answer.

use std::{fs, path::PathBuf, process::Command};

use oam_tests::oam_binary;
use serde_json::{Value, json};

/// What is asked.
pub(crate) const PROMPT: &str = "Why is the gate not open?";
/// What is answered.
pub(crate) const ANSWER: &str =
    "The north gate stays shut, for its chain is jammed and the smith is not here yet.";
/// The pieces of a streamed answer.
pub(crate) const CHUNKS: usize = 20;

/// The answer as a step of a script.
pub(crate) fn answer() -> Value {
    json!({"text": ANSWER, "chunks": CHUNKS})
}

/// The script that all workers play, in a folder that must be kept.
#[derive(Debug)]
pub(crate) struct ScriptFile(tempfile::TempDir);

impl ScriptFile {
    pub(crate) fn new() -> Self {
        let file = Self(tempfile::tempdir().expect("a folder for a script"));
        let script = json!({"steps": [], "fallback": answer()});
        fs::write(file.path(), script.to_string()).expect("a script can be written");
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("script.json")
    }

    /// A worker that plays it, and its arguments.
    pub(crate) fn worker(&self) -> Vec<String> {
        let (program, script) = (oam_binary().display(), self.path());
        let words = [program.to_string(), "worker".into(), "scripted".into(), "--script".into()];
        words.into_iter().chain([script.display().to_string()]).collect()
    }

    pub(crate) fn command(&self) -> Command {
        let worker = self.worker();
        let mut command = Command::new(&worker[0]);
        command.args(&worker[1..]);
        command
    }
}
