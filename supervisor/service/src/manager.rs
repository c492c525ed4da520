//! What the service tells the manager that started it (`sd_notify`). Without one, nobody is told.

use std::{fmt, sync::Arc, time::Duration};

use sd_notify::NotifyState;

/// Takes news to the manager.
type Tell = dyn Fn(&[NotifyState<'_>]) + Send + Sync;

/// Where news of the service go.
#[derive(Clone)]
pub(crate) struct ManagerLink {
    tell: Arc<Tell>,
    watchdog: Option<Duration>,
}

impl fmt::Debug for ManagerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerLink").field("watchdog", &self.watchdog).finish_non_exhaustive()
    }
}

impl ManagerLink {
    /// As the environment says (`NOTIFY_SOCKET`, `WATCHDOG_USEC`).
    pub(crate) fn of_process() -> Self {
        let tell = |news: &[NotifyState<'_>]| {
            if let Err(error) = sd_notify::notify(news) {
                tracing::warn!(%error, "the service's manager cannot be told");
            }
        };
        Self { tell: Arc::new(tell), watchdog: sd_notify::watchdog_enabled() }
    }

    #[cfg(test)]
    pub(crate) fn of_test(
        watchdog: Option<Duration>,
        tell: impl Fn(&[NotifyState<'_>]) + Send + Sync + 'static,
    ) -> Self {
        Self { tell: Arc::new(tell), watchdog }
    }

    pub(crate) fn ready(&self, status: &str) {
        (self.tell)(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Runs `reload` and tells of its begin and its end.
    pub(crate) fn reloading(&self, reload: impl FnOnce()) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => (self.tell)(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "there is no time to tell the manager of a reload with"),
        }
        reload();
        (self.tell)(&[NotifyState::Ready]);
    }

    pub(crate) fn stopping(&self) {
        (self.tell)(&[NotifyState::Stopping]);
    }

    /// Says again and again that the service is well, as often as the manager wants to hear it, while `is_well` says so.
    pub(crate) async fn watch(&self, mut is_well: impl FnMut() -> bool) {
        let Some(limit) = self.watchdog else { return };
        // A runtime that does not run its tasks does not tell.
        let mut ticks = tokio::time::interval(limit / 2);
        loop {
            ticks.tick().await;
            if is_well() {
                (self.tell)(&[NotifyState::Watchdog]);
            } else {
                tracing::error!("the store makes no progress; the manager is not told that all is well");
            }
        }
    }
}
