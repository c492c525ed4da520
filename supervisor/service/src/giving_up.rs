//! A service that is not going to start: it leaves its manager no reason to start it again, and tells those who wait at its
//! socket.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    time::Duration,
};

use oam_bridge::{BridgeError, message::Outgoing};

use crate::{activation::Activation, manager::ManagerLink};

/// How long a client that is turned away may take to read why.
const FAREWELL_TIME: Duration = Duration::from_millis(200);
/// More than a socket's backlog holds.
const MOST_WAITING: usize = 4096;

/// Tells the manager, and everybody who waits at the socket that it handed over, that the service gives up, and why. After
/// that the process is to end with 0.
pub fn give_up(activation: Option<Activation>, reason: &str) {
    let manager = ManagerLink::of_process();
    // An end before this would count as a start that failed, and be followed by another.
    manager.ready(&format!("gave up: {reason}"));
    manager.stopping();
    let Some(activation) = activation else { return };
    if let Err(error) = turn_all_away(&activation.listener, reason) {
        tracing::warn!(%error, "those who wait at the socket cannot be told");
    }
}

/// Whoever still waited would have the manager start the service again at once.
fn turn_all_away(listener: &UnixListener, reason: &str) -> io::Result<()> {
    let message = format!("The service does not start: {reason} `oam service status` tells more.");
    let error = BridgeError::extension(-32065, "service_gave_up", message).with("reason", reason);
    let line = format!("{}\n", Outgoing::Error { id: None, error: &error }.to_text());
    listener.set_nonblocking(true)?;
    for _ in 0..MOST_WAITING {
        match listener.accept() {
            // Who is gone needs not be told.
            Ok((stream, _)) => drop(turn_away(stream, &line)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn turn_away(mut stream: UnixStream, line: &str) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(FAREWELL_TIME))?;
    stream.set_read_timeout(Some(FAREWELL_TIME))?;
    stream.write_all(line.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // What is unread when a socket is closed turns its end into an error for the client.
    let mut unread = [0; 4096];
    while stream.read(&mut unread)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;
    use crate::activation::Manager;

    #[test]
    fn whoever_waits_at_the_socket_is_told_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
        for client in &mut waiting {
            client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        }
        give_up(Some(Activation::with(Manager::Systemd, listener).unwrap()), "the disk is gone.");
        for client in waiting {
            let lines: Vec<_> = io::BufReader::new(client).lines().map(Result::unwrap).collect();
            let error: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
            assert_eq!((lines.len(), &error["error"]["data"]["code"]), (1, &"service_gave_up".into()));
            assert_eq!(error["error"]["data"]["reason"], "the disk is gone.");
        }
    }
}
