//! The status for people: a label and what there is to say, line by line.

use std::fmt::Write as _;

use serde_json::Value;

use super::ServiceStatus;
use crate::{
    console::counted,
    labelled::{Lines, quoted},
    service::{command, starts::FailedStart},
};

pub(super) fn of(status: &ServiceStatus) -> String {
    let mut lines = Lines::default();
    match (&status.service, &status.silent, status.process) {
        (Some(service), ..) => lines.add("Service", &running(service)),
        (None, Some(silent), None) => lines.add("Service", &format!("says nothing: {silent}")),
        (None, Some(silent), Some(process)) => {
            lines.add("Service", &format!("process {process} says nothing: {silent}"));
        }
        (None, None, Some(process)) => {
            lines.add("Service", &format!("ending: process {process} listens no more"));
        }
        (None, None, None) if status.gave_up => {
            lines.add("Service", "not running: it gave up after starts that failed");
        }
        (None, None, None) if !status.installed.is_empty() => {
            lines.add("Service", "not running; it is started when a program connects");
        }
        (None, None, None) => lines.add("Service", "not running"),
    }
    lines.add("Socket", &status.socket.display().to_string());
    if status.installed.is_empty() {
        lines.add("Installed", "no");
    }
    for (index, path) in status.installed.iter().enumerate() {
        let who = format!("{}, {}", status.manager, path.display());
        lines.add(if index == 0 { "Installed" } else { "" }, &who);
    }
    if let Some(service) = &status.service {
        add_service(&mut lines, service);
    }
    lines.add("Data", &status.data.display().to_string());
    if let Some(log) = &status.log {
        lines.add("Log", &log.display().to_string());
    }
    for (index, start) in status.failed_starts.iter().enumerate() {
        lines.add(if index == 0 { "Failed" } else { "" }, &failed(start));
    }
    if let Some(what) = to_do(status) {
        lines.add("To do", &what);
    }
    lines.into_text()
}

fn to_do(status: &ServiceStatus) -> Option<String> {
    let command = |words| command(words, status.named.as_deref());
    let start = command("start");
    if status.process.is_some() {
        return match (status.silent.is_some(), status.installed.is_empty()) {
            (false, _) => None,
            (true, true) => Some(format!("{}, if it stays so, then: {start}", command("stop --kill"))),
            (true, false) => Some(format!("{}, if it stays so", command("restart"))),
        };
    }
    match (status.running, status.gave_up, status.installed.is_empty()) {
        (false, true, _) => Some(format!("Put right what the last start failed for, then: {start}")),
        (true, ..) | (false, false, false) => None,
        (false, false, true) if status.named.is_some() => Some(start),
        (false, false, true) => {
            Some(format!("{start}, or oam service install to have the system start it when it is needed"))
        }
    }
}

fn failed(start: &FailedStart) -> String {
    let when = std::time::UNIX_EPOCH + std::time::Duration::from_secs(start.at);
    let reason = start.reason.as_deref().unwrap_or("it ended without a word");
    format!("{} {reason}", humantime::format_rfc3339_seconds(when))
}

/// That it runs, in a line.
pub(crate) fn running(service: &Value) -> String {
    let mut text = format!("running: process {}, version {}", service["pid"], text_of(&service["version"]));
    let uptime = std::time::Duration::from_secs(service["uptimeSeconds"].as_u64().unwrap_or_default());
    // Writing to a text does not fail.
    let _ = write!(text, ", for {}", humantime::format_duration(uptime));
    if let Some(manager) = service["activation"].as_str() {
        let _ = write!(text, ", started by {manager}");
    }
    match service["state"].as_str() {
        None | Some("serving") => {}
        Some("handingOver") => text.push_str(", making room for another"),
        Some(state) => {
            let _ = write!(text, ", {state}");
        }
    }
    text
}

fn add_service(lines: &mut Lines, service: &Value) {
    let none = Vec::new();
    let list = |member: &str| service[member].as_array().unwrap_or(&none);
    let connections = list("connections");
    lines.add("Connections", &format!("{} of {}", connections.len(), service["maxConnections"]));
    for connection in connections {
        lines.add("", &connection_line(connection));
    }
    let realms = list("realms");
    lines.add("Realms", &format!("{} of {}", realms.len(), service["maxRealms"]));
    for realm in realms {
        lines.add("", &realm_line(realm));
    }
    lines.add("Store", &store(&service["store"]));
    let workers = &service["workers"];
    if workers.is_object() {
        let running = workers["workers"].as_array().map_or(0, Vec::len) as u64;
        let counters = &workers["counters"];
        lines.add(
            "Workers",
            &format!(
                "{}, {} waiting, breaker {}; {} played",
                counted(running, "worker"),
                counted(workers["waitingSteps"].as_u64().unwrap_or_default(), "step"),
                text_of(&workers["breaker"]),
                counted(counters["steps"].as_u64().unwrap_or_default(), "step"),
            ),
        );
        if let Some(exit) = workers["lastExits"].as_array().and_then(|exits| exits.last()) {
            let how = format!("worker {} {}", text_of(&exit["worker"]), text_of(&exit["exit"]));
            lines.add("Last exit", &how);
        }
    } else {
        lines.add("Workers", without_workers(&service["model"]));
    }
}

/// Who answers where no worker does.
fn without_workers(model: &Value) -> &'static str {
    match model["available"].as_bool() {
        Some(true) => "none: a script or a recording answers (OAM_SCRIPT)",
        Some(false) => {
            "none: turns on the model \"system\" fail; say --worker, or \"worker\" in service.json"
        }
        None => "none",
    }
}

fn connection_line(connection: &Value) -> String {
    let name = connection["client"]["name"].as_str().map_or("(no name)".into(), quoted);
    let mut text = format!("{} {name}", text_of(&connection["id"]));
    if let Some(pid) = connection["pid"].as_u64() {
        let _ = write!(text, ", process {pid}");
    }
    if let Some(realm) = connection["realm"].as_str() {
        let _ = write!(text, ", realm {}", quoted(realm));
    }
    let _ = write!(text, ", {}", counted(connection["busy"].as_u64().unwrap_or_default(), "request"));
    text
}

fn realm_line(realm: &Value) -> String {
    let mut text = quoted(realm["name"].as_str().unwrap_or_default()).into_owned();
    match (realm["objects"].as_u64(), realm["bytes"].as_u64()) {
        (Some(0), _) => text.push_str(", nothing in it"),
        (Some(objects), Some(bytes)) => {
            let _ = write!(text, ", {} on disk ({bytes} bytes)", counted(objects, "object"));
        }
        _ => {}
    }
    if realm["isLoaded"] == true {
        let count = |member: &str, what: &str| counted(realm[member].as_u64().unwrap_or_default(), what);
        let _ = write!(
            text,
            ", {}, {}, {}, {}",
            count("connections", "connection"),
            count("sessions", "session"),
            count("npcs", "NPC"),
            count("worlds", "world")
        );
    }
    text
}

fn store(store: &Value) -> String {
    let mut text = text_of(&store["state"]);
    if let Some(bytes) = store["fileBytes"].as_u64() {
        let _ = write!(text, ", {bytes} bytes");
    }
    if let Some(reason) = store["reason"].as_str() {
        let _ = write!(text, ": {reason}");
    }
    text
}

/// A text as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
