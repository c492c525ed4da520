//! A socket that a manager has opened before it started the service: systemd (`LISTEN_FDS`), or launchd.
//!
//! Whoever connects while the service is not there waits in that socket, and is the reason to start it.

use std::{fmt, io, os::fd::OwnedFd, os::unix::net::UnixListener};

use listenfd::ListenFd;
use nix::sys::socket::{getsockopt, sockopt::AcceptConn};

use crate::launchd;

/// The name of the socket's entry in the plist of the service.
pub const LAUNCHD_SOCKET: &str = "Listener";

/// Who started the service with a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// A systemd socket unit, or what does the same.
    Systemd,
    /// A `LaunchAgent`.
    Launchd,
}

impl Manager {
    /// Its name in a status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The socket that the process was started with.
#[derive(Debug)]
pub struct Activation {
    pub(crate) manager: Manager,
    pub(crate) listener: UnixListener,
}

/// The socket that a manager hands over cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    /// One is needed.
    #[error(
        "{manager} hands over {count} sockets, and the service listens at one; leave one in its definition"
    )]
    Count {
        /// Who.
        manager: Manager,
        /// How many.
        count: usize,
    },
    /// It is not the socket of a path.
    #[error("{manager} hands over what is no Unix stream socket at a path: {reason}")]
    Unsuitable {
        /// Who.
        manager: Manager,
        /// What it is instead.
        reason: String,
    },
    /// Nobody could connect to it.
    #[error(
        "{manager} hands over a socket that does not listen; it has to listen before it starts the service"
    )]
    NotListening {
        /// Who.
        manager: Manager,
    },
    /// It could not be asked.
    #[error("{manager} does not hand over the socket: {source}")]
    Refused {
        /// Who.
        manager: Manager,
        /// What the system says.
        source: io::Error,
    },
}

impl Activation {
    /// What this process was started with, if a manager did so. To be called once, before the process has further threads:
    /// it takes the variables out of the environment, so that no child believes they are meant for it.
    pub fn of_process() -> Result<Option<Self>, ActivationError> {
        let is_meant = is_meant_for(std::process::id(), |name| std::env::var(name).ok())?;
        let mut systemd = if is_meant { ListenFd::from_env() } else { ListenFd::empty() };
        Self::find(&mut systemd, launchd::activate_socket)
    }

    /// A socket that is listened at already, whoever made it.
    pub fn with(manager: Manager, listener: UnixListener) -> Result<Self, ActivationError> {
        let unsuitable = |reason| ActivationError::Unsuitable { manager, reason };
        let address = listener.local_addr().map_err(|error| unsuitable(error.to_string()))?;
        if address.as_pathname().is_none() {
            return Err(unsuitable(format!("{address:?}")));
        }
        if !getsockopt(&listener, AcceptConn).map_err(|error| unsuitable(error.to_string()))? {
            return Err(ActivationError::NotListening { manager });
        }
        Ok(Self { manager, listener })
    }

    fn find(
        systemd: &mut ListenFd,
        launchd: impl FnOnce(&str) -> io::Result<Vec<OwnedFd>>,
    ) -> Result<Option<Self>, ActivationError> {
        if let Some(activation) = Self::of_systemd(systemd)? {
            return Ok(Some(activation));
        }
        let manager = Manager::Launchd;
        let mut sockets =
            launchd(LAUNCHD_SOCKET).map_err(|source| ActivationError::Refused { manager, source })?;
        match (sockets.pop(), sockets.len()) {
            (None, _) => Ok(None),
            (Some(socket), 0) => Self::with(manager, UnixListener::from(socket)).map(Some),
            (Some(_), rest) => Err(ActivationError::Count { manager, count: rest + 1 }),
        }
    }

    fn of_systemd(sockets: &mut ListenFd) -> Result<Option<Self>, ActivationError> {
        let manager = Manager::Systemd;
        let listener = sockets
            .take_unix_listener(0)
            .map_err(|error| ActivationError::Unsuitable { manager, reason: error.to_string() })?;
        listener.map(|listener| Self::with(manager, listener)).transpose()
    }
}

/// Whether systemd hands a socket to this process, and not to one that has left it its variables.
fn is_meant_for(process: u32, variable: impl Fn(&str) -> Option<String>) -> Result<bool, ActivationError> {
    let number = |name| variable(name)?.parse::<usize>().ok();
    if number("LISTEN_PID") != usize::try_from(process).ok() {
        return Ok(false);
    }
    match number("LISTEN_FDS") {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(count) => Err(ActivationError::Count { manager: Manager::Systemd, count }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn sockets(count: usize) -> Vec<OwnedFd> {
        let folder = tempfile::tempdir().unwrap();
        let bind = |number| UnixListener::bind(folder.path().join(format!("{number}"))).unwrap().into();
        (0..count).map(bind).collect()
    }

    #[test]
    fn launchd_hands_over_the_socket_of_the_plist() {
        let found = Activation::find(&mut ListenFd::empty(), |name| {
            assert_eq!(name, LAUNCHD_SOCKET);
            Ok(sockets(1))
        });
        assert_eq!(found.unwrap().unwrap().manager, Manager::Launchd);
    }

    #[test]
    fn without_a_manager_there_is_no_socket() {
        assert!(Activation::find(&mut ListenFd::empty(), |_| Ok(Vec::new())).unwrap().is_none());
    }

    #[test]
    fn systemd_means_the_process_that_it_names_and_one_socket() {
        let rows = [
            (Some("7"), Some("1"), "true"),
            (Some("7"), Some("0"), "false"),
            (Some("7"), None, "false"),
            (Some("7"), Some("-1"), "false"),
            (Some("8"), Some("1"), "false"),
            (Some(""), Some("1"), "false"),
            (None, Some("1"), "false"),
            (None, Some("999999999"), "false"),
            (
                Some("7"),
                Some("999999999"),
                "systemd hands over 999999999 sockets, and the service listens at one; leave one in its definition",
            ),
        ];
        for (process, count, expected) in rows {
            let variable = |name: &str| if name == "LISTEN_PID" { process } else { count }.map(str::to_owned);
            let found = is_meant_for(7, variable).map_or_else(|error| error.to_string(), |is| is.to_string());
            assert_eq!(found, expected, "{process:?} {count:?}");
        }
    }

    #[test]
    fn a_socket_that_does_not_listen_is_refused() {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
        let folder = tempfile::tempdir().unwrap();
        let bound = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).unwrap();
        bind(bound.as_raw_fd(), &UnixAddr::new(&folder.path().join("a.sock")).unwrap()).unwrap();
        let error = Activation::with(Manager::Systemd, UnixListener::from(bound)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "systemd hands over a socket that does not listen; it has to listen before it starts the service"
        );
    }

    #[test]
    fn what_cannot_be_used_is_told_with_who_hands_it_over() {
        let (pair, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let rows: [(io::Result<Vec<OwnedFd>>, &str); 3] = [
            (
                Ok(sockets(2)),
                "launchd hands over 2 sockets, and the service listens at one; leave one in its definition",
            ),
            (Ok(vec![pair.into()]), "launchd hands over what is no Unix stream socket at a path: (unnamed)"),
            (
                Err(io::ErrorKind::PermissionDenied.into()),
                "launchd does not hand over the socket: permission denied",
            ),
        ];
        for (answer, expected) in rows {
            let error = Activation::find(&mut ListenFd::empty(), |_| answer).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
