//! One service at a time at a socket: a lock beside it, with the number of the process that holds it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Held as long as this lives. The system releases it when the process ends, however it ends; the file stays.
#[derive(Debug)]
pub(crate) struct ServiceLock(#[expect(dead_code, reason = "the open file is the lock")] File);

#[derive(Debug)]
pub(crate) enum LockError {
    /// Another process holds it; its number, if it left that.
    Held(Option<u32>),
    Io(io::Error),
}

impl ServiceLock {
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {
                leave_number(&mut file).map_err(LockError::Io)?;
                Ok(Self(file))
            }
            Err(TryLockError::WouldBlock) => Err(LockError::Held(number_in(&mut file))),
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }
}

/// For people: a full disk is no reason not to serve.
fn leave_number(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let _ = writeln!(file, "{}", std::process::id());
    Ok(())
}

fn number_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_tells_by_whom() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.lock");
        let held = ServiceLock::take(&path).unwrap();
        let second = ServiceLock::take(&path).unwrap_err();
        assert!(matches!(second, LockError::Held(Some(pid)) if pid == std::process::id()), "{second:?}");
        drop(held);
        ServiceLock::take(&path).unwrap();
    }
}
