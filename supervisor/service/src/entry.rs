//! How the service gets its socket: handed over by a manager, made, or taken over from a service that runs.

use std::{
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use oam_store::{LockError, ProcessLock};
use tokio::time::{Instant, sleep};

use crate::{
    activation::Activation,
    error::ServiceError,
    folder, handover, paths,
    socket::{self, Found, FrontSocket, SocketFile},
};

/// How long the service that hands over may take to let go of its lock.
const LOCK_TIME: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// How long somebody may listen before it has the lock: it is taking the place of a service.
const CHANGE_TIME: Duration = Duration::from_secs(1);

/// Longer than [`PAUSE`], so that it gets the lock.
const CHANGE_PAUSE: Duration = Duration::from_millis(50);

/// What the service has when it may serve.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) front: FrontSocket,
    pub(crate) file: SocketFile,
    pub(crate) lock: ProcessLock,
    /// How long the service before this one may keep its realms.
    pub(crate) predecessor: Option<Duration>,
}

/// Listens at `path`, in the place of a service that runs if `replace` says so.
pub(crate) async fn listen(path: &Path, user: u32, replace: bool) -> Result<Entry, ServiceError> {
    paths::check_socket(path)?;
    folder::make_private(folder_of(path), user)?;
    // No lock is left beside what is none of ours.
    if fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Err(ServiceError::NotASocket { path: path.to_owned() });
    }
    let until = Instant::now() + CHANGE_TIME;
    loop {
        match ProcessLock::take(&paths::lock_file(path)) {
            Ok(lock) => match bind(path, lock).await {
                Err(ServiceError::SomebodyListens { .. }) if Instant::now() < until => {
                    sleep(CHANGE_PAUSE).await;
                }
                bound => return bound,
            },
            Err(LockError::Held(pid)) if replace => return take_over(path, pid).await,
            Err(error) => return Err(refused(path, error)),
        }
    }
}

/// Takes over the socket that a manager listens at.
pub(crate) fn adopt(activation: Activation) -> Result<Entry, ServiceError> {
    let path = activation.listener.local_addr().ok();
    let path = path.as_ref().and_then(|address| address.as_pathname()).unwrap_or(Path::new("")).to_owned();
    let lock = ProcessLock::take(&paths::lock_file(&path)).map_err(|error| refused(&path, error))?;
    let listen = |source| cannot_listen(&path, source);
    let (front, file) = FrontSocket::adopt(activation.listener).map_err(listen)?;
    Ok(Entry { front, file, lock, predecessor: None })
}

/// Listens where nobody does, as far as the lock tells and whoever connects.
async fn bind(path: &Path, lock: ProcessLock) -> Result<Entry, ServiceError> {
    let listen = |source| cannot_listen(path, source);
    match socket::find(path).await.map_err(listen)? {
        Found::Nothing => {}
        Found::Stale => fs::remove_file(path).map_err(listen)?,
        Found::Listener => return Err(ServiceError::SomebodyListens { socket: path.to_owned() }),
        Found::NotASocket => return Err(ServiceError::NotASocket { path: path.to_owned() }),
    }
    remove_leftovers(path).await;
    let (front, file) = FrontSocket::bind(path).map_err(listen)?;
    Ok(Entry { front, file, lock, predecessor: None })
}

/// Listens beside the path, asks the service there to make room, and moves the new socket over the old one: whoever connects
/// reaches the one or the other.
async fn take_over(path: &Path, pid: Option<u32>) -> Result<Entry, ServiceError> {
    let listen = |source| cannot_listen(path, source);
    let beside = beside(path, std::process::id());
    paths::check_socket(&beside)?;
    if let Found::Stale = socket::find(&beside).await.map_err(listen)? {
        fs::remove_file(&beside).map_err(listen)?;
    }
    let (front, mut file) = FrontSocket::bind(&beside).map_err(listen)?;
    let not_handed_over = |reason| ServiceError::NotHandedOver { pid, socket: path.to_owned(), reason };
    let promise = handover::ask(path).await.map_err(not_handed_over)?;
    file.move_to(path).map_err(listen)?;
    let drain = promise.drain();
    // The other one acts when this connection ends.
    drop(promise);
    let until = Instant::now() + LOCK_TIME;
    let lock = loop {
        match ProcessLock::take(&paths::lock_file(path)) {
            Ok(lock) => break lock,
            Err(LockError::Held(_)) if Instant::now() < until => sleep(PAUSE).await,
            Err(LockError::Held(_)) => {
                return Err(not_handed_over(format!("it still holds its lock after {LOCK_TIME:?}")));
            }
            Err(error) => return Err(refused(path, error)),
        }
    };
    remove_leftovers(path).await;
    Ok(Entry { front, file, lock, predecessor: Some(drain) })
}

/// Removes the sockets of processes that died before they could take a service's place.
async fn remove_leftovers(path: &Path) {
    let Ok(neighbours) = fs::read_dir(folder_of(path)) else { return };
    for neighbour in neighbours.flatten().map(|entry| folder_of(path).join(entry.file_name())) {
        let process = neighbour.extension().and_then(|end| end.to_str()?.parse().ok());
        if process.is_some_and(|pid| neighbour == beside(path, pid) && has_ended(pid))
            && let Ok(Found::Stale) = socket::find(&neighbour).await
        {
            let _ = fs::remove_file(&neighbour);
        }
    }
}

fn has_ended(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
}

fn refused(path: &Path, error: LockError) -> ServiceError {
    match error {
        LockError::Held(pid) => ServiceError::AlreadyRunning { pid, socket: path.to_owned() },
        LockError::Foreign => ServiceError::NotALock { path: paths::lock_file(path) },
        LockError::Io(source) => cannot_listen(&paths::lock_file(path), source),
    }
}

fn cannot_listen(path: &Path, source: io::Error) -> ServiceError {
    ServiceError::Listen { socket: path.to_owned(), source }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// `oam.sock.4711` for `oam.sock`.
fn beside(path: &Path, pid: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{pid}"));
    PathBuf::from(name)
}
