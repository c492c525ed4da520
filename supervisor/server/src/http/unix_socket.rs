//! Unix sockets at paths: made so that only their owner can open them, and never in the place of another file.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use super::listener::BACKLOG;

/// A listener and its file, which is removed with it.
#[derive(Debug)]
pub(super) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    identity: Identity,
}

/// Tells a file from another that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Listens at `path`. A socket that nobody listens at any more is replaced.
    pub(super) async fn bind(path: &Path) -> io::Result<Self> {
        remove_stale(path).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        // Nobody can connect before `listen`, so at no time with the wrong mode.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let identity = Identity::of(&fs::symlink_metadata(path)?);
        Ok(Self { listener: socket.listen(BACKLOG)?, path: path.to_owned(), identity })
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| Identity::of(&file) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Identity {
    fn of(file: &fs::Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino() }
    }
}

async fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is not a socket"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
        Err(error) => Err(error),
    }
}
