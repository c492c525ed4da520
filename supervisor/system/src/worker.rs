//! Which worker program is run: one that somebody named, or the one that is installed.

use std::{
    env,
    fmt::Display,
    path::{self, Path, PathBuf},
};

use oam_workers::WorkerCommand;

use crate::program;

/// The variable of the environment that names a worker: a command line, quoted as for a shell.
pub const VARIABLE: &str = "OAM_WORKER";

/// The worker for Apple's model, as it is installed.
pub const INSTALLED: &str = "oam-worker-swift";

/// The command in a command line, whose program is one that can be started.
pub fn command_in(command_line: &str) -> Result<WorkerCommand, CommandError> {
    let command = words_of(command_line)?;
    check(&command)?;
    Ok(command)
}

/// The same without a look at whether the program is there: it may be meant for another machine.
pub fn words_of(command_line: &str) -> Result<WorkerCommand, CommandError> {
    let words = shell_words::split(command_line)
        .map_err(|error| CommandError::Unusable(format!("{command_line}: {error}")))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or(CommandError::Empty)?;
    Ok(WorkerCommand { program: program.into(), arguments: words.map(Into::into).collect() })
}

/// The command in [`VARIABLE`]; `None` where it is not set, or empty. The error is a sentence without its end.
pub fn in_environment() -> Result<Option<WorkerCommand>, String> {
    let Some(line) = env::var_os(VARIABLE).filter(|line| !line.is_empty()) else { return Ok(None) };
    let line = line.to_str().ok_or_else(|| format!("{VARIABLE} is not UTF-8"))?;
    command_in(line).map(Some).map_err(|error| error.at(VARIABLE))
}

/// Whether the program of a command is one that can be started.
pub fn check(command: &WorkerCommand) -> Result<(), CommandError> {
    program::check(&command.program.to_string_lossy()).map_err(CommandError::Unusable)
}

/// The same command for a process that may change its working directory: a program that was found from there is named by
/// its absolute path. Arguments are the program's own business.
pub fn anchored(command: WorkerCommand) -> WorkerCommand {
    let name = command.program.to_string_lossy();
    let found = if name.contains('/') { Ok(command.program.clone()) } else { program::in_path(&name) };
    match found {
        Ok(found) if found.is_relative() => {
            WorkerCommand { program: path::absolute(&found).unwrap_or(found), ..command }
        }
        _ => command,
    }
}

/// What is wrong with the command of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// It has no words.
    Empty,
    /// A sentence without its end.
    Unusable(String),
}

impl CommandError {
    /// The whole of what is wrong with what was found at `source`, a flag, a variable or an option.
    pub fn at(&self, source: &str) -> String {
        match self {
            Self::Empty => format!("{source} names no program"),
            Self::Unusable(reason) => format!("{source}: {reason}"),
        }
    }
}

/// The worker that is installed in `folder`, where the program or library is, or in the libexec folder beside that.
pub fn installed_beside(folder: &Path) -> Option<PathBuf> {
    [folder.join(INSTALLED), folder.join("../libexec/oam").join(INSTALLED)]
        .into_iter()
        .find(|candidate| candidate.is_file())
}

/// Says in whole sentences that no worker is installed beside `host`, and what to do: `option` names one.
pub fn none_installed(host: impl Display, option: &str) -> String {
    format!(
        "No model is installed here. Apple's needs a Mac with Apple Intelligence, and {INSTALLED} beside {host}; another \
         one is named with {option} or {VARIABLE}."
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_does() {
        let command = command_in(r#"sh -c "exit 3" '' a\ b"#).unwrap();
        assert_eq!(command.program, Path::new("sh"));
        assert_eq!(command.arguments, ["-c", "exit 3", "", "a b"]);
    }

    #[test]
    fn an_unusable_command_is_told_with_its_source() {
        let said = |line| command_in(line).unwrap_err().at("OAM_WORKER");
        assert_eq!(said("  "), "OAM_WORKER names no program");
        assert_eq!(said("sh 'open"), "OAM_WORKER: sh 'open: missing closing quote");
        assert_eq!(said("no-such-worker"), "OAM_WORKER: there is no program 'no-such-worker' in PATH");
    }

    #[test]
    fn only_what_depends_on_the_working_directory_is_anchored() {
        let anchored =
            |program: &str| anchored(WorkerCommand { program: program.into(), arguments: vec!["a".into()] });
        let folder = std::env::current_dir().unwrap();
        assert_eq!(anchored("./src/worker.rs").program, folder.join("src/worker.rs"));
        assert_eq!(anchored("/bin/sh").program, Path::new("/bin/sh"));
        assert_eq!(anchored("sh").program, Path::new("sh"));
        assert_eq!(anchored("sh").arguments, ["a"]);
    }

    #[test]
    fn the_installed_worker_is_beside_or_in_libexec() {
        let root = tempfile::tempdir().unwrap();
        let (bin, libexec) = (root.path().join("bin"), root.path().join("libexec/oam"));
        fs::create_dir_all(&bin).unwrap();
        assert_eq!(installed_beside(&bin), None);
        fs::create_dir_all(&libexec).unwrap();
        fs::write(libexec.join(INSTALLED), "").unwrap();
        let found = installed_beside(&bin).unwrap();
        assert_eq!(found.canonicalize().unwrap(), libexec.join(INSTALLED).canonicalize().unwrap());
        fs::write(bin.join(INSTALLED), "").unwrap();
        assert_eq!(installed_beside(&bin), Some(bin.join(INSTALLED)));
    }
}
