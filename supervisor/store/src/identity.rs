//! Which file is at a path.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// Tells a file from another that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// That of the file at `path`.
    pub fn at(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        Ok(Self { device: file.dev(), inode: file.ino() })
    }

    /// Whether the file is still at `path`. Where that cannot be told, it counts as being there.
    pub fn is_at(self, path: &Path) -> bool {
        match Self::at(path) {
            Ok(found) => found == self,
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}
