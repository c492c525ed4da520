//! The connection to the supervisor.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
};

/// Opens the socket at `path`, or takes the one that was handed over as descriptor 0.
pub(crate) fn open(path: Option<&Path>) -> Result<UnixStream, String> {
    match path {
        Some(path) => {
            UnixStream::connect(path).map_err(|error| format!("cannot connect to {}: {error}", path.display()))
        }
        None => inherited().map_err(|error| {
            format!("descriptor 0 is not a connected socket ({error}); a supervisor starts this program, or use --connect")
        }),
    }
}

/// Takes descriptor 0 to one that no other process inherits, and leaves nothing to read in its place.
fn inherited() -> io::Result<UnixStream> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    stream.peer_addr()?;
    stream.set_nonblocking(false)?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(stream)
}
