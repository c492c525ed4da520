//! What is done at the end of work, whether it ended by itself, by a panic or because it was dropped.

/// Calls a function when it is dropped.
pub(crate) struct AtEnd<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
