//! How much of requests a server holds at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::ApiError;

/// What all requests together may hold.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    bytes: Arc<Amount>,
    values: Arc<Amount>,
}

#[derive(Debug)]
struct Amount {
    held: AtomicUsize,
    most: usize,
}

/// What one request holds, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    bytes: usize,
    values: usize,
}

impl Budget {
    pub(super) fn new(bytes: usize, values: usize) -> Self {
        let amount = |most| Arc::new(Amount { held: AtomicUsize::new(0), most });
        Self { bytes: amount(bytes), values: amount(values) }
    }

    /// The bytes that are held now.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.held.load(Ordering::Relaxed)
    }

    /// A share of nothing.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0, values: 0 }
    }
}

impl Amount {
    fn take(&self, more: usize) -> Result<usize, ApiError> {
        let grown = |held: usize| held.checked_add(more).filter(|&held| held <= self.most);
        let taken = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        taken.map(|_| more).map_err(|_| ApiError::server_overloaded())
    }

    fn give_back(&self, taken: usize) {
        self.held.fetch_sub(taken, Ordering::Relaxed);
    }
}

impl Share {
    /// Fails if less is left.
    pub(super) fn grow(&mut self, bytes: usize, values: usize) -> Result<(), ApiError> {
        self.bytes += self.budget.bytes.take(bytes)?;
        self.values += self.budget.values.take(values)?;
        Ok(())
    }

    pub(super) fn values(&self) -> usize {
        self.values
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.bytes.give_back(self.bytes);
        self.budget.values.give_back(self.values);
    }
}
