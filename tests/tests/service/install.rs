//! `oam service install` and what follows from it, with a program in the place of `systemctl`.

use std::{
    fs,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Command,
};

use oam_tests::oam_binary;

use crate::home::{Ended, Home, ended};

/// A manager that does what it is asked, and whose service does not run.
const WILLING: &str = "case \"$2\" in is-active) echo inactive; exit 3 ;; esac";

fn run(home: &Home, bin: &Path, arguments: &[&str]) -> Ended {
    let mut command = home.program(oam_binary());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
    command.args(arguments).env("PATH", std::env::join_paths(folders).unwrap());
    ended(command)
}

fn units(home: &Home) -> [PathBuf; 2] {
    ["oam.service", "oam.socket"].map(|name| home.path("config/systemd/user").join(name))
}

#[test]
fn it_is_installed_once_and_changed_when_something_changes() {
    let home = Home::new();
    let bin = home.fake("systemctl", WILLING);
    let told = run(&home, &bin, &["service", "install"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    assert!(told.stdout.contains("was installed; systemd starts it"), "{told:?}");
    let [service, socket] = units(&home);
    let unit = fs::read_to_string(&service).unwrap();
    let command = format!("ExecStart=:{} service run --managed\n", oam_binary().display());
    for part in [command.as_str(), "Type=notify\n", "KillMode=mixed\n", "Environment="] {
        assert!(unit.contains(part), "{part}: {unit}");
    }
    let unit = fs::read_to_string(&socket).unwrap();
    for part in ["ListenStream=%t/oam/oam.sock\n", "SocketMode=0600\n", "DirectoryMode=0700\n"] {
        assert!(unit.contains(part), "{part}: {unit}");
    }
    let did = |asked: Vec<String>| -> Vec<String> {
        let looks = ["show", "is-active"];
        asked.into_iter().filter(|words| !looks.iter().any(|look| words.contains(look))).collect()
    };
    let load = ["--user daemon-reload", "--user enable --now oam.socket"];
    assert_eq!(did(home.asked("systemctl")), load);

    let told = run(&home, &bin, &["service", "install"]);
    assert!(told.stdout.contains("is installed already"), "{told:?}");
    assert_eq!(did(home.asked("systemctl")), load);

    let told = run(&home, &bin, &["service", "install", "--", "--idle-exit", "60"]);
    assert!(told.stdout.contains("was installed"), "{told:?}");
    assert_eq!(did(home.asked("systemctl")), [&["--user stop oam.socket oam.service"], &load[..]].concat());
    assert!(fs::read_to_string(&service).unwrap().contains("--managed --idle-exit 60\n"));

    fs::create_dir_all(home.data()).unwrap();
    fs::write(home.data().join("realms.db"), "what matters").unwrap();
    for expected in ["was stopped and is not installed any more", "is not installed"] {
        let told = run(&home, &bin, &["service", "uninstall"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stdout.contains(expected), "{told:?}");
        assert!(told.stdout.contains(home.data().to_str().unwrap()), "{told:?}");
        assert!(!service.exists() && !socket.exists());
    }
    assert_eq!(
        did(home.asked("systemctl")),
        ["--user stop oam.socket oam.service", "--user disable oam.socket", "--user daemon-reload"]
    );
    assert_eq!(fs::read(home.data().join("realms.db")).unwrap(), b"what matters");
}

#[test]
fn an_installed_service_is_managed_by_its_manager() {
    let home = Home::new();
    let data = home.path("my data");
    let bin = home.fake("systemctl", WILLING);
    let told = run(&home, &bin, &["service", "install", "--", "--data", data.to_str().unwrap()]);
    assert_eq!(told.code, Some(0), "{told:?}");
    home.asked("systemctl");
    let told = run(&home, &bin, &["service", "status", "--json"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    let status: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(status["data"], data.to_str().unwrap());
    assert_eq!(status["installed"].as_array().unwrap().len(), 2);
    let looks = ["--user is-active oam.service", "--user is-active oam.socket"];
    assert_eq!(home.asked("systemctl"), looks, "asking starts nothing");
    let told = run(&home, &bin, &["service", "stop"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(home.asked("systemctl").contains(&"--user stop oam.socket oam.service".to_owned()));
}

#[test]
fn a_manager_that_starts_the_service_is_asked_to_by_who_connects() {
    let home = Home::new();
    let start = format!(
        "case \"$2\" in is-active) echo inactive; exit 3 ;; \
         start) '{}' service run --log-file - > '{}' 2>&1 & ;; esac",
        oam_binary().display(),
        home.path("manager.log").display()
    );
    let bin = home.fake("systemctl", &start);
    assert_eq!(run(&home, &bin, &["service", "install"]).code, Some(0));
    home.asked("systemctl");
    let told = run(&home, &bin, &["stdio", "--connect"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    assert!(home.asked("systemctl").contains(&"--user start oam.socket oam.service".to_owned()));
    let stopped = run(&home, &bin, &["service", "uninstall"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
}

#[test]
fn nobody_connects_where_the_manager_would_start_the_service_for_that() {
    let home = Home::new();
    let listening =
        "case \"$2 $3\" in 'is-active oam.socket') echo active ;; is-active*) echo inactive; exit 3 ;; esac";
    let bin = home.fake("systemctl", listening);
    fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    let manager = UnixListener::bind(home.socket()).unwrap();
    manager.set_nonblocking(true).unwrap();
    for words in [["service", "install"], ["service", "install"], ["service", "status"]] {
        let told = run(&home, &bin, &words);
        assert!(manager.accept().is_err(), "{words:?} connects: {told:?}");
        assert!(!told.stdout.contains("was stopped"), "{told:?}");
    }
}

#[test]
fn who_names_no_socket_reaches_the_installed_one_wherever_it_is() {
    let home = Home::new();
    let socket = home.path("elsewhere/oam.sock");
    let start = format!(
        "case \"$2\" in is-active) echo inactive; exit 3 ;; \
         start) '{}' service run --log-file - --idle-exit 60 --socket '{}' > '{}' 2>&1 & ;; esac",
        oam_binary().display(),
        socket.display(),
        home.path("manager.log").display()
    );
    let bin = home.fake("systemctl", &start);
    let socket = socket.to_str().unwrap();
    assert_eq!(run(&home, &bin, &["service", "install", "--", "--socket", socket]).code, Some(0));
    for words in [&["stdio", "--connect"][..], &["service", "start"]] {
        let told = run(&home, &bin, words);
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{words:?}: {told:?}");
        assert!(!home.socket().exists(), "{words:?}: there is one at the usual place");
    }
    assert_eq!(run(&home, &bin, &["service", "uninstall"]).code, Some(0));
    let stopped = home.run(["service", "stop", "--socket", socket]);
    assert_eq!(stopped.stdout, "The service was stopped.\n", "{stopped:?}");
}

#[test]
fn without_a_manager_it_says_what_to_do_and_writes_nothing() {
    let home = Home::new();
    let bin = home.fake("systemctl", "echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let told = run(&home, &bin, &["service", "install"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    for part in ["No medium found", "loginctl enable-linger", "oam service start"] {
        assert!(told.stderr.contains(part), "{part}: {told:?}");
    }
    assert!(!home.path("config/systemd").exists());
}

#[test]
fn what_would_not_mean_the_same_elsewhere_is_refused() {
    let home = Home::new();
    for (arguments, part) in [
        (&["--data", "realms"][..], "--data realms: "),
        (&["--socket", "./oam.sock"], "--socket ./oam.sock: "),
        (&["--log-file", "oam.log"], "--log-file oam.log: "),
        (&["--worker", "./worker"], "--worker ./worker: the service is started from anywhere"),
        (&["--replace"], "--replace"),
        (&["--socket", "/run/a\nb"], "a unit cannot hold this path"),
        (&["--nothing"], "'--nothing'"),
        (&["--idle-exit", "soon"], "--idle-exit"),
    ] {
        let told = home.run(["service", "install", "--print", "--"].iter().chain(arguments).copied());
        assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.stderr.contains(part), "{part}: {told:?}");
    }
}

#[test]
fn variables_that_the_service_does_not_get_are_told() {
    let home = Home::new();
    let bin = home.fake("systemctl", WILLING);
    for arguments in [&["service", "install"][..], &["service", "install", "--print", "--for", "macos"]] {
        let mut command = home.program(oam_binary());
        command.args(arguments).env("OAM_WORKER", "my-worker").env("PATH", &bin);
        let told = ended(command);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stderr.contains("OAM_WORKER is set here"), "{told:?}");
    }
}

#[test]
fn a_worker_must_be_there_to_be_installed_and_not_to_be_shown() {
    let home = Home::new();
    let worker = ["--", "--worker", "/opt/elsewhere/worker"];
    for shown in [&["--print"][..], &["--print", "--for", "macos"], &["--print", "--for", "linux"]] {
        let told = home.run([&["service", "install"], shown, &worker].concat());
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
        assert!(told.stdout.contains("/opt/elsewhere/worker"), "{told:?}");
    }
    let told = home.run([&["service", "install"], &worker[..]].concat());
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
    assert!(told.stderr.contains("there is no program /opt/elsewhere/worker"), "{told:?}");
}

#[test]
fn what_no_file_of_a_manager_can_hold_is_refused() {
    let home = Home::new();
    for system in ["linux", "macos"] {
        for character in ['\u{1}', '\u{1b}', '\u{7f}', '\u{85}', '\u{fffe}'] {
            let folder = format!("/srv/a{character}b");
            let code = format!("U+{:04X}", u32::from(character));
            let arguments = ["service", "install", "--print", "--for", system];
            let said = home.run(arguments.into_iter().chain(["--", "--data", &folder]));
            let mut command = home.program(oam_binary());
            command.args(arguments).env("PATH", &folder);
            for told in [said, ended(command)] {
                assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
                assert!(told.stderr.contains(&code), "{told:?}");
            }
        }
        let told = home.run(["service", "install", "--print", "--for", system, "--", "--data", "/srv/a\tb"]);
        assert_eq!(told.code, Some(0), "{told:?}");
    }
}

/// The files in what `--print` shows.
fn printed(text: &str) -> Vec<(PathBuf, String)> {
    let files = text.split("# /").skip(1);
    files
        .map(|file| {
            let (path, content) = file.split_once('\n').unwrap();
            (PathBuf::from(format!("/{path}")), content.to_owned())
        })
        .collect()
}

#[test]
fn systemd_takes_the_units_whatever_the_paths_are() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("not tested: there is no systemd-analyze");
        return;
    }
    let home = Home::new();
    for folder in ["plain", "with space", "100%h $HOME ü;"] {
        let program = home.path(folder).join("oam");
        fs::create_dir(home.path(folder)).unwrap();
        fs::copy(oam_binary(), &program).unwrap();
        let worker =
            shell_words::join([program.to_str().unwrap(), "worker", "scripted", "--script", "'\"\\%$"]);
        let mut command = home.program(&program);
        command.args(["service", "install", "--print", "--for", "linux", "--", "--worker", &worker]);
        let shown = ended(command);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let units: Vec<_> = printed(&shown.stdout)
            .into_iter()
            .map(|(path, content)| {
                let unit = home.path(folder).join(path.file_name().unwrap());
                fs::write(&unit, content).unwrap();
                unit
            })
            .collect();
        assert_eq!(units.len(), 2);
        let mut verify = home.program("systemd-analyze");
        verify.args(["verify", "--user", "--man=no"]).args(&units);
        let told = ended(verify);
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{folder}: {shown:?}");
        let broken = fs::read_to_string(&units[0]).unwrap().replace("/oam", "/nothing");
        fs::write(&units[0], broken).unwrap();
        let mut verify = home.program("systemd-analyze");
        verify.args(["verify", "--user", "--man=no"]).args(&units);
        assert_ne!(ended(verify).code, Some(0), "it looks at the program");
    }
}

#[test]
fn the_files_of_each_system_can_be_shown_anywhere() {
    let home = Home::new();
    let mac = home.run(["service", "install", "--print", "--for", "macos"]);
    assert_eq!(mac.code, Some(0), "{mac:?}");
    let files = printed(&mac.stdout);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, home.path("Library/LaunchAgents/org.openapplemodels.oam.plist"));
    let socket = home.path("Library/Application Support/oam/oam.sock");
    assert!(files[0].1.contains(&format!("<string>{}</string>", socket.display())), "{mac:?}");
    let linux = home.run(["service", "install", "--print", "--for", "linux"]);
    assert_eq!(printed(&linux.stdout).len(), 2, "{linux:?}");
    // It is not killed while turns that may go on do so.
    for (system, ends) in [("macos", "<integer>80</integer>"), ("linux", "TimeoutStopSec=80\n")] {
        let told = home.run(["service", "install", "--print", "--for", system, "--", "--drain", "59.5"]);
        assert!(told.stdout.contains(ends), "{told:?}");
    }
}
