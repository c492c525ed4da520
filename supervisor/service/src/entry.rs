//! How the service gets its socket: handed over by a manager, made, or taken over from a service that runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    activation::Activation,
    error::ServiceError,
    folder, handover,
    lock::{LockError, ServiceLock},
    paths,
    socket::{self, Found, FrontSocket, SocketFile},
};

/// How long the service that hands over may take to let go of its lock.
const LOCK_TIME: Duration = Duration::from_secs(10);
/// How long a service that listens no more may take to end: its turns are waited for.
const ENDING_TIME: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// What the service has when it may serve.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) front: FrontSocket,
    pub(crate) file: SocketFile,
    pub(crate) lock: ServiceLock,
    /// How long the service before this one may keep its realms.
    pub(crate) predecessor: Option<Duration>,
}

/// Listens at `path`, in the place of a service that runs if `replace` says so.
pub(crate) async fn listen(path: &Path, user: u32, replace: bool) -> Result<Entry, ServiceError> {
    paths::check_socket(path)?;
    folder::make_private(folder_of(path), user)?;
    match lock_unless_served(path).await {
        Ok(lock) => bind(path, lock).await,
        Err(LockError::Held(pid)) if replace => take_over(path, pid).await,
        Err(error) => Err(refused(path, error)),
    }
}

/// The lock, as soon as whoever holds it has ended, if nobody listens: that one is ending, or about to listen.
async fn lock_unless_served(path: &Path) -> Result<ServiceLock, LockError> {
    let until = Instant::now() + ENDING_TIME;
    loop {
        let taken = ServiceLock::take(&lock_path(path));
        if !matches!(taken, Err(LockError::Held(_))) || Instant::now() > until {
            return taken;
        }
        if !matches!(socket::find(path).await, Ok(Found::Nothing | Found::Stale)) {
            return taken;
        }
        sleep(PAUSE).await;
    }
}

/// Takes over the socket that a manager listens at.
pub(crate) fn adopt(activation: Activation) -> Result<Entry, ServiceError> {
    let path = activation.listener.local_addr().ok();
    let path = path.as_ref().and_then(|address| address.as_pathname()).unwrap_or(Path::new("")).to_owned();
    let lock = ServiceLock::take(&lock_path(&path)).map_err(|error| refused(&path, error))?;
    let listen = |source| ServiceError::Listen { socket: path.clone(), source };
    let (front, file) = FrontSocket::adopt(activation.listener).map_err(listen)?;
    Ok(Entry { front, file, lock, predecessor: None })
}

/// Listens where nobody does, as far as the lock tells and whoever connects.
async fn bind(path: &Path, lock: ServiceLock) -> Result<Entry, ServiceError> {
    let listen = |source| ServiceError::Listen { socket: path.to_owned(), source };
    match socket::find(path).await.map_err(listen)? {
        Found::Nothing => {}
        Found::Stale => fs::remove_file(path).map_err(listen)?,
        Found::Listener => return Err(ServiceError::SomebodyListens { socket: path.to_owned() }),
        Found::NotASocket => return Err(ServiceError::NotASocket { path: path.to_owned() }),
    }
    let (front, file) = FrontSocket::bind(path).map_err(listen)?;
    Ok(Entry { front, file, lock, predecessor: None })
}

/// Listens beside the path, asks the service there to make room, and moves the new socket over the old one: whoever connects
/// reaches the one or the other.
async fn take_over(path: &Path, pid: Option<u32>) -> Result<Entry, ServiceError> {
    let listen = |source| ServiceError::Listen { socket: path.to_owned(), source };
    let beside = beside(path);
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
        match ServiceLock::take(&lock_path(path)) {
            Ok(lock) => break lock,
            Err(LockError::Held(_)) if Instant::now() < until => sleep(PAUSE).await,
            Err(LockError::Held(_)) => {
                return Err(not_handed_over(format!("it still holds its lock after {LOCK_TIME:?}")));
            }
            Err(LockError::Io(source)) => return Err(listen(source)),
        }
    };
    Ok(Entry { front, file, lock, predecessor: Some(drain) })
}

fn refused(path: &Path, error: LockError) -> ServiceError {
    match error {
        LockError::Held(pid) => ServiceError::AlreadyRunning { pid, socket: path.to_owned() },
        LockError::Io(source) => ServiceError::Listen { socket: lock_path(path), source },
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// `oam.lock` for `oam.sock`.
fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// `oam.sock.4711` for `oam.sock`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    PathBuf::from(name)
}
