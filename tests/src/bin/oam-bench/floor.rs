//! What nobody can beat: a process that reads and writes the same bytes and does nothing else.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    process::Command,
};

/// The argument that turns this program into the echo.
pub(crate) const ECHO: &str = "echo-lines";

/// The argument that turns this program into what answers frames without looking at them.
pub(crate) const FRAMES: &str = "answer-frames";

/// The process that answers each `request` bytes on its socket with writes of these sizes.
pub(crate) fn frames_command(request: usize, answers: &[usize]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg(FRAMES).arg(request.to_string()).args(answers.iter().map(usize::to_string));
    command
}

/// Answers frames on descriptor 0, until it ends.
pub(crate) fn answer_frames() -> io::Result<()> {
    let mut sizes = std::env::args().skip(2).map(|size| size.parse().map_err(io::Error::other));
    let request: usize = sizes.next().ok_or(io::ErrorKind::InvalidInput)??;
    let answers = sizes.map(|size| Ok(vec![0; size?])).collect::<io::Result<Vec<_>>>()?;
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; request];
    loop {
        socket.read_exact(&mut buffer)?;
        for answer in &answers {
            socket.write_all(answer)?;
        }
    }
}

/// The echo as a command.
pub(crate) fn echo_command() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg(ECHO);
    command
}

/// Writes what it reads, until the end of input, past the buffers of the standard library.
pub(crate) fn echo() -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            count => output.write_all(&buffer[..count])?,
        }
    }
}

/// Keeps this thread, and the processes it starts, on one processor while it lives.
#[cfg(target_os = "linux")]
pub(crate) struct Pinned(nix::sched::CpuSet);

#[cfg(target_os = "linux")]
impl Pinned {
    pub(crate) fn to_one() -> Option<Self> {
        use nix::{
            sched::{CpuSet, sched_getaffinity, sched_setaffinity},
            unistd::Pid,
        };
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).ok()?;
        let first = (0..CpuSet::count()).find(|&cpu| before.is_set(cpu).unwrap_or(false))?;
        let mut one = CpuSet::new();
        one.set(first).ok()?;
        sched_setaffinity(this, &one).ok()?;
        Some(Self(before))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &self.0);
    }
}

/// Elsewhere processes cannot be kept on a processor.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Pinned;

#[cfg(not(target_os = "linux"))]
impl Pinned {
    pub(crate) fn to_one() -> Option<Self> {
        None
    }
}
