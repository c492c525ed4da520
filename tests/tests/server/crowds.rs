//! Many clients at once, and those that only take up room.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use oam_tests::{DEADLINE, pool::until, script::text};
use serde_json::json;

use crate::run::{Serving, said, serve};

const CROWD: u32 = 10_000;
/// Clients that ask before the first of them reads its answer.
const AT_ONCE: u32 = 100;
const HEALTH: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn ten_thousand_connections_stay_open_and_another_is_served() {
    let room = (CROWD + 16).to_string();
    let server = serve(["--max-connections", &room, "--client-timeout", "3600", "--log-level", "warning"]);
    let server = server.script(json!([text("Welcome, all of you.")])).listens();
    allow_descriptors(u64::from(CROWD) + 64);
    let mut crowd = Vec::new();
    for _ in 0..CROWD / AT_ONCE {
        let mut newcomers: Vec<_> = (0..AT_ONCE).map(|_| connect(&server)).collect();
        for client in &mut newcomers {
            client.write_all(HEALTH).unwrap();
        }
        for client in &mut newcomers {
            expect_success(client);
        }
        crowd.append(&mut newcomers);
    }
    let answer = server.complete(said("Is there room for one more?")).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "Welcome, all of you.");
    for client in crowd.iter_mut().step_by(AT_ONCE as usize) {
        client.write_all(HEALTH).unwrap();
        expect_success(client);
    }
    server.until_number("oam_connections", f64::from(CROWD) + 1.0);
    assert_eq!(server.number("oam_connections_refused_total"), Some(0.0));
    drop(crowd);
    server.until_number("oam_connections", 1.0);
    assert_eq!(server.stops(), "");
}

#[test]
fn clients_that_never_finish_a_request_are_cut_and_there_is_room_again() {
    let arguments = ["--client-timeout", "1", "--max-connections", "4"];
    let server = serve(arguments).script(json!([text("You were quick.")])).listens();
    let beginnings: [&[u8]; 4] = [
        b"",
        b"GET /health HTT",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow:",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ];
    let slow = beginnings.map(|beginning| {
        let mut client = connect(&server);
        client.write_all(beginning).unwrap();
        client
    });
    for client in slow {
        assert_eq!(rest(client), "");
    }
    until("there is room again", || server.get("/health").status == 200);
    assert_eq!(server.complete(said("Am I in time?")).status, 200);
    server.stops();
}

#[test]
fn a_head_without_end_is_refused_when_it_is_too_large() {
    let server = serve([]).script(json!([text("Hello.")])).listens();
    let mut client = connect(&server);
    let mut sent = b"GET /health HTTP/1.1\r\nHost: localhost\r\n".to_vec();
    while sent.len() <= 64 * 1024 {
        sent.extend_from_slice(format!("X-Field-{}: {}\r\n", sent.len(), "x".repeat(1000)).as_bytes());
    }
    client.write_all(&sent).unwrap();
    let answer = rest(client);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(answer.contains("connection: close") && answer.contains("malformed_request"), "{answer}");
    // One that does not stop to hear that.
    let mut client = connect(&server);
    let error = loop {
        if let Err(error) = client.write_all(&sent) {
            break error;
        }
    };
    assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
    assert_eq!(server.complete(said("Hello?")).status, 200);
    server.stops();
}

fn connect(server: &Serving) -> TcpStream {
    let connection = TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens");
    connection.set_read_timeout(Some(DEADLINE)).unwrap();
    connection
}

/// Reads an answer, which keeps the connection.
fn expect_success(client: &mut TcpStream) {
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    // The body is an object without others in it.
    while !answer.ends_with(b"}") {
        let count = client.read(&mut piece).expect("an answer comes");
        assert_ne!(count, 0, "the connection ended: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..count]);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("connection: keep-alive"),
        "{answer}"
    );
}

/// What comes until the connection ends.
fn rest(mut client: TcpStream) -> String {
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("the connection ends");
    answer
}

/// Lets this process have so many descriptors.
fn allow_descriptors(wanted: u64) {
    let (limit, highest) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(highest >= wanted, "this test needs {wanted} descriptors, and may have {highest} (ulimit -Hn)");
    setrlimit(Resource::RLIMIT_NOFILE, limit.max(wanted), highest).unwrap();
}
