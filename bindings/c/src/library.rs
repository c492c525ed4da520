//! Where this library is, to find what is installed beside it.

use std::{
    ffi::{CStr, OsStr},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

/// The folder of the library, or of the program if the library is part of it. Links are followed.
pub(crate) fn folder() -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked for, and `info` has room for what is told.
    let is_known = unsafe { libc::dladdr(ptr::from_ref(&ANCHOR).cast(), info.as_mut_ptr()) } != 0;
    if !is_known {
        return None;
    }
    // SAFETY: it was filled in, as the result says.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: it is not NULL, so it is the C string that the loader keeps for as long as this code is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()?;
    path.parent().map(Path::to_owned)
}

/// Something of this library.
static ANCHOR: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_where_its_program_is_when_it_is_part_of_it() {
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(folder().as_deref(), program.parent());
    }
}
