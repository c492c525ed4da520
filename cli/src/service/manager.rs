//! The system's manager of services: systemd's manager of the user, or launchd.
//!
//! It holds the socket and starts the service when somebody connects. All that is asked of it can be asked again.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use nix::unistd::geteuid;
use oam_service::paths::{Environment, Platform};

use super::{
    detached::OUTPUT,
    installation::{Installation, arguments_of},
    launchd, systemd,
};
use crate::{
    arguments::variable,
    commands::service::run::RunArguments,
    failure::{Failure, FailureCode},
    files::{self, Readers},
};

/// How long a service may take to end of which nothing is known.
const END_TIME: Duration = Duration::from_secs(30);
/// How much longer than its manager gives it.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// A system, by the manager that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum System {
    /// launchd
    Macos,
    /// systemd
    Linux,
}

impl System {
    /// The one that this runs on.
    pub(crate) const fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Macos } else { Self::Linux }
    }

    pub(crate) const fn manager(self) -> &'static str {
        match self {
            Self::Macos => "launchd",
            Self::Linux => "systemd",
        }
    }
}

/// A file that the manager reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManagedFile {
    pub(crate) path: PathBuf,
    pub(crate) content: String,
}

/// What a program of the system said.
struct Said {
    is_success: bool,
    /// Both outputs.
    text: String,
}

type Programs = Box<dyn Fn(&str, &[&str]) -> io::Result<Said> + Send + Sync>;

/// The manager of one user's services.
pub(crate) struct Manager {
    system: System,
    /// Where it reads its files.
    folder: PathBuf,
    programs: Programs,
}

/// Whether anything had to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Made,
    Unneeded,
}

impl Manager {
    pub(crate) fn of_this_system() -> Result<Self, Failure> {
        Self::of(System::here())
    }

    /// That of another system can only be asked for the files that it would get.
    pub(crate) fn of(system: System) -> Result<Self, Failure> {
        let folder = match system {
            System::Macos => home()?.join("Library/LaunchAgents"),
            System::Linux => match variable("XDG_CONFIG_HOME") {
                Some(folder) => PathBuf::from(folder),
                None => home()?.join(".config"),
            }
            .join("systemd/user"),
        };
        Ok(Self { system, folder, programs: Box::new(run_program) })
    }

    pub(crate) fn system(&self) -> System {
        self.system
    }

    /// The usual socket on this system.
    fn usual_socket(&self) -> Result<PathBuf, Failure> {
        Ok(self.environment().socket()?)
    }

    /// Where what goes that the service prints, if its manager wants to know.
    pub(crate) fn output(&self) -> Result<PathBuf, Failure> {
        Ok(self.environment().log_file()?.with_file_name(OUTPUT))
    }

    fn environment(&self) -> Environment<fn(&str) -> Option<std::ffi::OsString>> {
        let platform = match self.system {
            System::Macos => Platform::MacOs,
            System::Linux => Platform::Xdg,
        };
        Environment { platform, ..Environment::of_process() }
    }

    /// The files that it would get.
    pub(crate) fn files(&self, installation: &Installation) -> Result<Vec<ManagedFile>, Failure> {
        let contents = match self.system {
            System::Macos => {
                vec![launchd::file(installation)?]
            }
            System::Linux => {
                let runtime_folder = variable("XDG_RUNTIME_DIR").map_or_else(
                    || PathBuf::from("/run/user").join(geteuid().as_raw().to_string()),
                    PathBuf::from,
                );
                vec![
                    systemd::service(installation)?,
                    systemd::socket(&installation.socket, Some(&runtime_folder))?,
                ]
            }
        };
        let paths = self.paths().into_iter();
        Ok(paths.zip(contents).map(|(path, content)| ManagedFile { path, content }).collect())
    }

    /// Where its files are, that with the command line first.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match self.system {
            System::Macos => vec![self.folder.join(format!("{}.plist", launchd::LABEL))],
            System::Linux => vec![self.folder.join(systemd::SERVICE), self.folder.join(systemd::SOCKET)],
        }
    }

    /// What the installed service is started with. `None` if none is installed.
    pub(crate) fn installed(&self) -> Result<Option<RunArguments>, Failure> {
        let Some(path) = self.paths().into_iter().next() else { return Ok(None) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::invalid_input(format!("{}: cannot be read: {error}", path.display())));
            }
        };
        let words = match self.system {
            System::Macos => launchd::words(&text),
            System::Linux => systemd::words(&text),
        };
        words
            .map_err(Failure::invalid_input)
            .and_then(|words| arguments_of(&words))
            .map(Some)
            .map_err(|failure| failure.about(&path.display().to_string()))
    }

    /// Where a service is looked for that nobody names: where the installed one listens, or at the usual place.
    pub(crate) fn socket_of(&self, installed: Option<&RunArguments>) -> Result<PathBuf, Failure> {
        installed.and_then(RunArguments::named_socket).map_or_else(|| self.usual_socket(), Ok)
    }

    /// Whether it listens at this socket, or would.
    pub(crate) fn listens_at(&self, socket: &Path) -> Result<bool, Failure> {
        let Some(arguments) = self.installed()? else { return Ok(false) };
        Ok(self.socket_of(Some(&arguments))? == socket)
    }

    /// Whether it runs the service now.
    pub(crate) fn is_running(&self) -> bool {
        let said = match self.system {
            System::Macos => self.say("launchctl", &["print", &target()]),
            System::Linux => self.say("systemctl", &["--user", "is-active", systemd::SERVICE]),
        };
        let Ok(said) = said else { return false };
        match self.system {
            System::Macos => {
                said.is_success && said.text.lines().any(|line| line.trim().starts_with("pid = "))
            }
            // Also while it starts or ends.
            System::Linux => {
                ["active", "activating", "reloading", "deactivating"].contains(&said.text.trim())
            }
        }
    }

    /// Whether it holds the socket now: then whoever connects starts the service.
    pub(crate) fn is_listening(&self) -> bool {
        match self.system {
            System::Macos => self.is_loaded(),
            System::Linux => self
                .say("systemctl", &["--user", "is-active", systemd::SOCKET])
                .is_ok_and(|said| said.text.trim() == "active"),
        }
    }

    /// Fails, with what to do, where there is no manager for this user.
    pub(crate) fn expect_manager(&self) -> Result<(), Failure> {
        let asked = match self.system {
            System::Macos => self.say("launchctl", &["print", &domain()]),
            System::Linux => self.say("systemctl", &["--user", "show", "--property=Version"]),
        };
        let reason = match asked {
            Ok(said) if said.is_success => return Ok(()),
            Ok(said) => said.text.lines().next_back().unwrap_or_default().trim().to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "it is not installed".to_owned(),
            Err(error) => error.to_string(),
        };
        let (what, to_do) = match self.system {
            System::Macos => {
                ("launchd has no session for this user", "Log in at the screen, not by ssh alone.")
            }
            System::Linux => (
                "systemd does not manage services for this user here",
                "Log in as this user (not by su or sudo), or switch it on for good with `loginctl enable-linger`.",
            ),
        };
        Err(Failure::new(
            FailureCode::Io,
            format!("{what}: {reason}. {to_do} `oam service start` runs the service without a manager."),
        ))
    }

    /// Writes the files and has the manager listen. What runs already is started anew if the files have changed.
    pub(crate) fn install(&self, installation: &Installation) -> Result<Change, Failure> {
        let wanted = self.files(installation)?;
        self.expect_manager()?;
        let is_there =
            |file: &ManagedFile| fs::read_to_string(&file.path).is_ok_and(|found| found == file.content);
        let change = if wanted.iter().all(is_there) { Change::Unneeded } else { Change::Made };
        if change == Change::Made {
            let was_running = self.is_running();
            self.unload()?;
            for file in &wanted {
                files::write(&file.path, file.content.as_bytes(), Readers::Usual)?;
            }
            self.load(installation)?;
            if was_running {
                self.start()?;
            }
        } else {
            self.load(installation)?;
        }
        Ok(change)
    }

    /// Ends the service, and has the manager forget it.
    pub(crate) fn uninstall(&self) -> Result<Vec<PathBuf>, Failure> {
        let there: Vec<_> = self.paths().into_iter().filter(|path| path.exists()).collect();
        if there.is_empty() {
            return Ok(there);
        }
        // Without a manager there is nothing that would have to forget.
        if self.expect_manager().is_ok() {
            self.unload()?;
            if self.system == System::Linux {
                self.systemctl(&["disable", systemd::SOCKET])?;
            }
        }
        for path in &there {
            fs::remove_file(path)
                .map_err(|error| Failure::io(format!("{}: cannot be removed: {error}", path.display())))?;
        }
        if self.system == System::Linux && self.expect_manager().is_ok() {
            self.systemctl(&["daemon-reload"])?;
        }
        Ok(there)
    }

    /// Has it listen.
    fn load(&self, installation: &Installation) -> Result<(), Failure> {
        match self.system {
            System::Macos => {
                // launchd makes neither the folder of the socket nor that of the outputs.
                let folders = [&installation.socket, &installation.output].map(|path| path.parent());
                for folder in folders.into_iter().flatten() {
                    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
                        Failure::io(format!("{}: cannot be made: {error}", folder.display()))
                    })?;
                }
                self.bootstrap()
            }
            System::Linux => {
                self.systemctl(&["daemon-reload"])?;
                self.systemctl(&["enable", "--now", systemd::SOCKET])
            }
        }
    }

    /// Ends the service and has it listen no more.
    fn unload(&self) -> Result<(), Failure> {
        match self.system {
            System::Macos if self.is_loaded() => {
                self.launchctl(&["bootout", &target()])?;
                self.wait_until("launchd still knows the service", || !self.is_loaded())
            }
            System::Macos => Ok(()),
            System::Linux => {
                let is_known = self.paths().iter().any(|path| path.exists());
                if is_known { self.systemctl(&["stop", systemd::SOCKET, systemd::SERVICE]) } else { Ok(()) }
            }
        }
    }

    /// Starts the service, and has it listen.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        self.expect_manager()?;
        match self.system {
            System::Macos => {
                self.bootstrap()?;
                self.launchctl(&["kickstart", &target()])
            }
            System::Linux => {
                // Failures before this were somebody's reason to start it.
                let _ = self.say("systemctl", &["--user", "reset-failed", systemd::SOCKET, systemd::SERVICE]);
                self.systemctl(&["start", systemd::SOCKET, systemd::SERVICE])
            }
        }
    }

    /// Ends the service, so that nobody starts it by connecting.
    pub(crate) fn stop(&self) -> Result<(), Failure> {
        self.expect_manager()?;
        self.unload()
    }

    /// Ends the service in good order and starts it again, with the socket open all the time.
    pub(crate) fn restart(&self) -> Result<(), Failure> {
        self.expect_manager()?;
        match self.system {
            System::Macos => {
                self.bootstrap()?;
                if self.is_running() {
                    self.launchctl(&["kill", "SIGTERM", &target()])?;
                    self.wait_until("the service does not end", || !self.is_running())?;
                }
                self.launchctl(&["kickstart", "-k", &target()])
            }
            System::Linux => {
                let _ = self.say("systemctl", &["--user", "reset-failed", systemd::SOCKET, systemd::SERVICE]);
                self.systemctl(&["start", systemd::SOCKET])?;
                self.systemctl(&["restart", systemd::SERVICE])
            }
        }
    }

    fn is_loaded(&self) -> bool {
        self.say("launchctl", &["print", &target()]).is_ok_and(|said| said.is_success)
    }

    fn bootstrap(&self) -> Result<(), Failure> {
        if self.is_loaded() {
            return Ok(());
        }
        let path = self.paths().remove(0);
        let path = path.to_str().ok_or_else(|| Failure::io(format!("{}: is not UTF-8", path.display())))?;
        self.launchctl(&["bootstrap", &domain(), path])
    }

    fn launchctl(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.expect("launchctl", arguments)
    }

    fn systemctl(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.expect("systemctl", &[&["--user"], arguments].concat())
    }

    fn expect(&self, program: &str, arguments: &[&str]) -> Result<(), Failure> {
        let reason = match self.say(program, arguments) {
            Ok(said) if said.is_success => return Ok(()),
            Ok(said) => said.text.trim().to_owned(),
            Err(error) => error.to_string(),
        };
        Err(Failure::io(format!("{program} {}: {reason}", arguments.join(" "))))
    }

    fn say(&self, program: &str, arguments: &[&str]) -> io::Result<Said> {
        (self.programs)(program, arguments)
    }

    fn wait_until(&self, otherwise: &str, is_so: impl Fn() -> bool) -> Result<(), Failure> {
        let installed = self.installed().ok().flatten();
        let limit = installed.map_or(END_TIME, |arguments| arguments.exit_time()) + GRACE;
        let deadline = Instant::now() + limit;
        while !is_so() {
            if Instant::now() > deadline {
                return Err(Failure::io(format!("{otherwise} after {} s", limit.as_secs())));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

fn home() -> Result<PathBuf, Failure> {
    variable("HOME").map(PathBuf::from).ok_or_else(|| Failure::usage("HOME is not set"))
}

fn domain() -> String {
    format!("gui/{}", geteuid())
}

fn target() -> String {
    format!("{}/{}", domain(), launchd::LABEL)
}

fn run_program(program: &str, arguments: &[&str]) -> io::Result<Said> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(Said { is_success: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tempfile::TempDir;

    use super::*;

    /// Notes what it is asked, and knows of a job as launchd would.
    #[derive(Default)]
    struct Launchd {
        asked: Vec<String>,
        is_loaded: bool,
        is_running: bool,
    }

    impl Launchd {
        fn answer(&mut self, words: &[&str]) -> Said {
            let said = |is_success, text: &str| Said { is_success, text: text.to_owned() };
            if words == ["print", &domain()] {
                return said(true, "");
            }
            if words[0] == "print" {
                let text =
                    if self.is_running { "state = running\n\tpid = 7\n" } else { "state = not running\n" };
                return said(self.is_loaded, text);
            }
            self.asked.push(words.join(" "));
            match words[0] {
                "bootstrap" => self.is_loaded = true,
                "bootout" => (self.is_loaded, self.is_running) = (false, false),
                "kickstart" => self.is_running = true,
                "kill" => self.is_running = false,
                _ => return said(false, "unknown"),
            }
            said(true, "")
        }
    }

    struct Mac {
        folder: TempDir,
        launchd: Arc<Mutex<Launchd>>,
        manager: Manager,
    }

    impl Mac {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let launchd = Arc::new(Mutex::new(Launchd::default()));
            let answers = Arc::clone(&launchd);
            let programs = move |program: &str, words: &[&str]| {
                assert_eq!(program, "launchctl");
                Ok(answers.lock().unwrap().answer(words))
            };
            let manager = Manager {
                system: System::Macos,
                folder: folder.path().join("LaunchAgents"),
                programs: Box::new(programs),
            };
            Self { folder, launchd, manager }
        }

        fn installation(&self, arguments: &[&str]) -> Installation {
            Installation {
                program: PathBuf::from("/usr/local/bin/oam"),
                arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
                socket: self.folder.path().join("support/oam.sock"),
                output: self.folder.path().join("logs/oam.out"),
                exit_time: Duration::from_secs(30),
                path_variable: None,
            }
        }

        fn asked(&self) -> Vec<String> {
            let asked = std::mem::take(&mut self.launchd.lock().unwrap().asked);
            let (domain, target) = (domain(), target());
            asked.iter().map(|words| words.replace(&target, "TARGET").replace(&domain, "DOMAIN")).collect()
        }
    }

    #[test]
    fn launchd_is_asked_for_what_changes_and_no_more() {
        let mac = Mac::new();
        let path = mac.manager.paths().remove(0);
        let bootstrap = format!("bootstrap DOMAIN {}", path.display());
        let install = |arguments: &[&str]| mac.manager.install(&mac.installation(arguments)).unwrap();
        assert_eq!((install(&[]), mac.asked()), (Change::Made, vec![bootstrap.clone()]));
        assert!(
            path.exists() && ["support", "logs"].iter().all(|name| mac.folder.path().join(name).is_dir())
        );
        assert_eq!((install(&[]), mac.asked()), (Change::Unneeded, vec![]));
        mac.manager.start().unwrap();
        assert_eq!(mac.asked(), ["kickstart TARGET"]);
        assert!(mac.manager.is_running());
        let made = install(&["--data", "/data"]);
        assert_eq!(made, Change::Made);
        assert_eq!(mac.asked(), ["bootout TARGET", &bootstrap, "kickstart TARGET"]);
        assert_eq!(mac.manager.installed().unwrap().unwrap().data_folder().unwrap(), Path::new("/data"));
        mac.manager.restart().unwrap();
        assert_eq!(mac.asked(), ["kill SIGTERM TARGET", "kickstart -k TARGET"]);
        mac.manager.stop().unwrap();
        mac.manager.stop().unwrap();
        assert_eq!(mac.asked(), ["bootout TARGET"]);
        mac.manager.start().unwrap();
        assert_eq!(mac.asked(), [&bootstrap, "kickstart TARGET"]);
        assert_eq!(mac.manager.uninstall().unwrap(), [path]);
        assert_eq!(mac.manager.uninstall().unwrap(), [] as [PathBuf; 0]);
        assert_eq!(mac.asked(), ["bootout TARGET"]);
        assert!(mac.manager.installed().unwrap().is_none());
    }

    #[test]
    fn what_is_installed_and_not_ours_is_told_with_its_place() {
        let mac = Mac::new();
        let path = mac.manager.paths().remove(0);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for content in ["", "no plist", "<plist version=\"1.0\"><dict/></plist>"] {
            fs::write(&path, content).unwrap();
            let failure = mac.manager.installed().unwrap_err();
            assert!(failure.message.starts_with(&path.display().to_string()), "{failure}");
        }
    }
}
