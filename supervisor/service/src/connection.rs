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
const BEGINNING_TIME: Duration = Duration::from_secs(1);
const LONGEST_BEGINNING: usize = 4 << 10;

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
    /// Whether the client begins with one of the service's own methods, which are for those who look after it; they may say
    /// who they are before. Waits for what it says first.
    pub(crate) async fn asks_about_the_service(&mut self) -> bool {
        let mut stream = &self.stream;
        let beginning = async {
            while first_method(&self.read).is_none() && self.read.len() < LONGEST_BEGINNING {
                if stream.read_buf(&mut self.read).await? == 0 {
                    break;
                }
            }
            Ok::<_, io::Error>(())
        };
        // What came until then is enough, or is not.
        let _ = timeout(BEGINNING_TIME, beginning).await;
        first_method(&self.read).is_some_and(|method| method.starts_with("service/"))
    }
}

/// The method of the first whole line that is not an introduction; of what is no request, nothing.
fn first_method(read: &[u8]) -> Option<String> {
    let lines = read.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    let methods = lines.map(|line| match parse_line(line) {
        Ok(Some(Incoming::Request { method, .. })) => method.to_string(),
        _ => String::new(),
    });
    methods.into_iter().find(|method| method != "initialize")
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
    if matches!(end, End::Shutdown | End::EndOfInput) {
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
