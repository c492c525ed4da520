//! How many bytes of requests a server holds at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::ApiError;

/// The bytes that all requests together may hold.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    held: Arc<AtomicUsize>,
    most: usize,
}

/// The bytes that one request holds, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    held: usize,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self { held: Arc::default(), most }
    }

    /// The bytes that are held now.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// A share without bytes.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), held: 0 }
    }
}

impl Share {
    /// Fails if all that is left is less than `bytes`.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), ApiError> {
        let most = self.budget.most;
        let grown = |held: usize| held.checked_add(bytes).filter(|&held| held <= most);
        self.budget
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map_err(|_| ApiError::server_overloaded())?;
        self.held += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.held, Ordering::Relaxed);
    }
}
