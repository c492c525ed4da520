//! Where connections come in.

use std::{
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::either::Either;

#[cfg(unix)]
use super::unix_socket::SocketFile;
use super::{config::TcpAddress, hosts::is_loopback};

/// Connections that wait to be accepted.
pub(super) const BACKLOG: u32 = 1024;

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Tcp(SocketAddr),
    #[cfg(unix)]
    Socket(PathBuf),
}

/// An open listener.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Socket(SocketFile),
}

/// An accepted connection.
#[cfg(unix)]
pub(super) type Accepted = Either<TcpStream, UnixStream>;
/// An accepted connection; none is ever on the right.
#[cfg(not(unix))]
pub(super) type Accepted = Either<TcpStream, tokio::io::Empty>;

/// What to do about a failure to accept.
#[derive(Debug)]
pub(super) enum AcceptError {
    /// It concerns one connection, which is gone.
    Connection,
    /// There are no descriptors or no memory now.
    Exhausted(io::Error),
    /// The listener does not work any more.
    Listener(io::Error),
}

impl TcpAddress {
    /// Whether only this machine can reach it, as far as the host tells.
    pub fn is_private(&self) -> bool {
        is_loopback(&self.host)
    }

    /// What the name stands for, in the order to try it.
    pub(super) async fn places(&self) -> io::Result<Vec<Place>> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let addresses = tokio::net::lookup_host((host, self.port)).await?;
        Ok(addresses.map(Place::Tcp).collect())
    }
}

impl fmt::Display for TcpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') && !host.starts_with('[') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl Place {
    pub(super) fn socket(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        return std::path::absolute(path).map(Self::Socket);
        #[cfg(not(unix))]
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{}: no Unix sockets here", path.display()),
        ));
    }

    pub(super) async fn listen(&self) -> io::Result<Listener> {
        match self {
            Self::Tcp(address) => listen_tcp(*address).map(Listener::Tcp),
            #[cfg(unix)]
            Self::Socket(path) => SocketFile::bind(path).await.map(Listener::Socket),
        }
    }

    /// The address, with the port.
    pub(super) fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            #[cfg(unix)]
            Self::Socket(_) => None,
        }
    }

    /// Whether only this machine can reach it.
    pub(super) fn is_private(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            #[cfg(unix)]
            Self::Socket(_) => true,
        }
    }
}

fn listen_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows this would let another process take the port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            #[cfg(unix)]
            Self::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Listener {
    /// Where it listens: with the port that it got.
    pub(super) fn place(&self, wanted: Place) -> io::Result<Place> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Place::Tcp),
            #[cfg(unix)]
            Self::Socket(_) => Ok(wanted),
        }
    }

    pub(super) async fn accept(&self) -> Result<Accepted, AcceptError> {
        let accepted = match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // Events of a stream are small and must not wait for each other.
                let _ = stream.set_nodelay(true);
                Either::Left(stream)
            }),
            #[cfg(unix)]
            Self::Socket(file) => file.accept().await.map(Either::Right),
        };
        accepted.map_err(AcceptError::from)
    }
}

impl From<io::Error> for AcceptError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{
            ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown,
            NetworkUnreachable, OutOfMemory, PermissionDenied, TimedOut,
        };
        match error.kind() {
            ConnectionAborted | ConnectionReset | HostUnreachable | Interrupted | NetworkDown
            | NetworkUnreachable | PermissionDenied | TimedOut => Self::Connection,
            OutOfMemory => Self::Exhausted(error),
            _ if is_exhaustion(&error) => Self::Exhausted(error),
            _ => Self::Listener(error),
        }
    }
}

/// No descriptors left (in the process, in the system), no buffers.
#[cfg(unix)]
fn is_exhaustion(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE, ENOBUFS};
    error.raw_os_error().is_some_and(|code| [EMFILE, ENFILE, ENOBUFS].contains(&code))
}

/// `WSAEMFILE`, `WSAENOBUFS`.
#[cfg(not(unix))]
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(10024 | 10055))
}
