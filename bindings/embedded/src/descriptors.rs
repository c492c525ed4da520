//! Descriptors that are out of the host's way.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// The first descriptor that is not a standard stream.
const FIRST_FREE: i32 = 3;

/// More than a runtime opens, in pairs. It panics where it cannot open some of its own.
const PAIRS: usize = 5;

/// Opens descriptors in `open`, none of them in the place of a standard stream: where a host has closed its own, what it
/// prints would go to them. Fails if there are not descriptors enough.
pub(crate) fn apart<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut held = Vec::<OwnedFd>::new();
    for _ in 0..PAIRS {
        let (reader, writer) = io::pipe()?;
        held.extend([reader.into(), writer.into()]);
    }
    held.retain(|descriptor| descriptor.as_raw_fd() < FIRST_FREE);
    open()
}
