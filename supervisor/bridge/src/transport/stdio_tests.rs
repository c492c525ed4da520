use std::{
    io::{Read, Seek, Write},
    os::unix::net::UnixStream,
};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::transport::test_connection::{TestConnection, words};

async fn serve(
    handles: StdioHandles,
    messages: OutboxConsumer,
    connection: &impl Connection,
) -> io::Result<End> {
    super::serve(handles, messages, connection, &mut StopSignals::listen()?).await
}

fn is_non_blocking(fd: impl AsFd) -> bool {
    OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap()).contains(OFlag::O_NONBLOCK)
}

/// The client's ends of two pipes, and the handles to serve.
fn pipes() -> (tokio::net::unix::pipe::Sender, tokio::net::unix::pipe::Receiver, StdioHandles) {
    let (input, client_input) = io::pipe().unwrap();
    let (client_output, output) = io::pipe().unwrap();
    (
        tokio::net::unix::pipe::Sender::from_owned_fd(client_input.into()).unwrap(),
        tokio::net::unix::pipe::Receiver::from_owned_fd(client_output.into()).unwrap(),
        StdioHandles { input: input.into(), output: output.into() },
    )
}

/// The client's end of a socket, and its other end as both handles.
fn socket() -> (tokio::net::UnixStream, StdioHandles) {
    let (client, server) = UnixStream::pair().unwrap();
    client.set_nonblocking(true).unwrap();
    let handles = StdioHandles { input: server.try_clone().unwrap().into(), output: server.into() };
    (tokio::net::UnixStream::from_std(client).unwrap(), handles)
}

#[tokio::test]
async fn pipes_are_served_to_the_end_of_input() {
    let (connection, messages) = TestConnection::new();
    let (mut input, mut output, handles) = pipes();
    let client = async move {
        input.write_all(b"one\ntw").await.unwrap();
        input.write_all(b"o\nthree").await.unwrap();
        drop(input);
        let mut said = Vec::new();
        output.read_to_end(&mut said).await.unwrap();
        words(&said)
    };
    let (end, words) = tokio::join!(serve(handles, messages, &connection), client);
    assert_eq!(end.unwrap(), End::EndOfInput);
    assert_eq!(words, ["one", "two", "three"]);
}

#[tokio::test]
async fn more_goes_through_than_pipes_hold() {
    let (connection, messages) = TestConnection::new();
    let (mut input, mut output, handles) = pipes();
    let lines: Vec<_> = (0..20_000).map(|line| format!("line {line}")).collect();
    let sent = lines.join("\n");
    let (end, (), words) = tokio::join!(
        serve(handles, messages, &connection),
        async move { input.write_all(sent.as_bytes()).await.unwrap() },
        async move {
            let mut said = Vec::new();
            output.read_to_end(&mut said).await.unwrap();
            words(&said)
        }
    );
    assert_eq!(end.unwrap(), End::EndOfInput);
    assert_eq!(words, lines);
}

#[tokio::test]
async fn one_socket_may_be_both_input_and_output() {
    let (connection, messages) = TestConnection::new();
    let (mut client, handles) = socket();
    let shared = handles.input.try_clone().unwrap();
    let client = async {
        client.write_all(b"work\none\n").await.unwrap();
        client.shutdown().await.unwrap();
        connection.has_received("one").await;
        connection.settle("worked");
        let mut said = Vec::new();
        while !said.ends_with(b"}\n") || words(&said).len() < 2 {
            client.read_buf(&mut said).await.unwrap();
        }
        words(&said)
    };
    let (end, words) = tokio::join!(serve(handles, messages, &connection), client);
    assert_eq!(end.unwrap(), End::EndOfInput);
    assert_eq!(words, ["one", "worked"]);
    assert!(!is_non_blocking(&shared), "the mode of a shared socket is put back");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_noticed_while_nothing_is_written() {
    let (connection, messages) = TestConnection::new();
    let (mut input, output, handles) = pipes();
    let (end, ()) = tokio::join!(serve(handles, messages, &connection), async {
        input.write_all(b"work\n").await.unwrap();
        connection.has_received("work").await;
        drop(output);
    });
    assert_eq!(end.unwrap(), End::OutputClosed);

    // A socket: first only its output ends, then the other side goes away.
    let (connection, messages) = TestConnection::new();
    let (mut client, handles) = socket();
    let (end, ()) = tokio::join!(serve(handles, messages, &connection), async {
        client.write_all(b"work\none\n").await.unwrap();
        client.shutdown().await.unwrap();
        let mut said = [0; 8];
        client.read_exact(&mut said).await.unwrap();
        drop(client);
    });
    assert_eq!(end.unwrap(), End::OutputClosed);
}

#[tokio::test]
async fn files_are_served_too() {
    let (connection, messages) = TestConnection::new();
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(b"one\ntwo\n").unwrap();
    input.rewind().unwrap();
    let mut output = tempfile::tempfile().unwrap();
    let handles = StdioHandles { input: input.into(), output: output.try_clone().unwrap().into() };
    let end = serve(handles, messages, &connection).await.unwrap();
    assert_eq!(end, End::EndOfInput);
    let mut said = Vec::new();
    output.rewind().unwrap();
    output.read_to_end(&mut said).unwrap();
    assert_eq!(words(&said), ["one", "two"]);
}

#[tokio::test]
async fn devices_are_served_too() {
    let null = || OwnedFd::from(File::options().read(true).write(true).open("/dev/null").unwrap());
    let (connection, messages) = TestConnection::new();
    connection.say("into the void");
    let handles = StdioHandles { input: null(), output: null() };
    assert_eq!(serve(handles, messages, &connection).await.unwrap(), End::EndOfInput);

    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let (connection, messages) = TestConnection::new();
    connection.say("no room");
    let handles = StdioHandles { input: null(), output: full.into() };
    assert_eq!(serve(handles, messages, &connection).await.unwrap(), End::OutputFailed);
}
