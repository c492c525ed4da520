//! Why the service does not start, in words for whoever runs it.

use std::{io, path::PathBuf};

use crate::{folder::FolderError, paths::PathError};

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no place for the socket.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The socket's folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Another one serves.
    #[error("{} serves at {} already; stop it first, or take its place with --replace", holder(*pid), socket.display())]
    AlreadyRunning {
        /// Its process, if it left its number.
        pid: Option<u32>,
        /// Where.
        socket: PathBuf,
    },
    /// A program that is no service of this kind has the socket.
    #[error(
        "another program listens at {}, which holds no lock there: a manager that starts the service when somebody connects, or no service at all; start the service through its manager, or name another place with --socket",
        socket.display()
    )]
    SomebodyListens {
        /// Where.
        socket: PathBuf,
    },
    /// There is a file that must not be replaced.
    #[error("{} is there and is not a socket; move it away, or name another place with --socket", path.display())]
    NotASocket {
        /// Where.
        path: PathBuf,
    },
    /// There is a file in the place of the lock that must not be replaced.
    #[error("{} is there and is not the lock of a service; move it away, or name another place with --socket", path.display())]
    NotALock {
        /// The file.
        path: PathBuf,
    },
    /// The service that runs does not make room.
    #[error("{} at {} does not hand over: {reason}", holder(*pid), socket.display())]
    NotHandedOver {
        /// Its process, if it left its number.
        pid: Option<u32>,
        /// Where.
        socket: PathBuf,
        /// Why.
        reason: String,
    },
    /// The socket or its lock cannot be made.
    #[error("cannot listen at {}: {source}", socket.display())]
    Listen {
        /// Where.
        socket: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
