//! Load on an HTTP server, by `wrk`.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

/// Connections that have a request under way at all times.
pub(crate) const CONNECTIONS: &str = "64";

/// What loads servers: `wrk`, with a script.
#[derive(Debug)]
pub(crate) struct Load {
    folder: tempfile::TempDir,
}

/// What a server made of its load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) requests: f64,
    pub(crate) per_second: f64,
    pub(crate) p99_ms: f64,
}

impl Load {
    /// Fails, with what to do, when there is no `wrk`.
    pub(crate) fn new() -> Result<Self, String> {
        let wrk = Command::new("wrk").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        wrk.map_err(|error| {
            format!("wrk, which loads the server, does not run ({error}). Install it: apt-get install wrk, brew install wrk")
        })?;
        let load = Self { folder: tempfile::tempdir().expect("a folder for a script") };
        std::fs::write(load.script(), include_str!("post.lua")).expect("a script can be written");
        Ok(load)
    }

    fn script(&self) -> PathBuf {
        self.folder.path().join("post.lua")
    }

    /// Posts this body to `url` on [`CONNECTIONS`] connections for a second, over and over. Each answer must be a success.
    pub(crate) fn post(&self, url: &str, body: &str) -> Served {
        let output = Command::new("wrk")
            .args(["--threads", "1", "--connections", CONNECTIONS, "--duration", "1"])
            .arg("--script")
            .arg(self.script())
            .args([url, "--", body])
            .output()
            .expect("wrk runs");
        let said = String::from_utf8_lossy(&output.stdout);
        served(&said)
            .unwrap_or_else(|| panic!("{url} fails: {said}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// What the script says at the end.
fn served(said: &str) -> Option<Served> {
    let line = said.lines().find_map(|line| line.strip_prefix("measured "))?;
    let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [requests, micros, p99, failed] = numbers[..] else { return None };
    let is_sound = requests > 0.0 && failed == 0.0;
    is_sound.then(|| Served { requests, per_second: requests / (micros / 1e6), p99_ms: p99 / 1e3 })
}
