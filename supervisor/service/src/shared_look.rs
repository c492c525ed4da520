//! Looking at something that takes a while, for many at once: who asks while somebody looks gets what the next look finds,
//! together with all others who asked meanwhile. So questions, however many there are, take one thread and not one each.

use std::sync::Arc;

use tokio::{sync::Mutex, time::Instant};

/// The last look, and when it began.
#[derive(Debug)]
pub(crate) struct SharedLook<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> SharedLook<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What a look found that began after this was called.
    pub(crate) async fn take<L: Future<Output = Option<T>>>(
        &self,
        look: impl FnOnce() -> L,
    ) -> Option<Arc<T>> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some((begun, found)) = &*last
            && *begun > asked
        {
            return Some(Arc::clone(found));
        }
        let begun = Instant::now();
        let found = Arc::new(look().await?);
        *last = Some((begun, Arc::clone(&found)));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_who_ask_at_once_share_a_look_that_begins_after_they_asked() {
        let (shared, looks) = (SharedLook::new(), std::cell::Cell::new(0));
        let ask = async |asked_after: u64| {
            sleep(Duration::from_millis(asked_after)).await;
            let seen = shared.take(async || {
                looks.set(looks.get() + 1);
                let seen = looks.get();
                sleep(Duration::from_millis(10)).await;
                Some(seen)
            });
            *seen.await.unwrap()
        };
        assert_eq!(tokio::join!(ask(0), ask(1), ask(1), ask(9), ask(12), ask(40)), (1, 2, 2, 2, 3, 4));
    }
}
