//! Who is at the other end: only the user that runs the service is served.

use std::io;

use interprocess::local_socket::traits::StreamCommon;

use crate::socket::Stream;

/// The user that a connection's other end runs as. Tests put their own in its place.
pub(crate) type PeerUser = fn(&Stream) -> io::Result<u32>;

/// What the system knows of it: `SO_PEERCRED`, or `LOCAL_PEERCRED` on a Mac.
pub(crate) fn of_system(stream: &Stream) -> io::Result<u32> {
    stream.peer_creds()?.euid().ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}
