//! A callback of the host, as something that takes lines.

use std::ffi::{c_char, c_void};

/// Calls a C function with zero-terminated lines.
pub(crate) struct Callback {
    function: unsafe extern "C" fn(*const c_char, *mut c_void),
    user_data: *mut c_void,
    /// The last line, so that its memory is used again.
    line: Vec<u8>,
}

// SAFETY: `user_data` is only handed on to `function`, and whoever made the callback promised that this may happen on
// another thread.
unsafe impl Send for Callback {}

impl Callback {
    /// Larger lines are not worth keeping their memory.
    const KEPT_BYTES: usize = 1 << 20;

    /// # Safety
    /// `function` can be called with `user_data`, from any one thread at a time, for as long as this lives.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*const c_char, *mut c_void),
        user_data: *mut c_void,
    ) -> Self {
        Self { function, user_data, line: Vec::new() }
    }

    pub(crate) fn call(&mut self, line: &str) {
        self.line.clear();
        self.line.extend_from_slice(line.as_bytes());
        self.line.push(0);
        // SAFETY: `new` was promised that it can be called so. The line ends in a zero, holds no other one, as JSON text
        // escapes it, and lives until the call has returned.
        unsafe { (self.function)(self.line.as_ptr().cast(), self.user_data) };
        if self.line.capacity() > Self::KEPT_BYTES {
            self.line = Vec::new();
        }
    }
}
