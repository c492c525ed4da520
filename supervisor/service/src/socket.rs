//! The front socket: made for its owner alone, never in the place of one that somebody listens at, and moved over the path
//! of another in one step.

use std::{
    fs,
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

pub(crate) use interprocess::os::unix::uds_local_socket::tokio::Stream;
use interprocess::{
    local_socket::{
        GenericFilePath, ListenerOptions, ToFsName,
        traits::tokio::{Listener as _, Stream as _},
    },
    os::unix::uds_local_socket::tokio::Listener,
};
use nix::sys::socket::{Shutdown, shutdown};
use oam_store::FileIdentity;
use tokio::time::timeout;

/// How long a process that listens may take to let somebody in; after that it listens, but does not accept.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// Where clients come in.
#[derive(Debug)]
pub(crate) struct FrontSocket {
    listener: Listener,
}

/// A socket's file, which is removed with this unless another socket has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// `None` when it is somebody else's to remove.
    own: Option<FileIdentity>,
    /// It has been. When a socket is closed, the system may give the number of its file to the next one.
    is_removed: AtomicBool,
}

impl FrontSocket {
    /// Listens at a path where there is nothing.
    pub(crate) fn bind(path: &Path) -> io::Result<(Self, SocketFile)> {
        let name = path.to_fs_name::<GenericFilePath>()?;
        let listener = ListenerOptions::new().name(name).reclaim_name(false).create_tokio_as::<Listener>()?;
        let file = SocketFile {
            path: path.to_owned(),
            own: Some(FileIdentity::at(path)?),
            is_removed: AtomicBool::new(false),
        };
        // Its folder keeps others away until then.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok((Self { listener }, file))
    }

    /// Takes a socket over that the process was started with.
    pub(crate) fn adopt(listener: UnixListener) -> io::Result<(Self, SocketFile)> {
        let path = listener.local_addr()?.as_pathname().map(Path::to_owned).unwrap_or_default();
        let listener = Listener::try_from(OwnedFd::from(listener))?;
        Ok((Self { listener }, SocketFile { path, own: None, is_removed: AtomicBool::new(false) }))
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        self.listener.accept().await
    }

    /// Ends listening, and returns those who had connected and were not accepted yet.
    pub(crate) fn into_backlog(self) -> io::Result<Vec<Stream>> {
        let listener = UnixListener::from(OwnedFd::try_from(self.listener)?);
        let mut waiting = Vec::new();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    let stream = tokio::net::UnixStream::from_std(stream)?;
                    waiting.push(Stream::from(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(waiting),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether clients that connect at its path reach this socket.
    pub(crate) fn is_in_place(&self) -> bool {
        self.own.is_none_or(|own| own.is_at(&self.path))
    }

    /// Moves it to `path`, in the place of what is there. Who connects meanwhile reaches the one or the other.
    pub(crate) fn move_to(&mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        path.clone_into(&mut self.path);
        Ok(())
    }

    /// Removes it, before the socket is closed: nobody finds it any more. Who had connected before is still to be accepted.
    pub(crate) fn remove(&self) {
        if !self.is_removed.swap(true, Ordering::Relaxed) && self.own.is_some() && self.is_in_place() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// What is found at the path of a socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// A socket that nobody listens at.
    Stale,
    /// Somebody listens.
    Listener,
    /// It is something else.
    NotASocket,
}

/// Looks at the path, and connects if a socket is there.
pub(crate) async fn find(path: &Path) -> io::Result<Found> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => return Ok(Found::NotASocket),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    }
    match connect(path).await {
        Ok(_) => Ok(Found::Listener),
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Ok(Found::Stale),
            ErrorKind::NotFound => Ok(Found::Nothing),
            // Its backlog is full.
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(Found::Listener),
            _ => Err(error),
        },
    }
}

/// Ends what is sent on a stream, which goes on receiving; `AsyncWrite::poll_shutdown` does nothing here.
pub(crate) fn end_writing(stream: &Stream) -> io::Result<()> {
    Ok(shutdown(stream.as_fd().as_raw_fd(), Shutdown::Write)?)
}

/// Connects to what listens at `path`.
pub(crate) async fn connect(path: &Path) -> io::Result<Stream> {
    let name = path.to_fs_name::<GenericFilePath>()?;
    let connected = timeout(CONNECT_TIME, Stream::connect(name)).await;
    connected.map_err(|_| io::Error::from(ErrorKind::TimedOut))?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_found_as_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.sock");
        assert_eq!(find(&path).await.unwrap(), Found::Nothing);
        let (front, file) = FrontSocket::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(find(&path).await.unwrap(), Found::Listener);
        drop(front);
        assert_eq!(find(&path).await.unwrap(), Found::Stale);
        drop(file);
        assert_eq!(find(&path).await.unwrap(), Found::Nothing);
        fs::write(&path, "").unwrap();
        assert_eq!(find(&path).await.unwrap(), Found::NotASocket);
    }

    #[tokio::test]
    async fn a_file_is_removed_once_and_the_next_one_at_its_path_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.sock");
        for _ in 0..10 {
            let (front, old_file) = FrontSocket::bind(&path).unwrap();
            old_file.remove();
            drop(front);
            let (_next, _next_file) = FrontSocket::bind(&path).unwrap();
            drop(old_file);
            assert_eq!(find(&path).await.unwrap(), Found::Listener);
        }
    }

    #[tokio::test]
    async fn a_socket_that_was_replaced_leaves_the_other_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.sock");
        let (old, old_file) = FrontSocket::bind(&path).unwrap();
        let waiting = connect(&path).await.unwrap();
        let (_new, mut new_file) = FrontSocket::bind(&folder.path().join("oam.sock.1")).unwrap();
        new_file.move_to(&path).unwrap();
        assert!(!old_file.is_in_place());
        assert_eq!(old.into_backlog().unwrap().len(), 1);
        drop((waiting, old_file));
        assert!(new_file.is_in_place());
        assert_eq!(find(&path).await.unwrap(), Found::Listener);
    }
}
