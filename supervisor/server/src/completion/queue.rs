//! Who may generate, and who waits: first come, first served, with a limit on both.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api_error::ApiError;

/// Places for completions.
#[derive(Debug)]
pub(super) struct Queue {
    places: Arc<Semaphore>,
    capacity: usize,
    waiting: AtomicUsize,
    longest: usize,
}

/// A place; dropping it frees it.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Queue {
    /// `longest` completions may wait while `capacity` have places.
    pub(super) fn new(capacity: NonZeroUsize, longest: usize) -> Self {
        let capacity = capacity.get().min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(capacity)), capacity, waiting: AtomicUsize::new(0), longest }
    }

    /// Waits for a place, unless too many wait already. Dropping the future leaves the queue.
    pub(super) async fn enter(&self) -> Result<Place, ApiError> {
        // A place that becomes free goes to whoever waits longest, so nobody is overtaken here.
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let _waiting = self.wait()?;
        let permit = Arc::clone(&self.places).acquire_owned().await;
        permit.map(|permit| Place { _permit: permit }).map_err(|_| ApiError::internal())
    }

    fn wait(&self) -> Result<Waiting<'_>, ApiError> {
        let one_more = |waiting| (waiting < self.longest).then_some(waiting + 1);
        self.waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .map_err(|_| ApiError::queue_full())?;
        Ok(Waiting(&self.waiting))
    }

    /// How many have places.
    pub(super) fn active(&self) -> usize {
        self.capacity - self.places.available_permits()
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Waker},
    };

    use super::*;

    #[test]
    fn places_are_given_in_the_order_of_arrival_and_who_leaves_is_forgotten() {
        let mut context = Context::from_waker(Waker::noop());
        let queue = Queue::new(NonZeroUsize::MIN, 2);
        let mut first = pin!(queue.enter());
        let std::task::Poll::Ready(Ok(place)) = first.as_mut().poll(&mut context) else {
            panic!("it is free")
        };
        let mut second = Box::pin(queue.enter());
        let mut third = Box::pin(queue.enter());
        assert!(
            second.as_mut().poll(&mut context).is_pending() && third.as_mut().poll(&mut context).is_pending()
        );
        assert_eq!((queue.active(), queue.waiting()), (1, 2));
        let mut fourth = pin!(queue.enter());
        let std::task::Poll::Ready(Err(full)) = fourth.as_mut().poll(&mut context) else {
            panic!("it is full")
        };
        assert_eq!((full.status, full.retry_after), (429, Some(1)));

        drop(second);
        assert_eq!(queue.waiting(), 1);
        drop(place);
        assert!(third.as_mut().poll(&mut context).is_ready());
        drop(third);
        assert_eq!((queue.active(), queue.waiting()), (0, 0));
    }
}
