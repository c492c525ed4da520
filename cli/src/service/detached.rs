//! Starting the service without a manager: a process in a session of its own, which outlives whoever started it and holds
//! nothing of it.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use oam_service::paths;

use crate::failure::Failure;

/// Of the last words of a service, so many bytes are told.
const LAST_WORDS: u64 = 4096;

/// The file, beside the log, with what a service prints: nothing, unless it cannot start or goes wrong.
pub(super) const OUTPUT: &str = "oam.out";

/// A service that was started, and what it says before it has a log.
#[derive(Debug)]
pub(crate) struct DetachedService {
    child: Child,
    output: PathBuf,
    said_before: u64,
}

/// Starts `oam service run` with these arguments.
pub(crate) fn start(arguments: impl IntoIterator<Item = OsString>) -> Result<DetachedService, Failure> {
    let output = paths::log_file()?.with_file_name(OUTPUT);
    let failed = |error: io::Error| Failure::io(format!("the service cannot be started: {error}"));
    let file = open_output(&output)
        .map_err(|error| Failure::io(format!("{}: cannot be written: {error}", output.display())))?;
    let said_before = file.metadata().map_err(failed)?.len();
    // Whoever runs an engine may have left descriptors open, and waits for the end of them.
    close_fds::set_fds_cloexec(3, &[]);
    let child = Command::new(env::current_exe().map_err(failed)?)
        .args(["service", "run", "--own-session"])
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .spawn()
        .map_err(failed)?;
    Ok(DetachedService { child, output, said_before })
}

impl DetachedService {
    /// How it ended, if it has: its last words.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let words = last_words(&self.output, self.said_before).unwrap_or_default();
        let words = words.trim();
        Some(if words.is_empty() { format!("it ended with {status}") } else { words.to_owned() })
    }
}

fn open_output(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    File::options().append(true).create(true).mode(0o600).open(path)
}

fn last_words(path: &Path, from: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(LAST_WORDS))))?;
    let mut words = Vec::new();
    file.take(LAST_WORDS).read_to_end(&mut words)?;
    Ok(String::from_utf8_lossy(&words).into_owned())
}
