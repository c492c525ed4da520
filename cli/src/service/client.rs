//! Asking the service something of itself: one request on a connection of its own.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use oam_agent::json_text;
use serde_json::{Value, json};

use crate::failure::Failure;

/// How long the service may take to say something.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longer answers are no answers.
const LONGEST_ANSWER: u64 = 64 << 20;
const ID: u64 = 1;

/// Asks whoever listens at this socket. `None` if nobody does.
pub(crate) fn ask(socket: &Path, method: &str, params: &Value) -> Result<Option<Value>, Failure> {
    let stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(failed(socket, &error)),
    };
    exchange(&stream, method, params).map_err(|error| failed(socket, &error))?.map(Some)
}

/// Whether a failed connect means that nobody is there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn failed(socket: &Path, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not answer".to_owned(),
        io::ErrorKind::UnexpectedEof => "it ended the connection".to_owned(),
        _ => error.to_string(),
    };
    Failure::io(format!("the service at {}: {reason}", socket.display()))
}

fn exchange(mut stream: &UnixStream, method: &str, params: &Value) -> io::Result<Result<Value, Failure>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let introduction = json!({"client": {"name": "oam", "version": env!("CARGO_PKG_VERSION")}});
    for (id, method, params) in [(0, "initialize", &introduction), (ID, method, params)] {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        stream.write_all(format!("{}\n", json_text::compact(&request)).as_bytes())?;
    }
    for line in BufReader::new(io::Read::take(stream, LONGEST_ANSWER)).lines() {
        let message: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let is_answer = message["id"] == ID || (message["id"].is_null() && message.get("error").is_some());
        if !is_answer {
            continue;
        }
        return Ok(match message.get("error") {
            None => Ok(message["result"].clone()),
            Some(error) => {
                Err(Failure::io(error["message"].as_str().unwrap_or("the service refuses").to_owned()))
            }
        });
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
