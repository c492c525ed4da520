use tokio::io::{DuplexStream, duplex, repeat};

use super::*;
use crate::{
    outbox::OutboxLimits,
    transport::test_connection::{TestConnection, words},
};

const NO_SIGNALS: fn() -> mpsc::Receiver<StopSignal> = || mpsc::channel(1).1;

/// Serves `input` to the end and returns what was said.
async fn serve_all(input: impl AsyncRead + Unpin + Send) -> (End, Vec<String>) {
    let (connection, messages) = TestConnection::new();
    let (output, mut client) = duplex(1 << 20);
    let end = serve(input, output, messages, &connection, pending(), &mut NO_SIGNALS()).await;
    let mut said = Vec::new();
    client.read_to_end(&mut said).await.unwrap();
    (end, words(&said))
}

async fn read_words(mut client: DuplexStream) -> Vec<String> {
    let mut said = Vec::new();
    client.read_to_end(&mut said).await.unwrap();
    words(&said)
}

#[tokio::test]
async fn lines_are_received_in_order_up_to_the_end_of_input() {
    let (end, words) = serve_all(&b"one\ntwo\n\nlast"[..]).await;
    assert_eq!(end, End::EndOfInput);
    assert_eq!(words, ["one", "two", "", "last"]);
}

#[tokio::test]
async fn an_oversized_line_is_told_and_the_service_goes_on() {
    let line = repeat(b'x').take(MAX_LINE_BYTES as u64 + 1);
    let (_, words) = serve_all((&b"one\n"[..]).chain(line).chain(&b"\ntwo\n"[..])).await;
    assert_eq!(words, ["one", "more than 67108864", "two"]);
}

#[tokio::test]
async fn the_end_of_input_waits_for_what_was_asked() {
    let (connection, messages) = TestConnection::new();
    let (output, client) = duplex(1 << 20);
    let (end, ()) = tokio::join!(
        async {
            serve(&b"work\none\n"[..], output, messages, &connection, pending(), &mut NO_SIGNALS()).await
        },
        async {
            connection.has_received("one").await;
            connection.settle("worked");
        }
    );
    assert_eq!(end, End::EndOfInput);
    assert_eq!(read_words(client).await, ["one", "worked"]);
}

#[tokio::test]
async fn a_shutdown_ends_the_connection_after_its_answer() {
    let (connection, messages) = TestConnection::new();
    let (output, client) = duplex(1 << 20);
    let (mut client_input, input) = duplex(64);
    client_input.write_all(b"one\nend\n").await.unwrap();
    let end = serve(input, output, messages, &connection, pending(), &mut NO_SIGNALS()).await;
    assert_eq!(end, End::Shutdown);
    assert_eq!(read_words(client).await, ["one", "bye"]);
}

#[tokio::test]
async fn a_client_that_stops_reading_is_still_heard() {
    let (connection, messages) = TestConnection::new();
    let (output, client) = duplex(16);
    let (mut client_input, input) = duplex(1 << 10);
    let sending = async {
        for _ in 0..1000 {
            client_input.write_all(b"question\n").await.unwrap();
        }
        client_input.write_all(b"cancel\nend\n").await.unwrap();
        connection.has_received("cancel").await;
        read_words(client).await
    };
    let mut no_signals = NO_SIGNALS();
    let (end, words) =
        tokio::join!(serve(input, output, messages, &connection, pending(), &mut no_signals), sending);
    assert_eq!(end, End::Shutdown);
    assert_eq!(words.len(), 1002);
}

#[tokio::test]
async fn a_client_that_never_reads_is_given_up() {
    let limits = OutboxLimits { merge_growth_above: 1, overflow_above: 1000 };
    let (connection, messages) = TestConnection::with_limits(limits);
    let (output, _client) = duplex(16);
    let questions = b"question\n".repeat(1000);
    let end = serve(&questions[..], output, messages, &connection, pending(), &mut NO_SIGNALS()).await;
    assert_eq!(end, End::Overflowed);
}

#[tokio::test]
async fn a_signal_cancels_and_answers() {
    let (connection, messages) = TestConnection::new();
    let (output, client) = duplex(1 << 20);
    let (mut client_input, input) = duplex(64);
    let (signals, mut stop) = mpsc::channel(2);
    client_input.write_all(b"work\n").await.unwrap();
    let (end, ()) = tokio::join!(serve(input, output, messages, &connection, pending(), &mut stop), async {
        connection.has_received("work").await;
        signals.send(StopSignal::Interrupt).await.unwrap();
    });
    assert_eq!(end, End::Stopped(StopSignal::Interrupt));
    assert_eq!(read_words(client).await, ["cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_signal_does_not_wait_long_for_a_client_that_does_not_read() {
    let (connection, messages) = TestConnection::new();
    let (output, _client) = duplex(16);
    let (_client_input, input) = duplex(64);
    let (signals, mut stop) = mpsc::channel(2);
    connection.say("more than fits in sixteen bytes");
    signals.send(StopSignal::Terminate).await.unwrap();
    let start = tokio::time::Instant::now();
    let end = serve(input, output, messages, &connection, pending(), &mut stop).await;
    assert_eq!(end, End::Stopped(StopSignal::Terminate));
    assert_eq!(start.elapsed().as_secs(), FLUSH_TIME.as_secs());
}

#[tokio::test(start_paused = true)]
async fn the_second_signal_ends_at_once() {
    let (connection, messages) = TestConnection::new();
    let (output, _client) = duplex(16);
    let (_client_input, input) = duplex(64);
    let (signals, mut stop) = mpsc::channel(2);
    connection.say("more than fits in sixteen bytes");
    signals.send(StopSignal::Terminate).await.unwrap();
    signals.send(StopSignal::Terminate).await.unwrap();
    let start = tokio::time::Instant::now();
    let end = serve(input, output, messages, &connection, pending(), &mut stop).await;
    assert_eq!(end, End::Stopped(StopSignal::Terminate));
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test]
async fn a_closed_output_ends_the_connection_at_once() {
    let (connection, messages) = TestConnection::new();
    let (output, client) = duplex(1 << 10);
    drop(client);
    let end = serve(&b"work\none\n"[..], output, messages, &connection, pending(), &mut NO_SIGNALS()).await;
    assert_eq!(end, End::OutputClosed);

    let (connection, messages) = TestConnection::new();
    let (output, _client) = duplex(1 << 10);
    let gone = connection.has_received("work");
    let end = serve(&b"work\n"[..], output, messages, &connection, gone, &mut NO_SIGNALS()).await;
    assert_eq!(end, End::OutputClosed);
}
