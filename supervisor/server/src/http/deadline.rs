//! A point in time that moves often and is reached seldom.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

/// The end of a wait. Setting it costs nothing: the timer below is moved only when it goes off too early.
#[derive(Debug, Default)]
pub(super) struct Deadline {
    at: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// Ends the wait that begins now after `wait`.
    pub(super) fn set(&mut self, wait: Duration) {
        self.at = Instant::now().checked_add(wait);
    }

    /// Nothing is waited for.
    pub(super) fn clear(&mut self) {
        self.at = None;
    }

    /// Whether something is waited for.
    pub(super) fn is_set(&self) -> bool {
        self.at.is_some()
    }

    /// Ready once the time is over; otherwise the task is woken then.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if timer.deadline() > at {
            timer.as_mut().reset(at);
        }
        while timer.as_mut().poll(context).is_ready() {
            if at <= Instant::now() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(at);
        }
        Poll::Pending
    }
}
