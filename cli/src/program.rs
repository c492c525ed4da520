//! Finds the program that a definition names, so that the same one is started from any folder.

use std::path::{Path, PathBuf};

use oam_system::program::{check_file, in_path};

use crate::files;

/// The program that `name` names, from the root: a path if it holds a `/` or begins with `~`, the home folder, otherwise
/// a name for `PATH`. A relative path starts from `folder`. The error is a sentence without its end.
pub(crate) fn find(name: &str, folder: &Path) -> Result<PathBuf, String> {
    if name.contains('/') || name.starts_with('~') {
        let path = files::absolute(&folder.join(files::with_home(Path::new(name))));
        check_file(&path).map(|()| path)
    } else {
        in_path(name).map(|path| files::absolute(&path))
    }
}
