//! How a server starts, comes back and ends.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use serde_json::json;
use tokio::net::{TcpStream, UnixStream};

use super::client::{
    LIMIT, Log, Wire, completions, config, eventually, get, hi, post, post_to, start, start_paused,
    streamed_hi, watch_states,
};
use crate::{Recovery, Server, ServerConfig, ServerState, StartError, TcpAddress};

#[tokio::test]
async fn a_unix_socket_is_its_owners_alone_and_goes_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let server = start(ServerConfig { tcp: None, socket: Some(path.clone()), ..config() }).await;
    assert_eq!(server.tcp_address(), None);
    assert_eq!(server.socket_path(), Some(&*path));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut wire = Wire::new(UnixStream::connect(&path).await.unwrap());
    assert_eq!(wire.ask(post(&hi(), "")).await.status, 200);
    server.stop().await;
    assert!(!path.exists());
    assert_eq!(server.state(), ServerState::Stopped { reason: None });
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let config = ServerConfig { tcp: None, socket: Some(path.clone()), ..config() };
    let server = start(config.clone()).await;
    let taken = Server::start(config.clone(), completions(&json!([]))).await;
    assert!(matches!(taken, Err(StartError::Socket { .. })), "{taken:?}");
    assert_eq!(
        Wire::new(UnixStream::connect(&path).await.unwrap()).ask(get("/health", "")).await.status,
        200
    );
    server.stop().await;
    for put in [put_file, put_directory, put_link] {
        put(&path);
        let error = Server::start(config.clone(), completions(&json!([]))).await.unwrap_err();
        assert!(error.to_string().contains("not a socket"), "{error}");
        assert!(path.symlink_metadata().is_ok());
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}

fn put_file(path: &std::path::Path) {
    std::fs::write(path, "precious").unwrap();
}

fn put_directory(path: &std::path::Path) {
    std::fs::create_dir(path).unwrap();
}

fn put_link(path: &std::path::Path) {
    std::os::unix::fs::symlink("/nowhere", path).unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_listen_says_where_and_why() {
    let server = start(config()).await;
    let address = TcpAddress { host: "127.0.0.1".to_owned(), port: server.tcp_address().unwrap().port() };
    let taken = ServerConfig { tcp: Some(address.clone()), ..config() };
    let error = Server::start(taken, completions(&json!([]))).await.unwrap_err();
    let StartError::Tcp { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    let nowhere = ServerConfig { tcp: None, ..config() };
    let error = Server::start(nowhere, completions(&json!([]))).await.unwrap_err();
    assert!(matches!(error, StartError::NoListener));
}

#[tokio::test]
async fn a_server_listens_at_ipv6_too() {
    let tcp = Some(TcpAddress { host: "[::1]".to_owned(), port: 0 });
    let server = start(ServerConfig { tcp, ..config() }).await;
    assert!(server.tcp_address().unwrap().is_ipv6());
    assert_eq!(Wire::connect(&server).await.ask(get("/health", "")).await.status, 200);
}

/// What makes a server end although answers are under way.
#[derive(Debug, Clone, Copy)]
enum Cut {
    NoTime,
    TimeIsOver,
    Hurried,
    Dropped,
}

impl Cut {
    const ALL: [Self; 4] = [Self::NoTime, Self::TimeIsOver, Self::Hurried, Self::Dropped];

    fn config(self) -> ServerConfig {
        let drain = match self {
            Self::NoTime => Duration::ZERO,
            Self::TimeIsOver => Duration::from_millis(20),
            Self::Hurried | Self::Dropped => Duration::from_hours(1),
        };
        ServerConfig { drain, ..config() }
    }

    async fn end(self, server: Server) {
        let cut = async {
            tokio::task::yield_now().await;
            if matches!(self, Self::Hurried) {
                server.cut();
            }
        };
        if !matches!(self, Self::Dropped) {
            tokio::time::timeout(LIMIT, async { tokio::join!(server.stop(), cut) }).await.expect("the end");
            assert_eq!(server.state(), ServerState::Stopped { reason: None });
            assert_eq!(server.open_connections(), 0);
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_ends_with_an_error() {
    for cut in Cut::ALL {
        for (path, last) in
            [("/v1/chat/completions", "data: [DONE]\n\n"), ("/v1/responses", "\"code\":\"server_error\"")]
        {
            let (server, _model) = start_paused(cut.config()).await;
            let mut wire = Wire::connect(&server).await;
            let body =
                json!({ "messages": [{ "role": "user", "content": "Hi" }], "input": "Hi", "stream": true });
            wire.send(post_to(path, &body, "")).await;
            assert_eq!(wire.answer_head().await.status, 200);
            while !wire.piece().await.contains("one") {}
            cut.end(server).await;
            let rest = String::from_utf8(wire.rest().await).unwrap();
            assert!(rest.contains(r#""code":"server_stopping""#) && rest.contains(last), "{cut:?}: {rest}");
            assert!(rest.ends_with("\r\n0\r\n\r\n"), "{cut:?}: {rest}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_an_error() {
    for cut in Cut::ALL {
        let completions = completions(&json!([{ "text": "late", "delayMs": 3_600_000 }]));
        let server = Server::start(cut.config(), completions.clone()).await.unwrap();
        let mut wire = Wire::connect(&server).await;
        wire.send(post(&hi(), "")).await;
        eventually("handled", || completions.active() == 1).await;
        cut.end(server).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, &*answer.code()), (503, "server_stopping"), "{cut:?}");
        assert_eq!((answer.header("connection"), answer.header("retry-after")), (Some("close"), Some("1")));
        wire.assert_ended().await;
    }
}

#[tokio::test]
async fn a_body_that_still_arrives_is_cut_with_an_error() {
    for cut in Cut::ALL {
        for (field, beginning) in
            [("Content-Length: 100", "{\"mess"), ("Transfer-Encoding: chunked", "6\r\n{\"mess\r\n")]
        {
            let server = start(cut.config()).await;
            let mut wire = Wire::connect(&server).await;
            let head =
                "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
            wire.send(format!("{head}\r\n{field}\r\n\r\n{beginning}")).await;
            eventually("it arrives", || server.buffered_bytes() > 0).await;
            cut.end(server).await;
            let answer = wire.answer().await;
            assert_eq!((answer.status, &*answer.code()), (503, "server_stopping"), "{cut:?}, {field}");
            assert_eq!(
                (answer.header("connection"), answer.header("retry-after")),
                (Some("close"), Some("1"))
            );
            wire.assert_ended().await;
        }
    }
}

#[tokio::test]
async fn nobody_waits_for_a_client_that_does_not_read_that_it_is_cut() {
    // More than the sockets take.
    let completions = completions(&json!([{ "text": "x".repeat(16 << 20), "chunks": 2 }]));
    let server = Server::start(config(), completions.clone()).await.unwrap();
    let mut wire = Wire::connect(&server).await;
    wire.send(post(&streamed_hi(), "")).await;
    assert_eq!(wire.answer_head().await.status, 200);
    eventually("all has been said", || completions.active() == 0).await;
    Cut::NoTime.end(server).await;
    assert!(!wire.rest().await.ends_with(b"0\r\n\r\n"), "it got all");
}

#[tokio::test]
async fn an_answer_that_is_cut_while_it_is_sent_is_no_answer_in_the_log() {
    // More than the sockets take.
    let steps = json!([{ "text": "x".repeat(16 << 20), "chunks": 2 }]);
    for (body, told) in [(hi(), "→ 200 (given up) "), (streamed_hi(), "→ 200 (stream, given up) ")] {
        let (log, _guard) = Log::capture();
        let config = config();
        let metrics = config.metrics.clone();
        let completions = completions(&steps);
        let server = Server::start(config, completions.clone()).await.unwrap();
        let mut wire = Wire::connect(&server).await;
        wire.send(post(&body, "")).await;
        assert_eq!(wire.answer_head().await.status, 200);
        eventually("all has been said", || completions.active() == 0).await;
        assert!(!log.text().contains("→ 200"), "{}", log.text());
        Cut::NoTime.end(server).await;
        assert!(log.text().contains(told), "{}", log.text());
        let counted = r#"oam_turns_total{outcome="given_up"} 1"#;
        let numbers = metrics.text().await;
        assert!(numbers.contains(counted), "{numbers}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_its_answer_has_given_up() {
    let (log, _guard) = Log::capture();
    let server =
        Server::start(config(), completions(&json!([{ "text": "x".repeat(16 << 20) }]))).await.unwrap();
    let mut wire = Wire::connect(&server).await;
    wire.send(post(&hi(), "")).await;
    assert_eq!(wire.answer_head().await.status, 200);
    drop(wire);
    eventually("it is noticed", || log.text().contains("→ 200 (given up) ")).await;
    server.stop().await;
}

#[tokio::test]
async fn a_stop_lets_a_stream_end() {
    let (server, model) = start_paused(ServerConfig { drain: LIMIT, ..config() }).await;
    let mut idle = Wire::connect(&server).await;
    assert_eq!(idle.ask(get("/health", "")).await.status, 200);
    let mut unused = Wire::connect(&server).await;
    let mut wire = Wire::connect(&server).await;
    wire.send(post(&streamed_hi(), "")).await;
    assert_eq!(wire.answer_head().await.status, 200);
    let address = server.tcp_address().unwrap();
    let client = async {
        idle.assert_ended().await;
        unused.assert_ended().await;
        assert!(TcpStream::connect(address).await.is_err());
        model.go_on();
        let mut text = String::new();
        while !text.ends_with("data: [DONE]\n\n") {
            text += &wire.piece().await;
        }
        assert!(text.contains(" two"), "{text}");
        assert_eq!(wire.rest().await, b"0\r\n\r\n");
    };
    tokio::join!(server.stop(), client);
    assert_eq!(server.state(), ServerState::Stopped { reason: None });
}

#[tokio::test]
async fn a_dropped_server_is_gone() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    assert_eq!(wire.ask(get("/health", "")).await.status, 200);
    drop(server);
    wire.assert_ended().await;
}

#[tokio::test]
async fn a_listener_that_fails_comes_back_at_its_port() {
    let (log, _guard) = Log::capture();
    let mut config = config();
    let mut states = watch_states(&mut config);
    let server = start(config).await;
    let address = server.tcp_address().unwrap();
    assert_eq!(states.recv().await, Some(ServerState::Running));
    server.faults().break_listener();
    let Some(ServerState::Restarting { attempt: 1, reason }) = states.recv().await else {
        panic!("not restarting")
    };
    assert!(!reason.is_empty() && log.text().contains("ERROR"), "{}", log.text());
    assert_eq!(states.recv().await, Some(ServerState::Running));
    assert_eq!(server.tcp_address(), Some(address));
    assert_eq!(Wire::connect(&server).await.ask(get("/health", "")).await.status, 200);
    server.stop().await;
    assert_eq!(states.recv().await, Some(ServerState::Stopped { reason: None }));
}

#[tokio::test]
async fn a_server_whose_socket_was_replaced_stops_and_leaves_the_file_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let recovery = Recovery { attempts: 2, first_delay: Duration::from_millis(1) };
    let mut config = ServerConfig { tcp: None, socket: Some(path.clone()), recovery, ..config() };
    let mut states = watch_states(&mut config);
    let server = start(config).await;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "precious").unwrap();
    server.faults().break_listener();
    let reason = tokio::time::timeout(LIMIT, server.stopped()).await.unwrap().unwrap();
    assert!(reason.contains("not a socket"), "{reason}");
    assert_eq!(server.state(), ServerState::Stopped { reason: Some(reason) });
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    drop(server);
    let mut restarts = 0;
    while let Some(state) = states.recv().await {
        restarts += u32::from(matches!(state, ServerState::Restarting { .. }));
    }
    assert_eq!(restarts, 2);
}
