//! The files that a command reads and writes: `-` is standard input, `~` the home folder, JSON may begin with a byte
//! order mark, and what is written is there as a whole or not at all.

use std::{
    fmt, fs,
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{self, Path, PathBuf},
    str::FromStr,
};

use oam_agent::json_text;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::{arguments::variable, failure::Failure};

/// The same as for a line of the protocol, in bytes.
pub(crate) const LONGEST_INPUT: usize = 64 << 20;
/// How deep JSON may nest.
const MAX_DEPTH: usize = 100;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputPath {
    /// `-`
    Stdin,
    File(PathBuf),
}

/// As messages name it.
impl fmt::Display for InputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for InputPath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() { Err("the name of the file is empty") } else { Ok(Self::named(text)) }
    }
}

impl InputPath {
    /// The input with this name, as it is given on a command line.
    pub(crate) fn named(name: &str) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(with_home(Path::new(name))) }
    }

    /// The whole input. The failure names it.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let failed = |reason: String| Failure::invalid_input(format!("{self}: {reason}"));
        let read = match self {
            Self::Stdin => read_limited(io::stdin().lock()),
            Self::File(path) => File::open(path).and_then(read_limited),
        };
        let bytes = read.map_err(|error| failed(format!("cannot be read: {error}")))?;
        if bytes.len() > LONGEST_INPUT {
            return Err(failed(format!("is larger than {LONGEST_INPUT} bytes")));
        }
        Ok(bytes)
    }

    /// The input as text.
    pub(crate) fn read_text(&self) -> Result<String, Failure> {
        String::from_utf8(self.read()?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::invalid_input(format!("{self}: is not UTF-8 at byte {at}"))
        })
    }

    /// The input as JSON. The failure names the byte where it stops being that.
    pub(crate) fn read_json(&self) -> Result<Value, Failure> {
        parse_json(&self.read()?).map_err(|reason| Failure::invalid_input(format!("{self}: {reason}")))
    }

    /// The folder that relative paths in the input start from.
    pub(crate) fn folder(&self) -> PathBuf {
        match self {
            Self::Stdin => PathBuf::from("."),
            Self::File(path) => match path.parent() {
                Some(folder) if folder != Path::new("") => folder.to_owned(),
                _ => PathBuf::from("."),
            },
        }
    }
}

/// As much as shows that it is too long.
fn read_limited(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(LONGEST_INPUT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads one JSON value. The error is a sentence without subject and end: `is not JSON at byte 7: …`.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, String> {
    let json = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let skipped = bytes.len() - json.len();
    let value: Value = serde_json::from_slice(json).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let at = skipped + offset(json, line, column);
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        format!("is not JSON at byte {at} (line {line}, column {column}): {what}")
    })?;
    if json_text::nests_deeper(&value, MAX_DEPTH) {
        return Err(format!("nests deeper than {MAX_DEPTH} arrays and objects"));
    }
    Ok(value)
}

/// The byte that a line and column, both counted from 1, stand for.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// The path with a leading `~` replaced by the home folder, if there is one.
pub(crate) fn with_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), variable("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

/// The path from the root, with nothing followed or removed.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Who may read a file that is new. One that was there keeps its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Whoever may read new files usually (`umask`).
    Usual,
    /// This user alone.
    Owner,
}

impl Readers {
    fn permissions(self) -> fs::Permissions {
        fs::Permissions::from_mode(match self {
            Self::Usual => 0o666,
            Self::Owner => 0o600,
        })
    }
}

/// Writes a file: at any moment it has its old content or all of the new. Folders that are missing are made; what a
/// link points to is replaced, and what is no plain file (a pipe, `/dev/null`) is written to.
pub(crate) fn write(path: &Path, content: &[u8], readers: Readers) -> Result<(), Failure> {
    try_write(path, content, readers)
        .map_err(|error| Failure::io(format!("{}: cannot be written: {error}", path.display())))
}

/// Fails when [`write()`] would. Folders that are missing are made already.
pub(crate) fn expect_writable(path: &Path) -> Result<(), Failure> {
    try_to_be_writable(path)
        .map_err(|error| Failure::io(format!("{}: cannot be written: {error}", path.display())))
}

/// Writes a new file for temporary files, which stays and which only this user can read; returns where it is.
pub(crate) fn write_temporary(content: &[u8]) -> Result<PathBuf, Failure> {
    // Unlike `env::temp_dir`, takes an empty variable for none.
    let folder =
        variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), |folder| absolute(Path::new(&folder)));
    let failed = |error| Failure::io(format!("{}: cannot be written to: {error}", folder.display()));
    let open = |_: &Path| {
        let path = folder.join(format!("oam-{:08x}.json", fastrand::u32(..)));
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((file, path))
    };
    // Tries another name when one is taken.
    let (mut file, path) = tempfile::Builder::new().make_in(&folder, open).map_err(failed)?.into_file();
    file.write_all(content).map_err(failed)?;
    Ok(path)
}

fn try_to_be_writable(path: &Path) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| absolute(path));
    match fs::metadata(&path) {
        Ok(existing) if existing.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(existing) if !existing.is_file() => Ok(()),
        _ => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder)?;
            tempfile::tempfile_in(folder).map(drop).map_err(|error| without_path(&error))
        }
    }
}

fn without_path(error: &io::Error) -> io::Error {
    error
        .get_ref()
        .and_then(|inner| inner.source())
        .map_or_else(|| io::Error::from(error.kind()), |source| io::Error::other(source.to_string()))
}

fn try_write(path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| absolute(path));
    if fs::metadata(&path).is_ok_and(|existing| !existing.is_file()) {
        return fs::OpenOptions::new().write(true).open(&path)?.write_all(content);
    }
    successor(&path, content, readers)?.persist(&path)?;
    Ok(())
}

/// A file with this content beside the one at `path`, which is absolute and no link, and with its mode, or one for these
/// readers: what it will be replaced by.
pub(crate) fn successor(path: &Path, content: &[u8], readers: Readers) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let existing = fs::metadata(path).ok();
    let permissions = existing.map_or_else(|| readers.permissions(), |existing| existing.permissions());
    // Its name means nothing to whoever reads the error.
    let mut file = tempfile::Builder::new()
        .permissions(permissions)
        .tempfile_in(folder)
        .map_err(|error| without_path(&error))?;
    file.write_all(content)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_errors_name_the_byte() {
        for (text, place) in [
            ("{\"a\": 1,\n \"b\": }", "at byte 15 (line 2, column 7)"),
            ("[1] 2", "at byte 4 (line 1, column 5)"),
            ("\u{feff}?", "at byte 3 (line 1, column 1)"),
            ("", "at byte 0"),
            (r#"["\ud800"]"#, "at byte"),
        ] {
            let error = parse_json(text.as_bytes()).unwrap_err();
            assert!(error.contains(place) && error.starts_with("is not JSON"), "{text}: {error}");
        }
        assert!(parse_json("[".repeat(101).as_bytes()).is_err());
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_json(deep(100).as_bytes()).is_ok());
        assert!(parse_json(deep(101).as_bytes()).unwrap_err().contains("deeper than 100"));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_with_its_mode_and_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("new/folder/a.json"), folder.path().join("link"));
        write(&file, b"one", Readers::Owner).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"two", Readers::Owner).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        write(Path::new("/dev/null"), b"three", Readers::Usual).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let error = write(&file.join("below"), b"", Readers::Usual).unwrap_err();
        assert!(error.message.contains("a.json/below: cannot be written"), "{error}");
    }
}
