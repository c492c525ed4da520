//! The front socket: made for its owner alone, never in the place of one that somebody listens at, and moved over the path
//! of another in one step.

use std::{
    fs,
    io::{self, ErrorKind},
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, MetadataExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

use interprocess::{
    local_socket::{GenericFilePath, ListenerOptions, ToFsName, tokio::Stream, traits::tokio::Listener as _},
    os::unix::uds_local_socket::tokio::{Listener, Stream as UnixStream},
};
use interprocess::local_socket::traits::tokio::Stream as _;

/// How long a process that listens may take to let somebody in; after that it listens, but does not accept.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// A socket that is listened at.
#[derive(Debug)]
pub(crate) struct FrontSocket {
    listener: Listener,
    path: PathBuf,
    /// `None` when the file is somebody else's to remove.
    own: Option<Identity>,
}

/// Tells a file from another that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl FrontSocket {
    /// Listens at a path where there is nothing.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let name = path.to_fs_name::<GenericFilePath>()?;
        let listener = ListenerOptions::new().name(name).reclaim_name(false).create_tokio_as::<Listener>()?;
        // Its folder keeps others away until then.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let own = Identity::at(path)?;
        Ok(Self { listener, path: path.to_owned(), own: Some(own) })
    }

    /// Takes a socket over that the process was started with. Its file stays when this ends.
    pub(crate) fn adopt(listener: UnixListener) -> io::Result<Self> {
        let path = listener.local_addr()?.as_pathname().map(Path::to_owned).unwrap_or_default();
        let listener = Listener::try_from(OwnedFd::from(listener))?;
        Ok(Self { listener, path, own: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        self.listener.accept().await.map(Stream::from)
    }

    /// Whether clients that connect at `path` now come here.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.own.is_none() || Identity::at(path).ok() == self.own
    }

    /// Moves it to `path`, in the place of what is there. Who connects meanwhile reaches the one or the other.
    pub(crate) fn move_to(&mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        path.clone_into(&mut self.path);
        Ok(())
    }

    /// Nobody finds it from now on. Who had connected before is still to be accepted.
    pub(crate) fn hide(&mut self) {
        if self.own.is_some() && self.is_at(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
        self.own = None;
    }
}

impl Drop for FrontSocket {
    fn drop(&mut self) {
        self.hide();
    }
}

impl Identity {
    fn at(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino() })
    }
}

/// What is found at the path of a socket.
#[derive(Debug)]
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

/// Connects to the service at `path`.
pub(crate) async fn connect(path: &Path) -> io::Result<Stream> {
    let name = path.to_fs_name::<GenericFilePath>()?;
    let stream = tokio::time::timeout(CONNECT_TIME, UnixStream::connect(name));
    stream.await.map_err(|_| io::Error::from(ErrorKind::TimedOut))?.map(Stream::from)
}
