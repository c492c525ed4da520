//! Hand-over: how one service asks another to make room for it, and how that one answers.
//!
//! The new service asks with `service/handover` on a connection that it keeps. The old one promises, and goes on as before
//! until that connection ends. Then it looks whether its socket is still in its place: if another is there, it has been
//! replaced, and ends. A new service that dies on the way has changed nothing.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    time::timeout,
};

use crate::socket::{self, Stream};

/// How long the service may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The service that runs is going to make room, as soon as this is dropped.
#[derive(Debug)]
pub(crate) struct Promise {
    drain: Duration,
    _connection: BufReader<Stream>,
}

impl Promise {
    /// How long it may keep its realms.
    pub(crate) fn drain(&self) -> Duration {
        self.drain
    }
}

/// Asks the service at `path`. The error says why it does not make room.
pub(crate) async fn ask(path: &Path) -> Result<Promise, String> {
    timeout(ANSWER_TIME, exchange(path)).await.unwrap_or_else(|_| Err("it does not answer".to_owned()))
}

async fn exchange(path: &Path) -> Result<Promise, String> {
    let mut stream = socket::connect(path).await.map_err(|error| error.to_string())?;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "service/handover"});
    stream.write_all(format!("{request}\n").as_bytes()).await.map_err(|error| error.to_string())?;
    let mut connection = BufReader::new(stream);
    let mut line = String::new();
    (&mut connection).take(LONGEST_ANSWER).read_line(&mut line).await.map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| format!("it answered {line:?}"))?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(message.to_owned());
    }
    let drain = answer["result"]["drainSeconds"].as_f64().ok_or_else(|| format!("it answered {line:?}"))?;
    let drain = Duration::try_from_secs_f64(drain).map_err(|error| error.to_string())?;
    Ok(Promise { drain, _connection: connection })
}
