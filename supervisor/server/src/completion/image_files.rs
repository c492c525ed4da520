//! Images of a conversation as files, for models that read files.

use std::{fs, io, path::PathBuf};

use tempfile::TempDir;

use crate::request::Image;

/// The folder of the files, by its absolute path; nobody else can look into it. Dropping it removes them.
#[derive(Debug, Default)]
pub(super) struct ImageFiles {
    folder: Option<TempDir>,
    written: usize,
}

impl ImageFiles {
    /// Writes an image; returns where, from the root.
    pub(super) fn write(&mut self, image: &Image) -> io::Result<PathBuf> {
        let folder = match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(private_folder()?),
        };
        self.written += 1;
        let name = format!("{}.{}", self.written, image.format.extension());
        let path = folder.path().join(name);
        fs::write(&path, &image.data)?;
        Ok(path)
    }
}

fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("oam-images-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}
