//! The service as systemd knows it: a unit for the user's manager, and one for its socket.

use std::path::Path;

use super::installation::Installation;
use crate::failure::Failure;

/// The unit that runs the service.
pub(crate) const SERVICE: &str = "oam.service";
/// The unit that listens for it.
pub(crate) const SOCKET: &str = "oam.socket";

/// A user's manager cannot take namespaces and capabilities away on every system, and a worker may need what is kept behind
/// them (devices, a compiler at run time); so what is taken away is what none needs. A worker that the system kills for its
/// memory is replaced by the service, which stays.
pub(super) fn service(installation: &Installation) -> Result<String, Failure> {
    let words = installation.words()?;
    let [program, arguments @ ..] = words.as_slice() else {
        return Err(Failure::usage("there is no program to start"));
    };
    if program.contains(['"', '\'', '\\']) || program.contains(char::is_control) {
        return Err(Failure::usage(format!(
            "{program}: systemd starts no program with quotes or backslashes in its path; put oam somewhere else"
        )));
    }
    // With the colon, `$` means itself.
    let command = [format!(":{program}")].into_iter().chain(arguments.iter().cloned());
    let command = command.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ");
    let path = installation.path_variable.as_ref();
    let exit_time = installation.exit_time.as_secs();
    let environment =
        path.map_or_else(String::new, |path| format!("Environment={}\n", quoted(&format!("PATH={path}"))));
    Ok(format!(
        "\
[Unit]
Description=oam, agents and game characters on on-device language models
Requires={SOCKET}
After={SOCKET}
StartLimitIntervalSec=600
StartLimitBurst=20

[Service]
Type=notify
ExecStart={command}
ExecReload=kill -HUP $MAINPID
{environment}Restart=on-failure
RestartSec=1
WatchdogSec=30
TimeoutStopSec={exit_time}
KillMode=mixed
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictSUIDSGID=yes
"
    ))
}

/// In the user's folder for what lives as long as the login, which is `%t`, it moves with that.
pub(super) fn socket(path: &Path, runtime_folder: Option<&Path>) -> Result<String, Failure> {
    let in_runtime_folder = runtime_folder.and_then(|folder| path.strip_prefix(folder).ok());
    let (prefix, path) = match in_runtime_folder {
        Some(rest) => ("%t/", rest),
        None => ("", path),
    };
    let path = path.to_str().filter(|path| !path.contains(['\n', '\r']) && path.trim() == *path);
    let path = path
        .ok_or_else(|| Failure::usage("--socket: a unit cannot hold this path; name another one"))?
        .replace('%', "%%");
    Ok(format!(
        "\
[Unit]
Description=The socket of oam

[Socket]
ListenStream={prefix}{path}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
"
    ))
}

/// The command line in a unit of ours.
pub(super) fn words(unit: &str) -> Result<Vec<String>, String> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart="));
    let words = unquoted(line.ok_or("there is no ExecStart")?)?;
    let strip = |(index, word): (usize, String)| match word.strip_prefix(':') {
        Some(program) if index == 0 => program.to_owned(),
        _ => word,
    };
    Ok(words.into_iter().enumerate().map(strip).collect())
}

/// A word as a unit holds it: quoted unless it is plain, with everything that means something else escaped.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,+@".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// The words in a line of [`quoted`] words.
fn unquoted(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            '%' if characters.next() == Some('%') => word.get_or_insert_default().push('%'),
            '%' => return Err("a unit with specifiers is not ours".to_owned()),
            '\\' => word.get_or_insert_default().push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other @ ('"' | '\\')) => other,
                _ => return Err("a unit with other escapes is not ours".to_owned()),
            }),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    if is_quoted { Err("a quote is not closed".to_owned()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_is_quoted_as_systemd_reads_it() {
        for (word, expected) in [
            ("--managed", "--managed"),
            ("/usr/bin/oam", "/usr/bin/oam"),
            ("", r#""""#),
            ("My Games", r#""My Games""#),
            ("100%", r#""100%%""#),
            ("$HOME", r#""$HOME""#),
            (r#"a"b\c"#, r#""a\"b\\c""#),
            ("a\nb", r#""a\nb""#),
            ("'; rm", r#""'; rm""#),
            ("ü", r#""ü""#),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    proptest! {
        #[test]
        fn whatever_the_words_are_they_come_back(program in "/[^\\pC\"'\\\\]{1,20}", arguments in proptest::collection::vec("[^\0]{0,20}", 0..5)) {
            let installation = Installation {
                program: PathBuf::from(&program),
                arguments: arguments.clone(),
                socket: PathBuf::from("/run/oam.sock"),
                output: PathBuf::from("/oam.out"),
                exit_time: Duration::from_secs(30),
                path_variable: Some("/bin".to_owned()),
            };
            let unit = service(&installation).unwrap();
            let expected: Vec<_> =
                [program, "service".to_owned(), "run".to_owned(), "--managed".to_owned()].into_iter().chain(arguments).collect();
            prop_assert_eq!(words(&unit).unwrap(), expected);
        }
    }

    #[test]
    fn a_socket_is_named_as_a_unit_names_it() {
        for (path, expected) in [
            ("/run/user/7/oam/oam.sock", "%t/oam/oam.sock"),
            ("/run/user/7/100%.sock", "%t/100%%.sock"),
            ("/srv/100%/my oam.sock", "/srv/100%%/my oam.sock"),
        ] {
            let unit = socket(Path::new(path), Some(Path::new("/run/user/7"))).unwrap();
            assert!(unit.contains(&format!("\nListenStream={expected}\n")), "{unit}");
        }
        assert!(socket(Path::new("/srv/a\nb"), None).is_err());
    }
}
