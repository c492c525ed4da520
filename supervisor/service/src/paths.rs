//! Where the service has its socket, data, log and settings, unless it is told otherwise.
//!
//! | | Linux | macOS |
//! | --- | --- | --- |
//! | socket | `$XDG_RUNTIME_DIR/oam/oam.sock`, else `/run/user/UID/oam/oam.sock` if there is that folder of the user, else in the data folder | `~/Library/Application Support/oam/oam.sock` |
//! | data | `$XDG_STATE_HOME/oam`, else `~/.local/state/oam` | `~/Library/Application Support/oam/data` |
//! | log | `oam.log` in the data folder | `~/Library/Logs/oam/oam.log` |
//! | settings | `$XDG_CONFIG_HOME/oam/service.json`, else `~/.config/oam/service.json` | `~/Library/Application Support/oam/service.json` |
//!
//! A variable that is empty counts as absent.

use std::{
    ffi::OsString,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// The longest path of a socket, in bytes: what macOS takes. Linux takes four more, but one limit is easier to know.
pub const LONGEST_SOCKET_PATH: usize = 103;

/// The socket of this user's service.
pub fn socket() -> Result<PathBuf, PathError> {
    Environment::of_process().socket()
}

/// The folder with the realms of this user's service.
pub fn data_folder() -> Result<PathBuf, PathError> {
    Environment::of_process().data_folder()
}

/// The log of this user's service.
pub fn log_file() -> Result<PathBuf, PathError> {
    Environment::of_process().log_file()
}

/// The settings of this user's service.
pub fn config_file() -> Result<PathBuf, PathError> {
    Environment::of_process().config_file()
}

/// The lock of the service at `socket`: `oam.sock.lock` beside `oam.sock`. It holds the number of the service's process.
pub fn lock_file(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Whether a socket can be made at `path`, as far as its name tells.
pub fn check_socket(path: &Path) -> Result<(), PathError> {
    if path.file_name().is_none() {
        return Err(PathError::NoName { path: path.to_owned(), option: SOCKET.option });
    }
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > LONGEST_SOCKET_PATH {
        return Err(PathError::TooLong { path: path.to_owned(), bytes: bytes.len(), option: SOCKET.option });
    }
    Ok(())
}

/// A path that cannot be told or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing says where the user's files are.
    #[error("HOME is not set, so there is no place for {what}; set HOME, or name the place with {option}")]
    NoHome {
        /// What was to have the path.
        what: &'static str,
        /// The option that names it instead.
        option: &'static str,
    },
    /// A variable must hold an absolute path.
    #[error("{variable} is {value:?}, which is not an absolute path; set it to one, or unset it")]
    Relative {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        value: OsString,
    },
    /// There is no file with such a path.
    #[error("{path:?} is no name of a socket; name a file in a folder of your own with {option}")]
    NoName {
        /// The path.
        path: PathBuf,
        /// The option that names another.
        option: &'static str,
    },
    /// The system does not take such a long path for a socket.
    #[error(
        "the path {} has {bytes} bytes, and the path of a socket may have {LONGEST_SOCKET_PATH}; name a shorter one with {option}",
        path.display()
    )]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        bytes: usize,
        /// The option that names another.
        option: &'static str,
    },
}

impl PathError {
    /// The same, said of the option by which a program names the socket.
    #[must_use]
    pub fn naming(self, option: &'static str) -> Self {
        match self {
            Self::NoHome { what, .. } => Self::NoHome { what, option },
            Self::NoName { path, .. } => Self::NoName { path, option },
            Self::TooLong { path, bytes, .. } => Self::TooLong { path, bytes, option },
            Self::Relative { .. } => self,
        }
    }
}

/// Whose custom decides where files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// The XDG base directories: Linux, and all that is not macOS.
    Xdg,
    /// The folders in `~/Library`.
    MacOs,
}

/// What the default paths depend on.
pub struct Environment<Lookup> {
    /// Whose custom.
    pub platform: Platform,
    /// The number of the user.
    pub user: u32,
    /// Where the system has a folder for each user that lives as long as the user is logged in: `/run/user`.
    pub run_folders: PathBuf,
    /// The value of a variable.
    pub lookup: Lookup,
}

impl<Lookup> std::fmt::Debug for Environment<Lookup> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment")
            .field("platform", &self.platform)
            .field("user", &self.user)
            .field("run_folders", &self.run_folders)
            .finish_non_exhaustive()
    }
}

impl Environment<fn(&str) -> Option<OsString>> {
    /// That of this process.
    pub fn of_process() -> Self {
        Self {
            platform: if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Xdg },
            user: nix::unistd::geteuid().as_raw(),
            run_folders: PathBuf::from("/run/user"),
            lookup: |variable| std::env::var_os(variable),
        }
    }
}

/// A file of the service, and how else than by default it gets its place.
struct Item {
    what: &'static str,
    option: &'static str,
}

const SOCKET: Item = Item { what: "the service's socket", option: "--socket" };
const DATA: Item = Item { what: "the service's data", option: "--data" };
const LOG: Item = Item { what: "the service's log", option: "--log-file" };
const CONFIG: Item = Item { what: "the service's settings", option: "--config" };

impl<Lookup: Fn(&str) -> Option<OsString>> Environment<Lookup> {
    /// The socket, whose name is short enough.
    pub fn socket(&self) -> Result<PathBuf, PathError> {
        let path = match self.platform {
            Platform::MacOs => self.application_support(&SOCKET)?.join("oam.sock"),
            Platform::Xdg => match self.runtime_folder()? {
                Some(folder) => folder.join("oam/oam.sock"),
                None => self.state_folder(&SOCKET)?.join("oam.sock"),
            },
        };
        check_socket(&path)?;
        Ok(path)
    }

    /// The folder with the realms.
    pub fn data_folder(&self) -> Result<PathBuf, PathError> {
        match self.platform {
            Platform::MacOs => Ok(self.application_support(&DATA)?.join("data")),
            Platform::Xdg => self.state_folder(&DATA),
        }
    }

    /// The log.
    pub fn log_file(&self) -> Result<PathBuf, PathError> {
        match self.platform {
            Platform::MacOs => Ok(self.home(&LOG)?.join("Library/Logs/oam/oam.log")),
            Platform::Xdg => Ok(self.state_folder(&LOG)?.join("oam.log")),
        }
    }

    /// The settings.
    pub fn config_file(&self) -> Result<PathBuf, PathError> {
        match self.platform {
            Platform::MacOs => Ok(self.application_support(&CONFIG)?.join("service.json")),
            Platform::Xdg => {
                let folder = match self.absolute("XDG_CONFIG_HOME")? {
                    Some(folder) => folder,
                    None => self.home(&CONFIG)?.join(".config"),
                };
                Ok(folder.join("oam/service.json"))
            }
        }
    }

    fn application_support(&self, item: &Item) -> Result<PathBuf, PathError> {
        Ok(self.home(item)?.join("Library/Application Support/oam"))
    }

    fn state_folder(&self, item: &Item) -> Result<PathBuf, PathError> {
        let folder = match self.absolute("XDG_STATE_HOME")? {
            Some(folder) => folder,
            None => self.home(item)?.join(".local/state"),
        };
        Ok(folder.join("oam"))
    }

    fn runtime_folder(&self) -> Result<Option<PathBuf>, PathError> {
        if let Some(folder) = self.absolute("XDG_RUNTIME_DIR")? {
            return Ok(Some(folder));
        }
        let folder = self.run_folders.join(self.user.to_string());
        let is_ours = folder.metadata().is_ok_and(|found| found.is_dir() && found.uid() == self.user);
        Ok(is_ours.then_some(folder))
    }

    fn home(&self, item: &Item) -> Result<PathBuf, PathError> {
        self.absolute("HOME")?.ok_or(PathError::NoHome { what: item.what, option: item.option })
    }

    fn absolute(&self, variable: &'static str) -> Result<Option<PathBuf>, PathError> {
        let Some(value) = (self.lookup)(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
        let path = PathBuf::from(&value);
        if path.is_absolute() { Ok(Some(path)) } else { Err(PathError::Relative { variable, value }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: (&str, &str) = ("HOME", "/home/ada");

    fn environment<'a>(
        platform: Platform,
        variables: &'a [(&'a str, &'a str)],
    ) -> Environment<impl Fn(&str) -> Option<OsString> + 'a> {
        let lookup = |wanted: &str| {
            variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| OsString::from(value))
        };
        Environment { platform, user: 7, run_folders: PathBuf::from("/nowhere"), lookup }
    }

    type Row<'a> = (Platform, &'a [(&'a str, &'a str)], [&'a str; 4]);

    #[test]
    fn files_are_where_the_platform_has_such_files() {
        let rows: [Row<'_>; 4] = [
            (
                Platform::Xdg,
                &[HOME],
                [
                    "/home/ada/.local/state/oam/oam.sock",
                    "/home/ada/.local/state/oam",
                    "/home/ada/.local/state/oam/oam.log",
                    "/home/ada/.config/oam/service.json",
                ],
            ),
            (
                Platform::Xdg,
                &[("XDG_RUNTIME_DIR", "/run/me"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")],
                ["/run/me/oam/oam.sock", "/s/oam", "/s/oam/oam.log", "/c/oam/service.json"],
            ),
            (
                Platform::Xdg,
                &[HOME, ("XDG_RUNTIME_DIR", ""), ("XDG_STATE_HOME", "/s")],
                ["/s/oam/oam.sock", "/s/oam", "/s/oam/oam.log", "/home/ada/.config/oam/service.json"],
            ),
            (
                Platform::MacOs,
                &[("HOME", "/Users/ada"), ("XDG_RUNTIME_DIR", "/run/me")],
                [
                    "/Users/ada/Library/Application Support/oam/oam.sock",
                    "/Users/ada/Library/Application Support/oam/data",
                    "/Users/ada/Library/Logs/oam/oam.log",
                    "/Users/ada/Library/Application Support/oam/service.json",
                ],
            ),
        ];
        for (platform, variables, expected) in rows {
            let paths = environment(platform, variables);
            let found = [paths.socket(), paths.data_folder(), paths.log_file(), paths.config_file()];
            assert_eq!(found.map(Result::unwrap), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn the_users_run_folder_is_used_if_it_is_the_users() {
        let folders = tempfile::tempdir().unwrap();
        let user = nix::unistd::geteuid().as_raw();
        for (user, is_ours) in [(user, true), (user + 1, false)] {
            let run_folder = folders.path().join(user.to_string());
            std::fs::create_dir(&run_folder).unwrap();
            let paths = Environment {
                user,
                run_folders: folders.path().to_owned(),
                ..environment(Platform::Xdg, &[HOME])
            };
            assert_eq!(paths.socket().unwrap().starts_with(&run_folder), is_ours);
        }
    }

    #[test]
    fn an_error_names_the_option_of_the_program_that_asks() {
        let nowhere = environment(Platform::MacOs, &[]).socket().unwrap_err();
        assert!(nowhere.to_string().ends_with("name the place with --socket"), "{nowhere}");
        let nowhere = nowhere.naming("--connect");
        assert!(nowhere.to_string().ends_with("name the place with --connect"), "{nowhere}");
    }

    #[test]
    fn a_socket_has_a_name() {
        for path in ["/", "..", "a/..", ""] {
            let error = check_socket(Path::new(path)).unwrap_err().to_string();
            let expected = "is no name of a socket; name a file in a folder of your own with --socket";
            assert_eq!(error, format!("{path:?} {expected}"));
        }
        check_socket(Path::new("oam.sock")).unwrap();
    }

    #[test]
    fn an_error_names_the_variable_or_the_path_and_what_to_do() {
        let deep = format!("/{}", "d".repeat(100));
        let rows: [(&[(&str, &str)], String); 3] = [
            (
                &[],
                "HOME is not set, so there is no place for the service's socket; set HOME, or name the place with --socket"
                    .to_owned(),
            ),
            (
                &[HOME, ("XDG_RUNTIME_DIR", "run")],
                "XDG_RUNTIME_DIR is \"run\", which is not an absolute path; set it to one, or unset it".to_owned(),
            ),
            (
                &[HOME, ("XDG_RUNTIME_DIR", &deep)],
                format!(
                    "the path {deep}/oam/oam.sock has 114 bytes, and the path of a socket may have 103; name a shorter one \
                     with --socket"
                ),
            ),
        ];
        for (variables, expected) in rows {
            let error = environment(Platform::Xdg, variables).socket().unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
