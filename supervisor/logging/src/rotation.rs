//! A log file that does not grow for ever: `oam.log`, and what it was before, `oam.log.1` (the latest) and so on.
//!
//! Files are for their owner alone. A file that somebody has moved away or deleted is made anew, so that tools that
//! rotate logs in their own way may do so.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// How large logs may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// How many bytes a file may have.
    pub file_bytes: u64,
    /// How many files there may be, the one that is written included.
    pub files: usize,
}

impl Default for Rotation {
    /// Five files of 10 MiB.
    fn default() -> Self {
        Self { file_bytes: 10 << 20, files: 5 }
    }
}

/// A log file that makes room in time. Each write is one whole line and stays in one file.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    open: OpenFile,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    bytes: u64,
    device: u64,
    inode: u64,
}

impl RotatingFile {
    /// Goes on with the file at `path`, or makes one, and its folder.
    pub fn open(path: impl Into<PathBuf>, rotation: Rotation) -> io::Result<Self> {
        let path = path.into();
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let open = OpenFile::at(&path)?;
        Ok(Self { path, rotation, open })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.rotation.files.saturating_sub(1)).rev() {
            if let Err(error) = fs::rename(self.numbered(number), self.numbered(number + 1))
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(error);
            }
        }
        if self.rotation.files > 1 {
            fs::rename(&self.path, self.numbered(1))?;
        } else {
            fs::remove_file(&self.path)?;
        }
        self.open = OpenFile::at(&self.path)?;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }
}

impl Write for RotatingFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.open.is_at(&self.path) {
            self.open = OpenFile::at(&self.path)?;
        }
        let is_full = self.open.bytes + line.len() as u64 > self.rotation.file_bytes;
        // A file that cannot be put aside is better than no log.
        if is_full && self.open.bytes > 0 {
            let _ = self.rotate();
        }
        self.open.file.write_all(line)?;
        self.open.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenFile {
    fn at(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let metadata = file.metadata()?;
        Ok(Self { file, bytes: metadata.len(), device: metadata.dev(), inode: metadata.ino() })
    }

    fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.dev() == self.device && found.ino() == self.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Rotation = Rotation { file_bytes: 10, files: 3 };

    /// The files of a folder with what is in them, by name.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn lines_stay_whole_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = RotatingFile::open(folder.path().join("logs/oam.log"), SMALL).unwrap();
        for line in ["one\n", "two\n", "three\n", "a very long line\n", "four\n", "five\n"] {
            assert_eq!(log.write(line.as_bytes()).unwrap(), line.len());
        }
        assert_eq!(
            files(&folder.path().join("logs")),
            owned(&[
                ("oam.log", "four\nfive\n"),
                ("oam.log.1", "a very long line\n"),
                ("oam.log.2", "three\n"),
            ])
        );
    }

    #[test]
    fn a_file_goes_on_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.log");
        for line in ["one\n", "two\n", "three\n"] {
            RotatingFile::open(&path, SMALL).unwrap().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(files(folder.path()), owned(&[("oam.log", "three\n"), ("oam.log.1", "one\ntwo\n")]));
    }

    #[test]
    fn a_file_that_was_moved_away_is_made_anew_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.log");
        let mut log = RotatingFile::open(&path, SMALL).unwrap();
        log.write_all(b"one\n").unwrap();
        fs::rename(&path, folder.path().join("kept")).unwrap();
        log.write_all(b"two\n").unwrap();
        fs::remove_file(&path).unwrap();
        log.write_all(b"three\n").unwrap();
        assert_eq!(files(folder.path()), owned(&[("kept", "one\n"), ("oam.log", "three\n")]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn one_file_alone_begins_anew_when_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let mut log =
            RotatingFile::open(folder.path().join("oam.log"), Rotation { files: 1, ..SMALL }).unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(files(folder.path()), owned(&[("oam.log", "three\n")]));
    }
}
