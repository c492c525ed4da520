//! Steps on their way from the thread that reads to those that play.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
};

use crate::step::Job;

/// Steps that wait for a thread. Each wakes one thread, and only that.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    waiting: Mutex<VecDeque<Job>>,
    added: Condvar,
}

impl Jobs {
    pub(crate) fn add(&self, job: Job) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(job);
        self.added.notify_one();
    }

    /// The next step, whenever it comes.
    pub(crate) fn next(&self) -> Job {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match waiting.pop_front() {
                Some(job) => return job,
                None => waiting = self.added.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
