//! Work that may take long, done where nobody waits for it.

use std::panic;

use tokio::runtime::Handle;

/// Does `work`: on a thread beside the runtime if it `may_take_long` and there is a runtime, otherwise at once. `None` when the
/// runtime ends first.
pub(crate) async fn run<R: Send + 'static>(
    may_take_long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    match Handle::try_current() {
        Ok(runtime) if may_take_long => match runtime.spawn_blocking(work).await {
            Ok(result) => Some(result),
            Err(error) => error.try_into_panic().map_or(None, |panic| panic::resume_unwind(panic)),
        },
        _ => Some(work()),
    }
}
