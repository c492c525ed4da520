//! What is no HTTP, or no HTTP of this server, and what is although it looks odd.

use proptest::{prelude::*, test_runner::TestRunner};

use super::client::{Answer, Wire, config, eventually, get, hi, post, start, streamed_hi};
use crate::{HttpLimits, ServerConfig};

/// A head that ends before the blank line, for a chat completion.
const CHAT: &str =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

fn small_limits() -> ServerConfig {
    ServerConfig {
        limits: HttpLimits { largest_head: 1024, largest_body: 64, ..HttpLimits::default() },
        ..config()
    }
}

fn chunked(chunks: &str) -> String {
    format!("{CHAT}Transfer-Encoding: chunked\r\n\r\n{chunks}")
}

/// Requests that are refused, and with which status.
fn refused() -> Vec<(&'static str, u16, Vec<u8>)> {
    let large_head = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: {}\r\n\r\n", "a".repeat(1024));
    let many_fields = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(101));
    let host = |line: &str| format!("{line}\r\nHost: localhost\r\n\r\n");
    let field = |field: &str| format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n");
    let body = |fields: &str, body: &str| format!("{CHAT}{fields}\r\n\r\n{body}");
    let chunk_size = |size: &str| chunked(&format!("{size}\r\n{}\r\n0\r\n\r\n", "x".repeat(5)));
    let mut cases = vec![
        ("garbage", 400, "garbage\r\n\r\n".to_owned()),
        ("garbage without an end", 400, "\u{16}\u{3}\u{1}".to_owned()),
        ("no version", 400, host("GET /health")),
        ("two spaces", 400, host("GET  /health HTTP/1.1")),
        ("two spaces before the version", 400, host("GET /health  HTTP/1.1")),
        ("no target", 400, host("GET HTTP/1.1")),
        ("a blank behind the version", 400, host("GET /health HTTP/1.1 ")),
        ("a method that is no token", 400, host("G@T /health HTTP/1.1")),
        ("a blank before the method", 400, host(" GET /health HTTP/1.1")),
        ("letters beyond ASCII in the target", 400, host("GET /hëalth HTTP/1.1")),
        ("a control character in the target", 400, host("GET /\u{7f} HTTP/1.1")),
        ("a target that is no path", 400, host("GET health HTTP/1.1")),
        ("digits beyond ASCII in the version", 400, host("GET /health HTTP/١.١")),
        ("a sign in the version", 400, host("GET /health HTTP/+1.1")),
        ("a version in small letters", 400, host("GET /health http/1.1")),
        ("a version with two digits", 400, host("GET /health HTTP/1.10")),
        ("a later version", 505, host("GET /health HTTP/2.0")),
        ("an older version", 505, host("GET /health HTTP/0.9")),
        ("the preface of HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("a blank in a header name", 400, field("X A: b")),
        ("a blank before a colon", 400, field("X-A : b")),
        ("an empty header name", 400, field(": b")),
        ("no colon", 400, field("X-A")),
        ("a folded line", 400, field("X-A: b\r\n c")),
        ("a line folded with a tab", 400, field("X-A: b\r\n\tc")),
        ("a first line that is folded", 400, "GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n".to_owned()),
        ("a NUL in a value", 400, field("X-A: b\0c")),
        ("a CR in a value", 400, field("X-A: b\rc")),
        ("no Host", 400, "GET /health HTTP/1.1\r\n\r\n".to_owned()),
        ("two hosts", 400, field("Host: localhost")),
        (
            "two hosts in HTTP/1.0",
            400,
            "GET /health HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n".to_owned(),
        ),
        ("a length that is no number", 400, body("Content-Length: abc", "")),
        ("a length with a sign", 400, body("Content-Length: +5", "12345")),
        ("a negative length", 400, body("Content-Length: -1", "")),
        ("an empty length", 400, body("Content-Length:", "")),
        ("a list of lengths", 400, body("Content-Length: 5, 5", "12345")),
        ("a length in digits beyond ASCII", 400, body("Content-Length: ٥", "12345")),
        ("a length of 19 digits", 400, body("Content-Length: 0000000000000000005", "12345")),
        ("two lengths", 400, body("Content-Length: 5\r\nContent-Length: 6", "12345")),
        ("length and chunked", 400, body("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("chunked and length", 400, body("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")),
        ("chunked in HTTP/1.0", 400, chunked("0\r\n\r\n").replace("HTTP/1.1", "HTTP/1.0")),
        ("another coding", 501, body("Transfer-Encoding: gzip", "")),
        ("another coding before chunked", 501, body("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")),
        ("chunked twice", 501, body("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("chunked and more", 501, body("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", "0\r\n\r\n")),
        ("an empty coding", 501, body("Transfer-Encoding:", "")),
        ("a length over the limit", 413, body("Content-Length: 65", "")),
        ("a chunk over the limit", 413, chunked("41\r\n")),
        (
            "chunks that together are over the limit",
            413,
            chunked(&format!("40\r\n{}\r\n1\r\n", "x".repeat(64))),
        ),
        ("a head over the limit", 431, large_head.clone()),
        ("the start of a head over the limit", 431, large_head[..1040].to_owned()),
        ("too many header fields", 431, many_fields),
        ("a target over what hyper takes", 431, format!("GET /{} HTTP/1.1\r\n", "a".repeat(70_000))),
        ("trailers over the limit", 431, chunked(&format!("0\r\nX-A: {}\r\n\r\n", "a".repeat(17_000)))),
        ("data that is longer than its chunk", 400, chunked("5\r\n123456\r\n0\r\n\r\n")),
        ("data that is shorter than its chunk", 400, chunked("5\r\n1234\r\n0\r\n\r\n")),
        ("a size line without an end", 400, chunked(&format!("5;{}", "a".repeat(1025)))),
        ("a size line that ends with LF", 400, chunked("5\n12345\r\n0\r\n\r\n")),
        ("an extension with a control character", 400, chunk_size("5;\0")),
        ("a trailer that is no field", 400, chunked("0\r\nno colon\r\n\r\n")),
    ];
    for size in ["+5", "-0", "0x5", " 5", "5 ", "", ";ext", "٥", "1_0", "zz", "0000000000000005"] {
        cases.push(("a bad chunk size", 400, chunk_size(size)));
    }
    cases.into_iter().map(|(name, status, bytes)| (name, status, bytes.into_bytes())).collect()
}

fn assert_refused(name: &str, status: u16, answer: &Answer) {
    assert_eq!(answer.status, status, "{name}");
    assert_eq!(answer.code(), "malformed_request", "{name}");
    assert_eq!(answer.header("connection"), Some("close"), "{name}");
    assert!(answer.header("server").is_some() && answer.header("date").is_some(), "{name}");
}

#[tokio::test]
async fn what_is_no_http_is_refused_with_its_status_and_the_connection_ends() {
    let server = start(small_limits()).await;
    for (name, status, bytes) in refused() {
        let mut wire = Wire::connect(&server).await;
        let answer = wire.ask(&bytes).await;
        assert_refused(name, status, &answer);
        wire.assert_ended().await;
    }
    let mut wire = Wire::connect(&server).await;
    assert_eq!(wire.ask(get("/health", "")).await.status, 200);
    assert_eq!(server.buffered_bytes(), 0);
}

#[tokio::test]
async fn what_is_no_http_is_refused_in_pieces_and_behind_other_requests_too() {
    let server = start(small_limits()).await;
    for (name, status, bytes) in refused().into_iter().filter(|(_, _, bytes)| bytes.len() < 400) {
        let mut wire = Wire::connect(&server).await;
        let mut stream = [get("/health", ""), get("/v1/models", "")].concat();
        stream.extend(&bytes);
        for piece in stream.chunks(7) {
            wire.send(piece).await;
            tokio::task::yield_now().await;
        }
        for _ in 0..2 {
            assert_eq!(wire.answer().await.status, 200, "{name}");
        }
        assert_refused(name, status, &wire.answer().await);
        wire.assert_ended().await;
    }
}

#[tokio::test]
async fn after_an_error_nothing_more_is_read_as_a_request() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    wire.send([b"garbage\r\n\r\n".to_vec(), get("/health", "")].concat()).await;
    assert_eq!(wire.answer().await.status, 400);
    wire.assert_ended().await;
}

#[tokio::test]
async fn odd_requests_that_are_http_are_served() {
    let server = start(config()).await;
    let chat = hi().to_string();
    let size = format!("{:x}", chat.len());
    let with_size = |size: &str| chunked(&format!("{size}\r\n{chat}\r\n0\r\n\r\n"));
    let cases = [
        ("blank lines first", "\r\n\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()),
        ("lines that end with LF", "GET /health HTTP/1.1\nHost: localhost\n\n".to_owned()),
        (
            "header names in any case",
            "GET /v1/models?limit=2 HTTP/1.1\r\nhOST:localhost\r\nX-Ü: \t\r\n\r\n".replace('Ü', "U"),
        ),
        (
            "letters beyond ASCII in a value",
            "GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ü\r\n\r\n".to_owned(),
        ),
        (
            "an absolute target",
            "GET http://localhost/v1/models/gpt%2D4o%2Dmini HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        ),
        (
            "an absolute target that names no host of ours in Host",
            "GET http://127.0.0.1:9/health HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
        ),
        ("HTTP/1.0 without Host", "GET /health HTTP/1.0\r\n\r\n".to_owned()),
        (
            "equal lengths",
            format!("{CHAT}Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n{chat}", chat.len()),
        ),
        ("a size in capital letters", with_size(&size.to_uppercase())),
        ("a size with zeros", with_size(&format!("{size:0>15}"))),
        ("an extension", with_size(&format!("{size};ext=1"))),
        ("a blank before an extension", with_size(&format!("{size} ;ext=1"))),
        ("a tab before an extension", with_size(&format!("{size}\t;ext=\"a\""))),
        ("chunked in any case", with_size(&size).replace("chunked", "Chunked")),
        ("trailers", chunked(&format!("{size}\r\n{chat}\r\n0\r\nX-A: b\r\nX-B: c\r\n\r\n"))),
        (
            "a body that nobody wants",
            "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        ),
        (
            "an upgrade that is not taken",
            "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                .to_owned(),
        ),
    ];
    for (name, bytes) in cases {
        for piece_length in [1, 7, usize::MAX] {
            let mut wire = Wire::connect(&server).await;
            let closes = bytes.contains("HTTP/1.0");
            for piece in bytes.as_bytes().chunks(piece_length.min(bytes.len())) {
                wire.send(piece).await;
                tokio::task::yield_now().await;
            }
            let answer = wire.answer().await;
            assert_eq!(answer.status, 200, "{name}: {}", String::from_utf8_lossy(&answer.body));
            assert_eq!(
                answer.header("connection"),
                Some(if closes { "close" } else { "keep-alive" }),
                "{name}"
            );
            if closes {
                wire.assert_ended().await;
            } else {
                assert_eq!(wire.ask(get("/health", "")).await.status, 200, "{name}, then another");
            }
        }
    }
}

#[tokio::test]
async fn http_1_0_keeps_the_connection_only_if_asked() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    for asked in
        ["Connection: Keep-Alive", "CONNECTION: x, keep-alive", "Connection: x\r\nConnection: keep-alive"]
    {
        let answer = wire.ask(format!("GET /health HTTP/1.0\r\n{asked}\r\n\r\n")).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("keep-alive")), "{asked}");
    }
    let answer = wire.ask("GET /health HTTP/1.0\r\n\r\n").await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    wire.assert_ended().await;
}

/// A change to the bytes of a request.
#[derive(Debug, Clone)]
enum Mutation {
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    let piece = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(b"\0".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Content-Length: 3\r\n".to_vec()),
        Just(b"Expect: 100-continue\r\n".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 1..8),
    ];
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (index(), piece).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        (index(), 1..20_usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (index(), 1..60_usize).prop_map(|(at, count)| Mutation::Repeat(at, count)),
        index().prop_map(Mutation::Cut),
    ]
}

fn mutated(mut bytes: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        if bytes.is_empty() {
            break;
        }
        match mutation {
            Mutation::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, piece.iter().copied());
            }
            Mutation::Remove(at, count) => {
                let at = at.index(bytes.len());
                bytes.drain(at..bytes.len().min(at + count));
            }
            Mutation::Repeat(at, count) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..bytes.len().min(at + count)].to_vec();
                bytes.splice(at..at, piece);
            }
            Mutation::Cut(at) => bytes.truncate(at.index(bytes.len())),
        }
    }
    bytes
}

#[test]
fn mutated_requests_get_no_server_errors_and_harm_nobody() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(start(config()));
    let seeds = [
        post(&hi(), ""),
        post(&streamed_hi(), "Origin: http://x\r\n"),
        post(&hi(), "Expect: 100-continue\r\n"),
        chunked("8\r\n{\"messa\r\n3;e=1\r\nges\r\n0\r\nX-T: 1\r\n\r\n").into_bytes(),
        [get("/v1/models", ""), get("/v1/models/system", "Connection: close\r\n")].concat(),
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\n\r\n".to_vec(),
    ];
    let strategy = (prop::sample::select(seeds.to_vec()), prop::collection::vec(mutation(), 1..6));
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&strategy, |(seed, mutations)| {
            let bytes = mutated(seed, &mutations);
            runtime.block_on(async {
                let mut wire = Wire::connect(&server).await;
                wire.send(&bytes).await;
                wire.finish().await;
                let response = wire.rest().await;
                for line in response.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"HTTP/1."))
                {
                    prop_assert!(
                        matches!(line[9], b'1' | b'2' | b'4')
                            || line[9..12] == *b"501"
                            || line[9..12] == *b"505"
                    );
                }
                let mut next = Wire::connect(&server).await;
                prop_assert_eq!(next.ask(get("/health", "")).await.status, 200);
                Ok(())
            })
        })
        .unwrap();
    runtime.block_on(async {
        eventually("all connections closed", || server.open_connections() == 0).await;
        assert_eq!(server.buffered_bytes(), 0);
    });
}
