//! What the kernel knows of a process. Linux only: elsewhere there is nothing to read.

use std::{fs, io, path::PathBuf};

/// What a process holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// The most it ever was.
    pub peak_rss_kib: u64,
    /// Threads.
    pub threads: u64,
    /// Open file descriptors.
    pub descriptors: u64,
}

/// What process `pid` holds now.
///
/// # Errors
/// When the process is gone, or there is no `/proc`.
pub fn usage(pid: u32) -> io::Result<Usage> {
    let status = fs::read_to_string(entry(pid, "status"))?;
    let number = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
            .ok_or_else(|| io::Error::other(format!("no {name} in /proc/{pid}/status")))
    };
    Ok(Usage {
        rss_kib: number("VmRSS:")?,
        peak_rss_kib: number("VmHWM:")?,
        threads: number("Threads:")?,
        descriptors: fs::read_dir(entry(pid, "fd"))?.count() as u64,
    })
}

/// The time that process `pid` has spent on a processor, all threads together, in nanoseconds.
///
/// # Errors
/// When the process is gone, or there is no `/proc`.
pub fn cpu_nanos(pid: u32) -> io::Result<u64> {
    let mut total = 0;
    for task in fs::read_dir(entry(pid, "task"))? {
        // A thread may end between the listing and the reading.
        if let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) {
            total += text.split_whitespace().next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Ok(total)
}

/// A child of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// Its process id.
    pub pid: u32,
    /// It has ended, and nobody has asked how.
    pub is_zombie: bool,
    /// A signal has stopped it.
    pub is_stopped: bool,
}

/// The children of process `pid`.
///
/// # Errors
/// When there is no `/proc`.
pub fn children(pid: u32) -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(child) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end between the listing and the reading.
        let Ok(stat) = fs::read_to_string(self::entry(child, "stat")) else { continue };
        // The name in parentheses may hold anything.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse().ok()));
        if parent == Some(pid) {
            children.push(Child {
                pid: child,
                is_zombie: state == Some("Z"),
                is_stopped: state == Some("T"),
            });
        }
    }
    Ok(children)
}

/// Makes this process the parent of whatever its children leave behind, instead of the system.
///
/// # Errors
/// When the system refuses.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

fn entry(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}
