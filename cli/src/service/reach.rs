//! Reaching the service: connecting to it, and starting it if nobody listens.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use oam_service::paths;
use serde_json::Value;
use tokio::{
    net::UnixStream,
    time::{Instant, sleep},
};

use super::{
    client::is_absence,
    command,
    detached::{self, DetachedService},
    manager::Manager,
    running,
};
use crate::{failure::Failure, files};

/// How long a service may take to start.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long until somebody who waits is told what for.
const SILENCE: Duration = Duration::from_secs(1);
/// How long the old service may take to make room: its turns are waited for.
const HAND_OVER_TIME: Duration = Duration::from_mins(1);
/// How often it is tried.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a service that listens no more may take to end: its turns are waited for.
const ENDING_TIME: Duration = Duration::from_secs(30);
/// How long another service may take to listen, when the one that was started has ended: they start one at a time.
const OTHERS_GRACE: Duration = Duration::from_secs(3);

/// Whether a service is started when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayStart {
    Yes,
    /// Only at the usual place, or where there is a folder for the socket: who misspells a path wants no service there.
    InItsFolder,
    No,
}

/// Where the service is, and what may be done to have one.
#[derive(Debug)]
pub(crate) struct Reach {
    socket: PathBuf,
    /// Somebody named the socket: then it is not the one that a manager listens at.
    is_named: bool,
    may_start: MayStart,
}

/// What was done to have a service.
enum Started {
    ByManager,
    Detached(DetachedService),
}

impl Reach {
    /// The service at this socket, which `option` names, or the installed one, or at the usual place.
    pub(crate) fn new(
        socket: Option<&Path>,
        option: &'static str,
        may_start: MayStart,
    ) -> Result<Self, Failure> {
        let named = socket.map(|path| files::absolute(&files::with_home(path)));
        let is_named = named.is_some();
        let socket = match named {
            Some(path) => path,
            None => match installed_socket() {
                Some(path) => path,
                None => paths::socket().map_err(|error| error.naming(option))?,
            },
        };
        paths::check_socket(&socket).map_err(|error| error.naming(option))?;
        Ok(Self { socket, is_named, may_start })
    }

    /// Connects, to a service that is started if need be and allowed.
    pub(crate) async fn connect(&self) -> Result<UnixStream, Failure> {
        if let Some(connection) = self.try_connect().await? {
            return Ok(connection);
        }
        if self.may_start == MayStart::No {
            return Err(Failure::io(format!(
                "no service listens at {}. `{}` starts it.",
                self.socket.display(),
                self.command("start")
            )));
        }
        let manager = Manager::of_this_system()?;
        if manager.listens_at(&self.socket)? {
            manager.start()?;
            return self.wait_for(Started::ByManager).await;
        }
        if self.may_start == MayStart::InItsFolder {
            self.expect_folder()?;
        }
        match self.wait_for_end().await? {
            Some(connection) => Ok(connection),
            None => self.wait_for(self.start_detached()?).await,
        }
    }

    /// The command to type that is about this service.
    fn command(&self, words: &str) -> String {
        command(words, self.is_named.then_some(&self.socket))
    }

    fn expect_folder(&self) -> Result<(), Failure> {
        let is_usual = || paths::socket().is_ok_and(|usual| usual == self.socket);
        let Some(folder) = self.socket.parent() else { return Ok(()) };
        if !self.is_named || folder.is_dir() || is_usual() {
            return Ok(());
        }
        Err(Failure::io(format!(
            "no service listens at {}, and there is no folder {}. If the path is right, `{}` makes both.",
            self.socket.display(),
            folder.display(),
            self.command("start")
        )))
    }

    async fn try_connect(&self) -> Result<Option<UnixStream>, Failure> {
        match UnixStream::connect(&self.socket).await {
            Ok(connection) => Ok(Some(connection)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(self.cannot_connect(&error)),
        }
    }

    fn cannot_connect(&self, error: &io::Error) -> Failure {
        Failure::io(format!("cannot connect to the service at {}: {error}", self.socket.display()))
    }

    /// Waits while a service that listens no more still has the lock. Somebody else may be the first after that.
    async fn wait_for_end(&self) -> Result<Option<UnixStream>, Failure> {
        let begin = Instant::now();
        let mut has_told = false;
        while let Some(process) = running::process(&self.socket) {
            if let Some(connection) = self.try_connect().await? {
                return Ok(Some(connection));
            }
            if begin.elapsed() > ENDING_TIME {
                return Err(Failure::io(format!(
                    "process {process} listens no more at {} and has not ended after {} s. `{}` ends it.",
                    self.socket.display(),
                    ENDING_TIME.as_secs(),
                    self.command("stop --kill")
                )));
            }
            if !has_told && begin.elapsed() > SILENCE {
                has_told = true;
                tracing::warn!("waiting for process {process} to end, the service before");
            }
            sleep(PAUSE).await;
        }
        Ok(None)
    }

    fn start_detached(&self) -> Result<Started, Failure> {
        let socket: [OsString; 2] = ["--socket".into(), self.socket.clone().into()];
        let arguments = self.is_named.then_some(socket).into_iter().flatten();
        detached::start(arguments).map(Started::Detached)
    }

    async fn wait_for(&self, mut started: Started) -> Result<UnixStream, Failure> {
        let begin = Instant::now();
        let mut deadline = begin + PATIENCE;
        let mut last_words = None;
        let mut has_told = false;
        while Instant::now() < deadline {
            if let Some(connection) = self.try_connect().await? {
                return Ok(connection);
            }
            if let Started::Detached(service) = &mut started
                && last_words.is_none()
                && let Some(words) = service.ended()
            {
                deadline = deadline.min(Instant::now() + OTHERS_GRACE);
                last_words = Some(words);
            }
            if !has_told && begin.elapsed() > SILENCE {
                has_told = true;
                tracing::warn!("waiting for the service to listen at {}", self.socket.display());
            }
            sleep(PAUSE).await;
        }
        Err(Failure::io(match last_words {
            Some(words) => format!("the service was started and ended again: {words}"),
            None => format!(
                "the service was started and does not listen at {} after {} s. `{}` and `{}` tell more.",
                self.socket.display(),
                PATIENCE.as_secs(),
                self.command("status"),
                self.command("logs")
            ),
        }))
    }
}

/// Where the installed service listens, if that was said. What is installed and cannot be understood is in nobody's way who
/// uses a service that runs.
fn installed_socket() -> Option<PathBuf> {
    Manager::of_this_system().ok()?.installed().ok()??.named_socket()
}

/// Has a new service take the place of the one with this process number, and waits until it has.
pub(crate) fn replace(named: Option<&Path>, socket: &Path, old: &Value) -> Result<(), Failure> {
    let socket_argument = named.map(|path| [OsString::from("--socket"), path.into()]);
    let arguments = socket_argument.into_iter().flatten().chain(["--replace".into()]);
    let mut service = detached::start(arguments)?;
    let deadline = std::time::Instant::now() + HAND_OVER_TIME;
    while std::time::Instant::now() < deadline {
        if let Some(words) = service.ended() {
            return Err(Failure::io(format!("the service was started and ended again: {words}")));
        }
        if running::status(socket)?.is_some_and(|status| status["pid"] != *old) {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    Err(Failure::io(format!("the service has not been replaced after {} s", HAND_OVER_TIME.as_secs())))
}
