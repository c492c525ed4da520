//! One connection: a bridge of its own on a stream.

use std::{
    io::{self, Cursor},
    os::fd::AsFd,
    time::Duration,
};

use oam_bridge::{
    Bridge, BridgeConfig, BridgeError,
    message::{Incoming, Outgoing, parse_line},
    transport::{End, StopSignal, reader_gone, serve},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{mpsc, watch},
    time::{timeout, timeout_at},
};

use crate::{
    connections::Place,
    phase::Phase,
    socket::{Stream, end_writing},
};

/// How long a client that is turned away has to read why, and how much of what it sent is looked past.
const FAREWELL_TIME: Duration = Duration::from_secs(1);
const MOST_UNREAD: u64 = 1 << 20;

/// How long a client for which there is no place has to say what it wants, and how much it may say.
const FIRST_WORDS_TIME: Duration = Duration::from_secs(1);
const LONGEST_FIRST_WORDS: usize = 4 << 10;

/// A stream, and what was read of it already.
#[derive(Debug)]
pub(crate) struct Opening {
    stream: Stream,
    read: Vec<u8>,
}

impl From<Stream> for Opening {
    fn from(stream: Stream) -> Self {
        Self { stream, read: Vec::new() }
    }
}

impl Opening {
    /// Whether the client begins with one of the service's own methods, which are for those who look after it. Waits for
    /// its first line, and for one more if that introduces it.
    pub(crate) async fn asks_about_the_service(&mut self) -> bool {
        let mut stream = &self.stream;
        let first_words = async {
            while begins_with_service(&self.read).is_none() && self.read.len() < LONGEST_FIRST_WORDS {
                if stream.read_buf(&mut self.read).await? == 0 {
                    break;
                }
            }
            Ok::<_, io::Error>(())
        };
        // What has come until then counts.
        let _ = timeout(FIRST_WORDS_TIME, first_words).await;
        begins_with_service(&self.read).unwrap_or(false)
    }
}

/// Whether the first request behind `initialize` is for the service itself; `None` if it has not come yet.
fn begins_with_service(read: &[u8]) -> Option<bool> {
    let end = read.iter().rposition(|byte| *byte == b'\n')?;
    read[..end].split(|byte| *byte == b'\n').find_map(|line| match parse_line(line) {
        Ok(Some(Incoming::Request { method, .. })) if method == "initialize" => None,
        Ok(Some(Incoming::Request { method, .. })) => Some(method.starts_with("service/")),
        Ok(None) => None,
        _ => Some(false),
    })
}

/// Serves a connection until its client, its end of time or the service ends it.
pub(crate) async fn run(
    Opening { stream, read }: Opening,
    place: Place,
    config: BridgeConfig,
    phase: watch::Receiver<Phase>,
) -> io::Result<()> {
    let read = Cursor::new(read);
    let (bridge, messages) = Bridge::connect(config);
    place.connection.has_bridge(bridge.clone());
    let reader_gone = reader_gone(stream.as_fd().try_clone_to_owned()?)?;
    let (stop, mut stopped) = mpsc::channel(1);
    let end = tokio::select! {
        biased;
        end = serve(read.chain(&stream), &stream, messages, &bridge, reader_gone, &mut stopped) => end,
        never = end_in_time(&place, &bridge, phase, stop) => match never {},
    };
    let is_asked_for = match end {
        End::EndOfInput => true,
        // The end of a realm that has lost a change comes in the same way.
        End::Shutdown => timeout(Duration::ZERO, bridge.wait_until_shut_down()).await.is_ok(),
        _ => false,
    };
    if is_asked_for {
        end_in_order(&stream).await;
    }
    drop(stream);
    // Some ends cancel nothing, and nobody is left who could be told.
    bridge.shut_down().await;
    Ok(())
}

/// Ends what is sent first, and the rest when the client has seen that: so it can tell an end that it asked for from the end
/// of the service, which comes both ways at once.
async fn end_in_order(stream: &Stream) {
    let farewell = async {
        end_writing(stream)?;
        tokio::io::copy(&mut stream.take(MOST_UNREAD), &mut tokio::io::sink()).await
    };
    let _ = timeout(FAREWELL_TIME, farewell).await;
}

/// Asks the connection to end once the service does not go on and its turns have ended.
async fn end_in_time(
    place: &Place,
    bridge: &Bridge,
    mut phase: watch::Receiver<Phase>,
    stop: mpsc::Sender<StopSignal>,
) -> std::convert::Infallible {
    let deadline = loop {
        let deadline = phase.borrow_and_update().deadline_of_connection(place.connection.realm().is_some());
        match deadline {
            Some(deadline) => break deadline,
            None if phase.changed().await.is_err() => std::future::pending().await,
            None => {}
        }
    };
    if timeout_at(deadline, bridge.idle()).await.is_err() {
        tracing::warn!(busy = bridge.unanswered(), "the time is over, and what still runs is cancelled");
    }
    // A full channel means that it has been said.
    let _ = stop.try_send(StopSignal::Terminate);
    std::future::pending().await
}

/// Says why a connection is not served, and ends it. A client that does not read hears nothing.
pub(crate) async fn turn_away(Opening { mut stream, .. }: Opening, error: BridgeError) {
    let mut line = Outgoing::Error { id: None, error: &error }.to_text();
    line.push('\n');
    let farewell = async {
        stream.write_all(line.as_bytes()).await?;
        end_writing(&stream)?;
        // What is unread when a socket is closed turns its end into an error for the client.
        tokio::io::copy(&mut (&stream).take(MOST_UNREAD), &mut tokio::io::sink()).await
    };
    let _ = timeout(FAREWELL_TIME, farewell).await;
}

/// The error of a connection that finds the service full.
pub(crate) fn too_many(limit: usize) -> BridgeError {
    let message = format!("The service has {limit} connections, and may have no more; try again later.");
    BridgeError::extension(-32060, "too_many_connections", message)
        .with("limit", limit)
        .with("retryable", true)
}

/// The error of a connection that comes when the service ends.
pub(crate) fn stopping() -> BridgeError {
    BridgeError::extension(-32061, "service_stopping", "The service is stopping; connect again.")
        .with("retryable", true)
}
