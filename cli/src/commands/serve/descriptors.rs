//! Descriptors for as many connections as may be open.

use std::num::NonZeroUsize;

use nix::{
    errno::Errno,
    sys::resource::{Resource, getrlimit, setrlimit},
};

/// What is open besides connections: listeners, workers, the pipes of tools, images.
const OTHERS: u64 = 256;

/// Raises the limit of this process, which is often 1024, if that is too few. Warns when it must not be as high: then further
/// connections wait until others are closed.
pub(super) fn make_room(connections: NonZeroUsize) {
    let wanted = u64::try_from(connections.get()).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let Ok(allowed) = raise(wanted) else { return };
    if allowed < wanted {
        tracing::warn!(
            "--max-connections {connections}: so many cannot be open, as this process may have {allowed} descriptors \
             (ulimit -n)"
        );
    }
}

/// Returns what the limit is then, at most the highest that it may be.
fn raise(wanted: u64) -> Result<u64, Errno> {
    let (limit, highest) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if limit >= wanted {
        return Ok(limit);
    }
    let raised = wanted.min(highest);
    Ok(setrlimit(Resource::RLIMIT_NOFILE, raised, highest).map_or(limit, |()| raised))
}
