//! Work that may take long, done where nobody waits for it.

use std::{
    panic,
    sync::{Arc, LazyLock},
    thread,
};

use tokio::{runtime::Handle, sync::Semaphore};

/// As much as is done at once in this process: half of the processors are left to all else.
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, Into::into);
    Arc::new(Semaphore::new((processors / 2).max(1)))
});

/// Does `work`: if it `may_take_long` and there is a runtime, on a thread beside the runtime, as soon as there is a place for it,
/// first come, first served; otherwise at once. `None` when the runtime ends first.
///
/// Dropped while it waits for a place, it leaves the work undone. Work that has its place keeps it to its end.
pub(crate) async fn run<R: Send + 'static>(
    may_take_long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    match Handle::try_current() {
        Ok(runtime) if may_take_long => run_beside(&runtime, &PLACES, work).await,
        _ => Some(work()),
    }
}

async fn run_beside<R: Send + 'static>(
    runtime: &Handle,
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    let work = move || {
        let _place = place;
        work()
    };
    match runtime.spawn_blocking(work).await {
        Ok(result) => Some(result),
        Err(error) => error.try_into_panic().map_or(None, |panic| panic::resume_unwind(panic)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::{FutureExt, future::BoxFuture};

    use super::*;

    /// Where work is done that says what it is when it begins, and goes on when it is told to.
    struct Place {
        places: Arc<Semaphore>,
        begun: (mpsc::Sender<u32>, mpsc::Receiver<u32>),
    }

    impl Place {
        fn new(places: usize) -> Self {
            Self { places: Arc::new(Semaphore::new(places)), begun: mpsc::channel() }
        }

        /// Asks for the work `name` to be done. It ends when what is returned beside it is dropped.
        fn ask(&self, name: u32) -> (BoxFuture<'static, Option<u32>>, mpsc::Sender<()>) {
            let (end, told) = mpsc::channel::<()>();
            let (places, begun) = (Arc::clone(&self.places), self.begun.0.clone());
            let work = move || {
                begun.send(name).expect("the test listens");
                let _ = told.recv();
                name
            };
            let mut done = async move { run_beside(&Handle::current(), &places, work).await }.boxed();
            assert_eq!((&mut done).now_or_never(), None, "it is asked for");
            (done, end)
        }

        fn next_begun(&self) -> u32 {
            self.begun.1.recv().expect("the test can send")
        }

        fn nothing_begins(&self) {
            assert_eq!(self.places.available_permits(), 0);
            self.begun.1.try_recv().unwrap_err();
        }
    }

    #[tokio::test]
    async fn so_much_is_done_at_once_and_the_rest_in_the_order_in_which_it_was_asked_for() {
        let place = Place::new(2);
        let asked: Vec<_> = (0..5).map(|name| place.ask(name)).collect();
        let mut begun = [place.next_begun(), place.next_begun()];
        begun.sort_unstable();
        assert_eq!(begun, [0, 1]);
        place.nothing_begins();
        let (done, ends): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let mut done = done.into_iter();
        for (name, end) in (0..5).zip(ends) {
            drop(end);
            assert_eq!(done.next().expect("five were asked for").await, Some(name));
            if name < 3 {
                done.as_mut_slice()[1].as_mut().now_or_never();
                assert_eq!(place.next_begun(), name + 2);
            }
        }
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_any_more_keeps_its_place_to_its_end_and_is_not_begun_without_one() {
        let place = Place::new(1);
        let (first, end_of_first) = place.ask(1);
        let (second, _end_of_second) = place.ask(2);
        let (third, end_of_third) = place.ask(3);
        assert_eq!(place.next_begun(), 1);
        drop(first);
        place.nothing_begins();
        drop(second);
        drop(end_of_first);
        drop(end_of_third);
        assert_eq!(third.await, Some(3));
        assert_eq!(place.next_begun(), 3);
    }

    #[tokio::test]
    async fn work_that_panics_leaves_its_place() {
        let places = Arc::new(Semaphore::new(1));
        let runtime = Handle::current();
        let panics = run_beside(&runtime, &places, || panic!("as it is meant to"));
        let ended: Result<Option<()>, _> = panic::AssertUnwindSafe(panics).catch_unwind().await;
        ended.unwrap_err();
        assert_eq!(run_beside(&runtime, &places, || 1).await, Some(1));
    }
}
