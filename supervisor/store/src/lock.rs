//! One process at a time: the lock of a store's folder.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::StoreError;

/// Held as long as this lives. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl FolderLock {
    pub(crate) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("lock");
        let io = |source| StoreError::Io { path: path.clone(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {
                leave_number(&mut file).map_err(io)?;
                Ok(Self(file))
            }
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::Held { path: folder.to_owned(), pid: number_in(&mut file) })
            }
            Err(TryLockError::Error(source)) => Err(io(source)),
        }
    }
}

/// For people; a full disk must not keep a store from being read, so a number that finds no room is no error.
fn leave_number(file: &mut File) -> std::io::Result<()> {
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
