//! One process at a time: a file that is locked, with the number of the process that holds it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use nix::{errno::Errno, fcntl::OFlag, sys::signal::kill, unistd::Pid};

/// More than a number and the end of its line take.
const TOO_LONG: u64 = 12;

/// Held as long as this lives. The system releases it when the process ends, however it ends; the file stays.
#[derive(Debug)]
pub struct ProcessLock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Why a lock is not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it; its number, if it left that.
    #[error("another process holds it")]
    Held(Option<u32>),
    /// There is something that is no lock. It was not touched.
    #[error("it is not a lock of this program; move it away")]
    Foreign,
    /// The file cannot be made, opened, locked or emptied.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ProcessLock {
    /// Takes the lock, and makes its file if there is none.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let mut file = open(path)?;
        if !file.metadata()?.is_file() {
            return Err(LockError::Foreign);
        }
        match file.try_lock() {
            Ok(()) => {
                number_in(&mut file)?;
                leave_number(&mut file)?;
                Ok(Self(file))
            }
            Err(TryLockError::WouldBlock) => Err(LockError::Held(number_in(&mut file)?)),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// The process that holds the lock at `path`, if one does.
    pub fn holder(path: &Path) -> Option<u32> {
        let mut file = File::open(path).ok()?;
        let number = number_in(&mut file).ok()??;
        let process = Pid::from_raw(i32::try_from(number).ok().filter(|number| *number > 0)?);
        // To try the lock is to hold it for a moment, which whoever starts now could see: so only where somebody seems to live.
        let lives = kill(process, None) != Err(Errno::ESRCH);
        let is_held = || matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        (lives && is_held()).then_some(number)
    }
}

fn open(path: &Path) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlag::O_NOFOLLOW.bits()).open(path).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw) {
            // A symbolic link.
            Some(Errno::ELOOP) => LockError::Foreign,
            _ => error.into(),
        }
    })
}

/// For people; a full disk must not keep anybody from working, so a number that finds no room is no error.
fn leave_number(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let _ = writeln!(file, "{}", std::process::id());
    Ok(())
}

/// The number of the process that holds the lock, or did so.
fn number_in(file: &mut File) -> Result<Option<u32>, LockError> {
    let mut text = Vec::new();
    file.take(TOO_LONG).read_to_end(&mut text)?;
    // After a power cut zeros may be where the number was to be.
    let text = String::from_utf8(text).map_err(|_| LockError::Foreign)?;
    match text.trim_end_matches(['\n', '\0']) {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| LockError::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_lock_is_held_once_and_tells_by_whom() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("oam.sock.lock");
        assert_eq!(ProcessLock::holder(&path), None);
        let held = ProcessLock::take(&path).unwrap();
        assert_eq!(ProcessLock::holder(&path), Some(std::process::id()));
        let second = ProcessLock::take(&path).unwrap_err();
        assert!(matches!(second, LockError::Held(Some(pid)) if pid == std::process::id()), "{second:?}");
        drop(held);
        assert_eq!(ProcessLock::holder(&path), None);
        ProcessLock::take(&path).unwrap();
    }

    #[test]
    fn what_a_lock_may_hold_is_replaced_by_the_number() {
        for left in ["", "1\n", "4294967295\n", "47", "\0\0\0\0\0"] {
            let folder = tempdir().unwrap();
            let path = folder.path().join("lock");
            fs::write(&path, left).unwrap();
            drop(ProcessLock::take(&path).unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()), "{left:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_lock_is_left_as_it_is() {
        let contents: [&[u8]; 5] = [b"# Made by hand.\n", b"12 34", b"4294967296\n", b"1\n2\n", b"\xff"];
        for content in contents {
            let folder = tempdir().unwrap();
            let (path, link) = (folder.path().join("lock"), folder.path().join("link"));
            fs::write(&path, content).unwrap();
            let refused = ProcessLock::take(&path).unwrap_err();
            assert!(matches!(refused, LockError::Foreign), "{content:?}: {refused:?}");
            let other = File::open(&path).unwrap();
            other.lock().unwrap();
            let refused = ProcessLock::take(&path).unwrap_err();
            assert!(matches!(refused, LockError::Foreign), "{content:?}: {refused:?}");
            assert_eq!(fs::read(&path).unwrap(), content);
            fs::write(&path, "").unwrap();
            symlink(&path, &link).unwrap();
            let refused = ProcessLock::take(&link).unwrap_err();
            assert!(matches!(refused, LockError::Foreign), "{refused:?}");
            assert_eq!(fs::read(&path).unwrap(), b"");
        }
    }
}
