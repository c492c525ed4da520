//! Starts a program as a worker: with nothing of this process but what it is given.
//!
//! This process may be a game, whose signals are its own business: some are blocked in the thread that comes here, others
//! are ignored, and both are inherited by children that are started without care. A worker begins as one that a shell
//! started: no signal blocked, all at their defaults, in a process group of its own. No code runs between fork and exec.

use std::{
    ffi::{CString, OsString},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use nix::{
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp},
    sys::signal::{SigSet, Signal},
    unistd::Pid,
};

use crate::config::WorkerCommand;

/// The first descriptor that is not a standard stream.
const FIRST_FREE: i32 = 3;

/// Standard input, output and error of a program.
pub(crate) struct Streams {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) error: OwnedFd,
}

/// Starts `command` with these variables as its environment. It leads a process group.
pub(crate) fn spawn(
    command: &WorkerCommand,
    environment: impl Iterator<Item = (OsString, OsString)>,
    streams: Streams,
) -> io::Result<Pid> {
    let program = c_string(command.program.as_os_str().as_bytes())?;
    let arguments = command.arguments.iter().map(|argument| c_string(argument.as_bytes()));
    let arguments = std::iter::once(Ok(program.clone())).chain(arguments).collect::<io::Result<Vec<_>>>()?;
    let environment = environment
        .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<io::Result<Vec<_>>>()?;

    let Streams { input, output, error } = streams;
    let streams = [out_of_the_way(input)?, out_of_the_way(output)?, out_of_the_way(error)?];
    let mut actions = PosixSpawnFileActions::init()?;
    for (stream, number) in streams.iter().zip(0..) {
        actions.add_dup2(stream.as_raw_fd(), number)?;
    }
    Ok(posix_spawnp(&program, &actions, &attributes()?, &arguments, &environment)?)
}

fn attributes() -> io::Result<PosixSpawnAttr> {
    let mut defaults = SigSet::all();
    // These two have no other disposition.
    defaults.remove(Signal::SIGKILL);
    defaults.remove(Signal::SIGSTOP);
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&defaults)?;
    Ok(attributes)
}

/// Where this process has closed its own standard streams, new descriptors get their numbers, and the first stream that
/// is put into its place would push out another one. What stays here would be what this process prints to.
pub(crate) fn out_of_the_way(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() >= FIRST_FREE {
        return Ok(descriptor);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&descriptor, FIRST_FREE)?)
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "it holds a zero byte"))
}
