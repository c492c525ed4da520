//! The service as launchd knows it: a property list with the keys that launchd.plist(5) documents.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::installation::Installation;
use crate::failure::Failure;

/// The name of the job.
pub(crate) const LABEL: &str = "org.openapplemodels.oam";
/// The name under which the service asks for its socket.
const SOCKET: &str = oam_service::LAUNCHD_SOCKET;
/// Seconds between two starts.
const THROTTLE: u64 = 10;

/// What is written, and read back.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Job {
    label: String,
    program_arguments: Vec<String>,
    environment_variables: BTreeMap<String, String>,
    sockets: BTreeMap<String, Socket>,
    run_at_load: bool,
    keep_alive: KeepAlive,
    throttle_interval: u64,
    exit_time_out: u64,
    /// A player waits for what a character says: the job is treated as an app in use. `Background`, and `Adaptive`
    /// without XPC, would be given less of processor and disk. While nobody asks anything it costs the same.
    process_type: String,
    umask: u32,
    standard_out_path: String,
    standard_error_path: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Socket {
    sock_path_name: String,
    sock_path_mode: u32,
}

/// A service that ends well wants to be started by its socket only. `Crashed` was seen not to restart anything.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeepAlive {
    successful_exit: bool,
}

/// The property list.
pub(super) fn file(installation: &Installation) -> Result<String, Failure> {
    let words = installation.words()?;
    let output = text(&installation.output)?;
    let path = installation.path_variable.iter().map(|path| ("PATH".to_owned(), path.clone()));
    let socket = Socket { sock_path_name: text(&installation.socket)?, sock_path_mode: 0o600 };
    let job = Job {
        label: LABEL.to_owned(),
        program_arguments: words,
        environment_variables: path.collect(),
        sockets: BTreeMap::from([(SOCKET.to_owned(), socket)]),
        run_at_load: false,
        keep_alive: KeepAlive { successful_exit: false },
        throttle_interval: THROTTLE,
        exit_time_out: installation.exit_time.as_secs(),
        process_type: "Interactive".to_owned(),
        umask: 0o077,
        standard_out_path: output.clone(),
        standard_error_path: output,
    };
    let mut file = Vec::new();
    plist::to_writer_xml(&mut file, &job)
        .map_err(|error| Failure::io(format!("the property list cannot be made: {error}")))?;
    file.push(b'\n');
    String::from_utf8(file).map_err(|error| Failure::io(error.to_string()))
}

/// The command line in a property list.
pub(super) fn words(file: &str) -> Result<Vec<String>, String> {
    let job: Job = plist::from_bytes(file.as_bytes()).map_err(|error| error.to_string())?;
    Ok(job.program_arguments)
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{}: is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use plist::{Dictionary, Value};

    use super::*;

    /// What launchd.plist(5) says that a key holds.
    enum Kind {
        String,
        Boolean,
        Integer,
        Strings,
        StringsByName,
        Of(&'static [(&'static str, Kind)]),
        /// A dictionary for each name.
        EachOf(&'static [(&'static str, Kind)]),
    }

    const DOCUMENTED: &[(&str, Kind)] = &[
        ("Label", Kind::String),
        ("ProgramArguments", Kind::Strings),
        ("EnvironmentVariables", Kind::StringsByName),
        ("RunAtLoad", Kind::Boolean),
        ("KeepAlive", Kind::Of(&[("SuccessfulExit", Kind::Boolean)])),
        ("ThrottleInterval", Kind::Integer),
        ("ExitTimeOut", Kind::Integer),
        ("ProcessType", Kind::String),
        ("Umask", Kind::Integer),
        ("StandardOutPath", Kind::String),
        ("StandardErrorPath", Kind::String),
        ("Sockets", Kind::EachOf(&[("SockPathName", Kind::String), ("SockPathMode", Kind::Integer)])),
    ];

    fn check(found: &Dictionary, documented: &[(&str, Kind)]) {
        for (key, value) in found {
            let kind = documented.iter().find(|(name, _)| name == key);
            let (_, kind) = kind.unwrap_or_else(|| panic!("launchd documents no {key}"));
            check_value(key, value, kind);
        }
    }

    fn check_value(key: &str, value: &Value, kind: &Kind) {
        let is_text = |value: &Value| value.as_string().is_some();
        let fits = match kind {
            Kind::String => is_text(value),
            Kind::Boolean => value.as_boolean().is_some(),
            Kind::Integer => value.as_unsigned_integer().is_some(),
            Kind::Strings => value.as_array().is_some_and(|items| items.iter().all(is_text)),
            Kind::StringsByName => value.as_dictionary().is_some_and(|items| items.values().all(is_text)),
            Kind::Of(members) => {
                check(value.as_dictionary().unwrap_or_else(|| panic!("{key}: {value:?}")), members);
                true
            }
            Kind::EachOf(members) => {
                for one in value.as_dictionary().unwrap().values() {
                    check(one.as_dictionary().unwrap(), members);
                }
                true
            }
        };
        assert!(fits, "{key}: {value:?}");
    }

    fn installation(program: &str, arguments: &[&str]) -> Installation {
        Installation {
            program: PathBuf::from(program),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            socket: PathBuf::from("/Users/ada/Library/Application Support/oam/oam.sock"),
            output: PathBuf::from("/Users/ada/Library/Logs/oam/oam.out"),
            exit_time: Duration::from_secs(30),
            path_variable: Some("/usr/bin:/bin".to_owned()),
        }
    }

    #[test]
    fn the_property_list_has_keys_that_launchd_documents_with_the_types_that_it_documents() {
        let file = file(&installation("/usr/local/bin/oam", &[])).unwrap();
        let parsed: Value = plist::from_bytes(file.as_bytes()).unwrap();
        let job = parsed.as_dictionary().unwrap();
        check(job, DOCUMENTED);
        let value = |key: &str| job.get(key).unwrap_or_else(|| panic!("{key} is missing"));
        assert_eq!(value("Label").as_string(), Some(LABEL));
        assert!(
            ["Background", "Standard", "Adaptive", "Interactive"]
                .contains(&value("ProcessType").as_string().unwrap())
        );
        assert_eq!(value("RunAtLoad").as_boolean(), Some(false));
        let keep_alive = value("KeepAlive").as_dictionary().unwrap();
        assert_eq!(keep_alive.get("SuccessfulExit").and_then(Value::as_boolean), Some(false));
        let sockets = value("Sockets").as_dictionary().unwrap();
        let socket = sockets.get(SOCKET).and_then(Value::as_dictionary).unwrap();
        assert_eq!(socket.get("SockPathMode").and_then(Value::as_unsigned_integer), Some(384));
    }

    #[test]
    fn whatever_the_words_are_they_come_back() {
        let program = "/Users/ada/My Games & <more>/oam";
        let arguments =
            ["--worker", "env A='1 2' worker \"%h\" $HOME", "--data", "/Users/ada/\u{e4}\u{1f409}"];
        let file = file(&installation(program, &arguments)).unwrap();
        let expected = [program, "service", "run", "--managed"].into_iter().chain(arguments);
        assert_eq!(words(&file).unwrap(), expected.map(str::to_owned).collect::<Vec<_>>());
    }
}
