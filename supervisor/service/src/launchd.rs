//! `launch_activate_socket`, which nobody wraps: how a process that launchd started asks for its sockets.

#[cfg(target_os = "macos")]
pub(crate) use macos::activate_socket;

/// There is no launchd here.
#[cfg(not(target_os = "macos"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as where it can fail")]
pub(crate) fn activate_socket(_: &str) -> std::io::Result<Vec<std::os::fd::OwnedFd>> {
    Ok(Vec::new())
}

#[cfg(target_os = "macos")]
#[allow(unsafe_code, reason = "a function of the system, and descriptors that it hands over")]
mod macos {
    use std::{
        ffi::{CString, c_char, c_int, c_void},
        io,
        os::fd::{FromRawFd, OwnedFd},
        ptr, slice,
    };

    use nix::{
        errno::Errno,
        fcntl::{FcntlArg, FdFlag, fcntl},
    };

    // SAFETY: as `launch.h` declares them; both are in libSystem, which everything is linked to.
    unsafe extern "C" {
        fn launch_activate_socket(name: *const c_char, fds: *mut *mut c_int, count: *mut usize) -> c_int;
        fn free(memory: *mut c_void);
    }

    /// The sockets of this name; none when launchd did not start this process, or its plist has no such socket.
    pub(crate) fn activate_socket(name: &str) -> io::Result<Vec<OwnedFd>> {
        let name = CString::new(name)?;
        let (mut fds, mut count) = (ptr::null_mut(), 0);
        // SAFETY: `name` ends in a zero, and `fds` and `count` are places that may be written. Nothing is kept.
        let code = unsafe { launch_activate_socket(name.as_ptr(), &raw mut fds, &raw mut count) };
        match Errno::from_raw(code) {
            _ if code == 0 => {}
            Errno::ESRCH | Errno::ENOENT => return Ok(Vec::new()),
            error => return Err(error.into()),
        }
        if fds.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: after a success `fds` is an array of `count` descriptors, which are open and which nobody else owns:
        // launchd hands each over once.
        let sockets: Vec<OwnedFd> = unsafe { slice::from_raw_parts(fds, count) }
            .iter()
            .map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) })
            .collect();
        // SAFETY: the array was made with `malloc` for the caller to free, and is not used any more.
        unsafe { free(fds.cast()) };
        for socket in &sockets {
            fcntl(socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        Ok(sockets)
    }
}
