//! Looks a program up the way the system does when it starts one, to say what is wrong with its name before anybody
//! waits for it, and to start the same one from any folder.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

/// Where programs are looked for when `PATH` is not set.
const USUAL_PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// As much of a script's first line as systems look at.
const FIRST_LINE: u64 = 256;

/// Whether `name` names a program that can be started: a path if it holds a `/`, otherwise a name for `PATH`. The
/// error is a sentence without its end.
pub fn check(name: &str) -> Result<(), String> {
    if name.contains('/') { check_file(Path::new(name)) } else { in_path(name).map(drop) }
}

/// The program of this name in `PATH`; the path may be relative. The error is a sentence without its end.
pub fn in_path(name: &str) -> Result<PathBuf, String> {
    find_in_path(name, &search_path())
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into())
}

/// Like the system, goes past what may not be executed to what may.
fn find_in_path(name: &str, path: &OsStr) -> Result<PathBuf, String> {
    let mut unusable = None;
    for folder in env::split_paths(path) {
        // An empty one means the working directory.
        let candidate = Path::new(".").join(folder).join(name);
        if candidate.is_file() {
            match check_file(&candidate) {
                Ok(()) => return Ok(candidate),
                Err(reason) => unusable = unusable.or(Some(reason)),
            }
        }
    }
    Err(unusable.unwrap_or_else(|| format!("there is no program '{name}' in PATH")))
}

/// Whether a file is a program that can be started. The error is a sentence without its end.
pub fn check_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match path.metadata() {
        Err(error) => Err(format!("there is no program {shown} ({error})")),
        Ok(metadata) if metadata.is_dir() => Err(format!("{shown} is a folder, not a program")),
        Ok(metadata) if !metadata.is_file() => Err(format!("{shown} is not a program")),
        Ok(_) if access(path, AccessFlags::X_OK).is_err() => {
            Err(format!("{shown} may not be executed (chmod +x gives it the permission)"))
        }
        Ok(_) => match interpreter(path) {
            Some(interpreter) if !interpreter.exists() => Err(format!(
                "{shown} cannot be started: its first line (#!) names {}, which does not exist",
                interpreter.display()
            )),
            _ => Ok(()),
        },
    }
}

/// What the first line of a script names. What cannot be read has none, but may still be started.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // Only blanks are left out: a carriage return is part of the name.
    let name = line.split(|byte| b" \t".contains(byte)).find(|name| !name.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn file(folder: &Path, name: &str, content: &str, mode: u32) {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn path_is_searched_as_the_system_does() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = env::join_paths([first.path(), second.path()]).unwrap();
        let script = "#!/bin/sh -e\n";
        fs::create_dir(first.path().join("worker")).unwrap();
        file(second.path(), "worker", script, 0o755);
        file(first.path(), "plain", script, 0o644);
        file(second.path(), "plain", script, 0o755);
        file(first.path(), "locked", script, 0o644);
        file(second.path(), "lost", "#! /nowhere/python\t-u\n", 0o755);
        file(second.path(), "crlf", "#!/bin/sh\r\n", 0o755);
        let said = |name: &str| find_in_path(name, &path).err().unwrap_or_default();
        assert_eq!((said("worker"), said("plain")), (String::new(), String::new()));
        assert!(said("locked").contains("locked may not be executed"));
        assert!(said("lost").contains("names /nowhere/python, which does not exist"));
        assert!(said("crlf").contains("#!"), "the carriage return is part of the name");
        assert_eq!(said("absent"), "there is no program 'absent' in PATH");
    }
}
