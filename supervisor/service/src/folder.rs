//! The folder of the socket: the user's own, and nobody else's to enter. The mode of a socket is not looked at
//! everywhere, that of its folder is.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Why a folder cannot hold the socket.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made, or looked at.
    #[error("the folder {} cannot be used: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is something else.
    #[error("{} is not a folder; name another place with --socket", path.display())]
    NotAFolder {
        /// Where.
        path: PathBuf,
    },
    /// It belongs to somebody else.
    #[error(
        "the folder {} belongs to user {owner} and not to user {user}, who runs this; name a socket in a folder of your own with --socket",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        user: u32,
    },
    /// Others may enter it.
    #[error(
        "others may use the folder {} (its mode is {mode:04o}); run chmod 700 on it, or name another with --socket",
        path.display()
    )]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// Makes the folder if there is none, and checks that it is private to `user`.
pub(crate) fn make_private(path: &Path, user: u32) -> Result<(), FolderError> {
    let io = |source| FolderError::Io { path: path.to_owned(), source };
    let making = DirBuilder::new().recursive(true).mode(0o700).create(path);
    let found = match (path.metadata(), making) {
        (Ok(found), _) => found,
        (Err(_), Err(source)) | (Err(source), Ok(())) => return Err(io(source)),
    };
    if !found.is_dir() {
        return Err(FolderError::NotAFolder { path: path.to_owned() });
    }
    if found.uid() != user {
        return Err(FolderError::Foreign { path: path.to_owned(), owner: found.uid(), user });
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(FolderError::Open { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use nix::unistd::geteuid;

    use super::*;

    #[test]
    fn a_missing_folder_is_made_for_its_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        make_private(&path, geteuid().as_raw()).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_may_use_is_refused_and_told_with_what_is_wrong() {
        let root = tempfile::tempdir().unwrap();
        let user = geteuid().as_raw();
        let shown = |name: &str| root.path().join(name).display().to_string();
        let said = |name: &str, user| make_private(&root.path().join(name), user).unwrap_err().to_string();
        for (name, mode) in [("group", 0o710), ("all", 0o707), ("sticky", 0o1777)] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::set_permissions(root.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                said(name, user),
                format!(
                    "others may use the folder {} (its mode is {mode:04o}); run chmod 700 on it, or name another with --socket",
                    shown(name)
                )
            );
        }
        fs::write(root.path().join("file"), "").unwrap();
        assert!(said("file", user).ends_with("is not a folder; name another place with --socket"));
        assert!(said("file/below", user).starts_with("the folder "));
        fs::create_dir(root.path().join("mine")).unwrap();
        assert!(
            said("mine", user + 1).contains(&format!("belongs to user {user} and not to user {}", user + 1))
        );
    }
}
