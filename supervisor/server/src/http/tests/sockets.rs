//! Connections: what goes over them, how long they stay, and what a client can hold up.

use std::{num::NonZeroUsize, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::client::{
    LIMIT, Wire, config, eventually, get, hi, post, start, start_paused, start_with, streamed_hi,
};
use crate::{HttpLimits, Server, ServerConfig};

/// One step that takes longer than any test.
fn endless() -> Value {
    json!({ "fallback": { "text": "late", "delayMs": 3_600_000 } })
}

async fn active_requests(server: &Server) -> u64 {
    let answer = Wire::connect(server).await.ask(get("/health", "Connection: close\r\n")).await;
    answer.json()["active_requests"].as_u64().unwrap()
}

async fn until_active(server: &Server, count: u64) {
    let wait = async {
        while active_requests(server).await != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap_or_else(|_| panic!("never {count} active requests"));
}

/// A body of one-byte chunks, with its end.
fn one_byte_chunks(body: &str) -> String {
    let chunks: Vec<_> = body.chars().map(|character| format!("1\r\n{character}\r\n")).collect();
    chunks.concat() + "0\r\n\r\n"
}

fn with_request_time(request_time: Duration) -> ServerConfig {
    ServerConfig { limits: HttpLimits { request_time, ..HttpLimits::default() }, ..config() }
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_in_order() {
    let steps = json!([{ "text": "one" }, { "text": "two" }]);
    let server = start_with(config(), &steps).await;
    let mut wire = Wire::connect(&server).await;
    for text in ["one", "two"] {
        let answer = wire.ask(post(&hi(), "")).await;
        assert_eq!(answer.json()["choices"][0]["message"]["content"], text);
        assert_eq!(answer.header("connection"), Some("keep-alive"));
    }
    wire.send([get("/v1/models", ""), get("/v1/models/system", "Connection: close\r\n")].concat()).await;
    let first = wire.answer().await;
    assert_eq!((first.status, first.header("connection")), (200, Some("keep-alive")));
    assert_eq!(first.json()["object"], "list");
    let last = wire.answer().await;
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    assert_eq!(last.json()["id"], "system");
    wire.assert_ended().await;
}

#[tokio::test]
async fn pipelined_bodies_stay_with_their_requests_however_they_are_cut() {
    let steps = json!([{ "text": "one" }, { "text": "two" }, { "text": "three" }]);
    for piece in [1, 3, 16, 100, usize::MAX] {
        let server = start_with(config(), &steps).await;
        let mut wire = Wire::connect(&server).await;
        let body = hi().to_string();
        let chunks = one_byte_chunks(&body);
        let chunked = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: \
             chunked\r\n\r\n{chunks}"
        );
        let bytes = [post(&hi(), ""), chunked.into_bytes(), post(&hi(), "Connection: close\r\n")].concat();
        for part in bytes.chunks(piece.min(bytes.len())) {
            wire.send(part).await;
            tokio::task::yield_now().await;
        }
        for text in ["one", "two", "three"] {
            assert_eq!(
                wire.answer().await.json()["choices"][0]["message"]["content"],
                text,
                "pieces of {piece}"
            );
        }
        wire.assert_ended().await;
    }
}

#[tokio::test]
async fn a_stream_ends_and_the_connection_goes_on() {
    let steps = json!([{ "text": "Hello, you there", "chunks": 5 }, { "text": "two" }]);
    let server = start_with(config(), &steps).await;
    let mut wire = Wire::connect(&server).await;
    let stream = wire.ask(post(&streamed_hi(), "")).await;
    for (name, value) in [
        ("content-type", Some("text/event-stream; charset=utf-8")),
        ("cache-control", Some("no-cache")),
        ("x-accel-buffering", Some("no")),
        ("transfer-encoding", Some("chunked")),
        ("content-length", None),
        ("connection", Some("keep-alive")),
    ] {
        assert_eq!(stream.header(name), value, "{name}");
    }
    assert_eq!(stream.streamed_text(), "Hello, you there");
    assert_eq!(wire.ask(post(&hi(), "")).await.json()["choices"][0]["message"]["content"], "two");
}

#[tokio::test]
async fn a_stream_for_http_1_0_ends_with_the_connection() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    let request = String::from_utf8(post(&streamed_hi(), "")).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    let stream = wire.ask(request).await;
    assert_eq!((stream.header("transfer-encoding"), stream.header("connection")), (None, Some("close")));
    assert_eq!(stream.streamed_text(), "Hello");
}

#[tokio::test]
async fn a_silent_stream_carries_comments_if_wanted() {
    for keep_alive in [Some(Duration::from_millis(5)), None] {
        let (server, model) = start_paused(ServerConfig { keep_alive, ..config() }).await;
        let mut wire = Wire::connect(&server).await;
        wire.send(post(&streamed_hi(), "")).await;
        let stream = wire.answer_head().await;
        assert_eq!(stream.status, 200);
        let mut text = String::new();
        while !text.contains("one") {
            text += &wire.piece().await;
        }
        for _ in 0..if keep_alive.is_some() { 2 } else { 0 } {
            assert_eq!(wire.piece().await, ": keep-alive\n\n");
        }
        model.go_on();
        while !text.ends_with("data: [DONE]\n\n") {
            text += &wire.piece().await;
        }
        let is_event =
            |event: &str| event.starts_with("data: ") || (keep_alive.is_some() && event.starts_with(": "));
        assert!(text.split_terminator("\n\n").all(is_event), "{text}");
    }
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let steps = json!([{ "text": "one" }, { "text": "two" }]);
    let server = start_with(config(), &steps).await;
    let mut wire = Wire::connect(&server).await;
    let body = hi().to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    wire.send(format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len())).await;
    assert_eq!(wire.answer().await.status, 100);
    wire.send(&body).await;
    assert_eq!(wire.answer().await.json()["choices"][0]["message"]["content"], "one");
    wire.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
    let (first, second) = body.split_at(10);
    wire.send(format!("a\r\n{first}\r\n")).await;
    wire.send(format!("{:x}\r\n{second}\r\n0\r\n\r\n", second.len())).await;
    assert_eq!(wire.answer().await.json()["choices"][0]["message"]["content"], "two");
}

#[tokio::test]
async fn errors_of_requests_have_their_status_and_leave_the_connection_open() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    let mut unknown = hi();
    unknown["model"] = json!("nope");
    let answer = wire.ask(post(&unknown, "")).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "model_not_found"));
    let broken = String::from_utf8(post(&json!(0), "")).unwrap();
    let answer = wire.ask(format!("{}{{", &broken[..broken.len() - 1])).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_json"));
    assert_eq!(wire.ask(post(&hi(), "")).await.status, 200);
}

#[tokio::test]
async fn many_small_chunks_make_one_body_and_nothing_of_it_is_kept() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    let mut body = hi();
    body["user"] = json!("x".repeat(20_000));
    let chunks = one_byte_chunks(&body.to_string());
    wire.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        .await;
    wire.send("Transfer-Encoding: chunked\r\n\r\n").await;
    for piece in chunks.as_bytes().chunks(7) {
        wire.send(piece).await;
        assert!(server.buffered_bytes() < 256 * 1024, "{}", server.buffered_bytes());
    }
    assert_eq!(wire.answer().await.status, 200);
    assert_eq!(server.buffered_bytes(), 0);
}

#[tokio::test]
async fn who_does_not_deliver_a_request_in_time_is_cut() {
    let server = start(with_request_time(Duration::from_millis(200))).await;
    let half_body = post(&hi(), "");
    for bytes in [&b""[..], b"GET /health HT", b"\r\n", &half_body[..half_body.len() - 1]] {
        let mut wire = Wire::connect(&server).await;
        wire.send(bytes).await;
        wire.assert_ended().await;
    }
    let mut idle = Wire::connect(&server).await;
    assert_eq!(idle.ask(get("/health", "")).await.status, 200);
    idle.assert_ended().await;
}

#[tokio::test]
async fn a_byte_now_and_then_does_not_keep_a_connection() {
    let server = start(with_request_time(Duration::from_millis(300))).await;
    let (mut reader, mut writer) =
        tokio::io::split(TcpStream::connect(server.tcp_address().unwrap()).await.unwrap());
    let drip = async {
        writer.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ").await.unwrap();
        while writer.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let end = async {
        let mut rest = Vec::new();
        let _ = reader.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    };
    let cut = async {
        tokio::select! { () = drip => {}, () = end => {} }
    };
    tokio::time::timeout(LIMIT, cut).await.expect("the connection to be cut");
    eventually("closed", || server.open_connections() == 0).await;
}

#[tokio::test]
async fn an_answer_takes_as_long_as_it_takes() {
    let steps = json!([{ "text": "late", "delayMs": 500 }]);
    let server = start_with(with_request_time(Duration::from_millis(100)), &steps).await;
    let answer = Wire::connect(&server).await.ask(post(&hi(), "")).await;
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "late");
}

#[tokio::test]
async fn a_connection_too_many_is_told_so_and_does_not_count() {
    let limits = HttpLimits { connections: NonZeroUsize::new(2).unwrap(), ..HttpLimits::default() };
    let server = start(ServerConfig { limits, ..config() }).await;
    let mut first = Wire::connect(&server).await;
    let mut second = Wire::connect(&server).await;
    assert_eq!(first.ask(get("/health", "")).await.status, 200);
    assert_eq!(second.ask(get("/health", "")).await.status, 200);
    let mut third = Wire::connect(&server).await;
    let answer = third.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_connections"));
    assert_eq!((answer.header("connection"), answer.header("retry-after")), (Some("close"), Some("1")));
    third.assert_ended().await;
    assert_eq!(server.open_connections(), 2);
    drop(first);
    eventually("the first connection is closed", || server.open_connections() == 1).await;
    assert_eq!(Wire::connect(&server).await.ask(get("/health", "")).await.status, 200);
}

#[tokio::test]
async fn refusals_beyond_sixteen_are_dropped_without_a_word() {
    let limits = HttpLimits { connections: NonZeroUsize::new(1).unwrap(), ..HttpLimits::default() };
    let server = start(ServerConfig { limits, ..config() }).await;
    let mut first = Wire::connect(&server).await;
    assert_eq!(first.ask(get("/health", "")).await.status, 200);
    // While this thread does not let the server run, all of them gather before its door.
    let address = server.tcp_address().unwrap();
    let sockets: Vec<_> = (0..24).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let mut told = 0;
    for socket in &sockets {
        let socket = socket.try_clone().unwrap();
        socket.set_nonblocking(true).unwrap();
        let response = Wire::new(TcpStream::from_std(socket).unwrap()).rest().await;
        assert!(response.is_empty() || response.starts_with(b"HTTP/1.1 503 "));
        told += u32::from(!response.is_empty());
    }
    assert_eq!(told, 16);
    assert_eq!(first.ask(get("/health", "")).await.status, 200);
}

#[tokio::test]
async fn bodies_that_do_not_fit_together_are_refused_and_the_others_go_on() {
    let mut body = hi();
    body["user"] = json!("x".repeat(300_000));
    let request = post(&body, "");
    let limits = HttpLimits { buffered_bytes: 400_000, largest_body: 400_000, ..HttpLimits::default() };
    let server = start(ServerConfig { limits, ..config() }).await;
    let mut first = Wire::connect(&server).await;
    let (most, rest) = request.split_at(request.len() - 1);
    first.send(most).await;
    eventually("the first body is held", || server.buffered_bytes() > 299_000).await;
    let mut second = Wire::connect(&server).await;
    second.send(most).await;
    let answer = second.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "server_overloaded"));
    assert_eq!((answer.header("connection"), answer.header("retry-after")), (Some("close"), Some("1")));
    second.assert_ended().await;
    first.send(rest).await;
    assert_eq!(first.answer().await.status, 200);
    eventually("nothing is held", || server.buffered_bytes() == 0).await;
}

#[tokio::test]
async fn bodies_with_more_values_than_fit_in_memory_are_refused_before_they_are_read() {
    let limits = HttpLimits { most_values: 1000, buffered_values: 1500, ..HttpLimits::default() };
    let server = start(ServerConfig { limits, ..config() }).await;
    let with_values = |count: usize| {
        let (mut plain, mut call) = (hi(), hi());
        plain["user"] = json!(vec![json!([0]); count / 2]);
        let arguments = json!({"user": plain["user"]}).to_string();
        call["messages"][0]["tool_calls"] = json!([{"function": {"arguments": arguments}}]);
        [plain, call]
    };
    for body in with_values(1100) {
        let mut wire = Wire::connect(&server).await;
        let request = post(&body, "");
        wire.send(&request[..request.len() - 1]).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "malformed_request"));
        wire.assert_ended().await;
    }
    for body in with_values(900) {
        let request = post(&body, "");
        let (most, rest) = request.split_at(request.len() - 1);
        let mut first = Wire::connect(&server).await;
        first.send(most).await;
        eventually("the first body is held", || server.buffered_bytes() > most.len() / 2).await;
        let mut second = Wire::connect(&server).await;
        let answer = second.ask(most).await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "server_overloaded"));
        first.send(rest).await;
        assert_eq!(first.answer().await.status, 200);
        eventually("nothing is held", || server.buffered_bytes() == 0).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_completion() {
    for streamed in [false, true] {
        let server = start_with(config(), &endless()).await;
        let body = if streamed { streamed_hi() } else { hi() };
        let mut wire = Wire::connect(&server).await;
        wire.send(post(&body, "")).await;
        until_active(&server, 1).await;
        drop(wire);
        until_active(&server, 0).await;
        eventually("closed", || server.open_connections() == 0).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_stream_cancels_it() {
    let (server, _model) = start_paused(config()).await;
    let mut wire = Wire::connect(&server).await;
    wire.send(post(&streamed_hi(), "")).await;
    assert_eq!(wire.answer_head().await.status, 200);
    wire.piece().await;
    assert_eq!(active_requests(&server).await, 1);
    drop(wire);
    until_active(&server, 0).await;
    eventually("closed", || server.open_connections() == 0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    let server = start(with_request_time(Duration::from_millis(200))).await;
    let socket = TcpStream::connect(server.tcp_address().unwrap()).await.unwrap();
    let (reader, mut writer) = socket.into_split();
    let requests = get("/v1/models", "").repeat(1000);
    while writer.write_all(&requests).await.is_ok() {}
    eventually("cut", || server.open_connections() == 0).await;
    drop(reader);
}

#[tokio::test]
async fn a_client_that_leaves_behind_half_a_request_cancels_its_completion() {
    let server = start_with(config(), &endless()).await;
    let mut wire = Wire::connect(&server).await;
    wire.send(post(&hi(), "")).await;
    until_active(&server, 1).await;
    wire.send(&post(&hi(), "")[..40]).await;
    drop(wire);
    until_active(&server, 0).await;
    eventually("closed", || server.open_connections() == 0).await;
}

#[tokio::test]
async fn a_client_that_closed_its_side_before_still_gets_its_answers() {
    let server = start_with(config(), &json!([{ "text": "one", "delayMs": 100 }, { "text": "two" }])).await;
    let socket = std::net::TcpStream::connect(server.tcp_address().unwrap()).unwrap();
    // While this thread does not let the server run, all of it is there when the server looks.
    std::io::Write::write_all(&mut &socket, &[post(&hi(), ""), post(&hi(), "")].concat()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut wire = Wire::new(TcpStream::from_std(socket).unwrap());
    for (text, connection) in [("one", "keep-alive"), ("two", "close")] {
        let answer = wire.answer().await;
        assert_eq!(answer.json()["choices"][0]["message"]["content"], text);
        assert_eq!(answer.header("connection"), Some(connection));
    }
    wire.assert_ended().await;
}
