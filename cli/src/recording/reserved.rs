//! A file that one process at a time writes, from its first look at it to its last state of it.
//!
//! The lock lies on the file itself: nothing is left beside it, and the system gives it back however the process ends. Each
//! state replaces the file as a whole, so a new one is locked before it takes its place, and whoever has locked
//! one looks whether it is still in its place.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    failure::Failure,
    files::{self, Readers},
};

/// How often a file is looked for again that was replaced meanwhile.
const MOST_ATTEMPTS: usize = 100;

/// A file that is written by this process alone until this is dropped.
#[derive(Debug)]
pub(super) struct ReservedFile {
    path: PathBuf,
    /// `None` for what is no plain file, such as a pipe: there, everybody writes what they like.
    locked: Option<File>,
}

/// Why a file is not reserved.
#[derive(Debug)]
enum Trouble {
    Taken,
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<TryLockError> for Trouble {
    fn from(error: TryLockError) -> Self {
        match error {
            TryLockError::WouldBlock => Self::Taken,
            TryLockError::Error(error) => Self::Io(error),
        }
    }
}

impl ReservedFile {
    /// Reserves the file; makes it, with this content, if it is not there. Fails when another process has it, and when it
    /// cannot be written.
    pub(super) fn new(path: &Path, initial: &[u8]) -> Result<Self, Failure> {
        files::expect_writable(path)?;
        Self::reserve(path, initial).map_err(|trouble| {
            let path = path.display();
            Failure::io(match trouble {
                Trouble::Taken => format!(
                    "{path}: another oam is recording to it, and would lose what this one records: wait for \
                     its end, or record to another file"
                ),
                Trouble::Io(error) => format!("{path}: cannot be written by one process alone: {error}"),
            })
        })
    }

    fn reserve(path: &Path, initial: &[u8]) -> Result<Self, Trouble> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| files::absolute(path));
        for _ in 0..MOST_ATTEMPTS {
            match fs::metadata(&path) {
                Ok(existing) if !existing.is_file() => return Ok(Self { path, locked: None }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let new = files::successor(&path, initial, Readers::Usual)?;
                    new.as_file().try_lock()?;
                    // A link that leads nowhere is replaced itself.
                    let made =
                        if path.is_symlink() { new.persist(&path) } else { new.persist_noclobber(&path) };
                    match made {
                        Ok(file) => return Ok(Self { path, locked: Some(file) }),
                        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(error.error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
            match File::open(&path) {
                Ok(file) => {
                    file.try_lock()?;
                    if is_at(&file, &path)? {
                        return Ok(Self { path, locked: Some(file) });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Trouble::Taken)
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a file that keeps what is written.
    pub(super) fn is_plain(&self) -> bool {
        self.locked.is_some()
    }

    /// Replaces the content of the file.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<(), Failure> {
        if self.locked.is_none() {
            return files::write(&self.path, content, Readers::Usual);
        }
        let replaced = self.replace(content);
        replaced.map_err(|error| Failure::io(format!("{}: cannot be written: {error}", self.path.display())))
    }

    fn replace(&mut self, content: &[u8]) -> io::Result<()> {
        let new = files::successor(&self.path, content, Readers::Usual)?;
        // Nobody else knows this file yet.
        new.as_file().try_lock()?;
        self.locked = Some(new.persist(&self.path)?);
        Ok(())
    }
}

/// Whether the file is the one at `path`, rather than one that has been replaced there.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (held, there) = (file.metadata()?, fs::metadata(path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_one_until_it_is_dropped_also_when_it_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/a.json");
        let mut first = ReservedFile::new(&path, b"empty").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"empty");
        for content in ["one", "two"] {
            let refused = ReservedFile::new(&path, b"").unwrap_err();
            assert!(refused.message.contains("another oam is recording to it"), "{refused}");
            first.write(content.as_bytes()).unwrap();
        }
        drop(first);
        let second = ReservedFile::new(&path, b"empty").unwrap();
        assert_eq!(fs::read(second.path()).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn whoever_held_a_file_that_was_replaced_does_not_hold_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let mut reserved = ReservedFile::new(&path, b"one").unwrap();
        let old = File::open(&path).unwrap();
        reserved.write(b"two").unwrap();
        old.try_lock().unwrap();
        assert!(!is_at(&old, &path).unwrap());
        drop(reserved);
        assert!(ReservedFile::new(&path, b"").is_ok());
    }

    #[test]
    fn what_is_no_plain_file_is_written_by_everybody() {
        let [mut one, mut other] = [(); 2].map(|()| ReservedFile::new(Path::new("/dev/null"), b"").unwrap());
        assert!(!one.is_plain());
        one.write(b"one").unwrap();
        other.write(b"other").unwrap();
    }
}
