//! Pipes and sockets that the process was started with: read and written as soon as they are ready, watched
//! for the other side going away.
//!
//! Tokio's pipe types do the waiting for both, because reading and writing a connected stream socket is no
//! different.

use std::{
    future::{Future, pending},
    io::{self, ErrorKind},
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::stat::{SFlag, fstat},
};
use tokio::{
    io::Interest,
    net::unix::pipe::{Receiver, Sender},
};

/// Whether the descriptor tells when it is ready. Regular files, terminals and `/dev/null` are not handled
/// that way: the first never wait, and the mode of a terminal is not ours to change.
pub(super) fn is_pollable(fd: impl AsFd) -> io::Result<bool> {
    let kind = SFlag::from_bits_truncate(fstat(fd)?.st_mode) & SFlag::S_IFMT;
    Ok(kind == SFlag::S_IFIFO || kind == SFlag::S_IFSOCK)
}

/// Non-blocking mode, for as long as this value lives. The mode belongs to the open file, which other
/// processes may share (the shell that started us), so it is put back in the end.
#[derive(Debug)]
pub(super) struct NonBlocking {
    fd: OwnedFd,
    flags_to_restore: Option<OFlag>,
}

impl NonBlocking {
    pub(super) fn set(fd: impl AsFd) -> io::Result<Self> {
        let fd = fd.as_fd().try_clone_to_owned()?;
        let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
        // Where input and output are one socket, the first to set the mode is the one to put it back.
        let flags_to_restore = if flags.contains(OFlag::O_NONBLOCK) {
            None
        } else {
            fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
            Some(flags)
        };
        Ok(Self { fd, flags_to_restore })
    }
}

impl Drop for NonBlocking {
    fn drop(&mut self) {
        if let Some(flags) = self.flags_to_restore {
            // Fails only for descriptors that are not open.
            let _ = fcntl(&self.fd, FcntlArg::F_SETFL(flags));
        }
    }
}

/// Resolves when nobody can read any more what is written to this pipe or socket. Never resolves when that
/// cannot be told; a write tells then. The descriptor must be in non-blocking mode.
pub fn reader_gone(output: OwnedFd) -> io::Result<impl Future<Output = ()> + Send> {
    // Waiting to write would wake the process whenever the other side reads. Waiting to read from an output
    // wakes it only when the other side goes away, or ends its half of a socket.
    let watched = Receiver::from_owned_fd_unchecked(output.try_clone()?)?;
    Ok(async move {
        if let Err(error) = watch(watched, output).await {
            tracing::debug!(%error, "the reader of the output cannot be watched");
            pending::<()>().await;
        }
    })
}

async fn watch(watched: Receiver, output: OwnedFd) -> io::Result<()> {
    // Says that what was reported has been seen: the next report is of something new.
    let seen = || Err::<(), _>(ErrorKind::WouldBlock.into());
    loop {
        let ready = watched.ready(Interest::READABLE | Interest::ERROR).await?;
        if ready.is_write_closed() || ready.is_error() {
            return Ok(());
        }
        if ready.is_read_closed() {
            break;
        }
        let _ = watched.try_io(seen);
    }
    // The other side sends nothing more, and may still be reading.
    drop(watched);
    let watched = Sender::from_owned_fd_unchecked(output)?;
    loop {
        let ready = watched.ready(Interest::WRITABLE | Interest::ERROR).await?;
        if ready.is_write_closed() || ready.is_error() {
            return Ok(());
        }
        let _ = watched.try_io(seen);
    }
}
