//! What single requests get: routes, keys, origins, host names.

use futures_util::FutureExt;
use serde_json::json;
use tokio::net::UnixStream;

use super::client::{
    Log, Wire, completions_of, config, eventually, get, hi, loopback, post, post_to, scripted, start,
};
use crate::{Server, ServerConfig, TcpAddress};

#[tokio::test]
async fn models_and_health_are_listed() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    for path in ["/v1/models", "/models", "/v1/models/", "/v1/models?limit=1"] {
        let list = wire.ask(get(path, "")).await;
        assert_eq!(list.status, 200, "{path}");
        let body = list.json();
        let ids: Vec<_> =
            body["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["system", "gpt-4o-mini"]);
        assert!(body["data"].as_array().unwrap().iter().all(|model| model["object"] == "model"));
    }
    let alias = wire.ask(get("/v1/models/gpt%2D4o-mini", "")).await;
    assert_eq!((alias.status, &alias.json()["parent"]), (200, &json!("system")));
    let unknown = wire.ask(get("/v1/models/nope", "")).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "model_not_found"));
    assert_eq!(unknown.header("connection"), Some("keep-alive"));
    for path in ["/health", "/healthz", "/v1/health"] {
        let health = wire.ask(get(path, "")).await;
        assert_eq!((health.status, &health.json()["status"]), (200, &json!("ok")), "{path}");
    }
}

#[tokio::test]
async fn responses_are_served_whole_and_streamed() {
    let config = config();
    let metrics = config.metrics.clone();
    let server = start(config).await;
    let mut wire = Wire::connect(&server).await;
    for path in ["/v1/responses", "/responses"] {
        let whole = wire.ask(post_to(path, &json!({ "input": "Hi" }), "")).await;
        let body = whole.json();
        assert_eq!((whole.status, &body["output"][0]["content"][0]["text"]), (200, &json!("Hello")));
    }
    let body = json!({ "input": "Hi", "stream": true });
    let streamed = wire.ask(post_to("/v1/responses", &body, "")).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let text = String::from_utf8(streamed.body).unwrap();
    assert!(text.starts_with("event: response.created\ndata: {"), "{text}");
    assert!(text.contains("\n\nevent: response.completed\ndata: {"), "{text}");
    let refused = wire.ask(post_to("/v1/responses", &json!({}), "")).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "missing_required_parameter"));
    drop(wire);
    for counted in [
        r#"oam_requests_total{route="responses",status="200"} 3"#,
        r#"oam_turns_total{outcome="answered"} 3"#,
    ] {
        let is_counted = || metrics.text().now_or_never().is_some_and(|text| text.contains(counted));
        eventually(counted, is_counted).await;
    }
}

#[tokio::test]
async fn every_response_says_who_when_and_whether_the_connection_stays() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    for request in [get("/health", ""), post(&hi(), ""), post(&json!({}), ""), get("/v1/models/nope", "")] {
        let answer = wire.ask(request).await;
        assert_eq!(answer.version, "HTTP/1.1");
        assert!(answer.header("server").unwrap().starts_with("oam/"));
        assert!(answer.header("date").unwrap().ends_with(" GMT"));
        assert_eq!(answer.header("connection"), Some("keep-alive"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn head_gets_the_head_of_get() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    for path in ["/v1/models", "/v1/models/system", "/health", "/v1/models/nope"] {
        let whole = wire.ask(get(path, "")).await;
        wire.send(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        let head = wire.answer_to("HEAD").await;
        assert_eq!(head.status, whole.status);
        for name in ["content-type", "content-length", "connection"] {
            assert_eq!(head.header(name), whole.header(name), "{path} {name}");
        }
    }
}

#[tokio::test]
async fn wrong_paths_methods_and_types_are_refused() {
    let server = start(config()).await;
    for (request, status, code, allow) in [
        (get("/v1/embeddings", ""), 404, "unknown_url", None),
        (get("/", ""), 404, "unknown_url", None),
        (get("/v1/chat/completions", ""), 405, "method_not_allowed", Some("POST")),
        (
            b"DELETE /v1/models/system HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            405,
            "method_not_allowed",
            Some("GET"),
        ),
        (
            b"get /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            405,
            "method_not_allowed",
            Some("GET"),
        ),
        (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 404, "unknown_url", None),
        (get("/v1/responses", ""), 405, "method_not_allowed", Some("POST")),
        (get("/v1/responses/resp_1", ""), 404, "unknown_url", None),
        (
            b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            415,
            "unsupported_media_type",
            None,
        ),
        (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            415,
            "unsupported_media_type",
            None,
        ),
        (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/json\r\n\r\n"
                .to_vec(),
            415,
            "unsupported_media_type",
            None,
        ),
    ] {
        let mut wire = Wire::connect(&server).await;
        let answer = wire.ask(&request).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{}",
            String::from_utf8_lossy(&request)
        );
        assert_eq!((answer.header("allow"), answer.header("connection")), (allow, Some("close")));
        wire.assert_ended().await;
    }
}

#[tokio::test]
async fn json_with_parameters_is_json() {
    let server = start(config()).await;
    let mut wire = Wire::connect(&server).await;
    for path in ["/v1/chat/completions", "/chat/completions", "/v1/chat/completions/"] {
        let body = hi().to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\ncontent-type: Application/JSON; charset=utf-8\r\nContent-Length: \
             {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(wire.ask(request).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn only_allowed_origins_get_answers() {
    let allowed_origins = vec!["http://localhost:3000".to_owned()];
    let server = start(ServerConfig { allowed_origins, ..config() }).await;
    for request in [
        get("/v1/models", "Origin: http://evil.example\r\n"),
        get("/health", "Origin: null\r\n"),
        get("/health", "Origin: http://localhost:3000/\r\n"),
        get("/nowhere", "Origin: http://evil.example\r\n"),
        get("/health", "Origin: http://localhost:3000\r\nOrigin: http://evil.example\r\n"),
        b"OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n".to_vec(),
    ] {
        let answer = Wire::connect(&server).await.ask(&request).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (403, "origin_not_allowed"),
            "{}",
            String::from_utf8_lossy(&request)
        );
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let mut wire = Wire::connect(&server).await;
    for (path, status) in [("/v1/models", 200), ("/v1/models/nope", 404), ("/nowhere", 404)] {
        let answer = wire.ask(get(path, "Origin: http://localhost:3000\r\n")).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:3000"));
        assert_eq!(answer.header("vary"), Some("Origin"));
        assert_eq!(answer.header("access-control-expose-headers"), Some("Retry-After"));
    }
}

#[tokio::test]
async fn all_origins_can_be_allowed() {
    let server = start(ServerConfig { allowed_origins: vec!["*".to_owned()], ..config() }).await;
    let answer = Wire::connect(&server).await.ask(get("/v1/models", "Origin: http://anything\r\n")).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")));
}

#[tokio::test]
async fn a_preflight_has_no_body_and_needs_no_key() {
    let allowed_origins = vec!["http://localhost:3000".to_owned()];
    let server =
        start(ServerConfig { allowed_origins, api_key: Some("secret".to_owned()), ..config() }).await;
    let mut wire = Wire::connect(&server).await;
    let preflight =
        "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\n";
    wire.send(format!("{preflight}Access-Control-Request-Headers: x-stainless-os\r\n\r\n")).await;
    let answer = wire.answer().await;
    assert_eq!(answer.status, 204);
    for (name, value) in [
        ("content-length", None),
        ("transfer-encoding", None),
        ("connection", Some("keep-alive")),
        ("allow", Some("GET, POST, OPTIONS")),
        ("access-control-allow-origin", Some("http://localhost:3000")),
        ("access-control-allow-methods", Some("GET, POST, OPTIONS")),
        ("access-control-allow-headers", Some("x-stainless-os")),
        ("access-control-max-age", Some("600")),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    let answer = wire.ask(format!("{preflight}\r\n")).await;
    assert_eq!(answer.header("access-control-allow-headers"), Some("Authorization, Content-Type"));
    let answer = wire.ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((answer.status, answer.header("access-control-allow-methods")), (204, None));
    assert_eq!(wire.ask(get("/health", "")).await.status, 200);
}

#[tokio::test]
async fn a_key_opens_all_but_health() {
    let server = start(ServerConfig { api_key: Some("secret".to_owned()), ..config() }).await;
    for request in [
        post(&hi(), ""),
        post(&hi(), "Authorization: Bearer wrong\r\n"),
        post(&hi(), "Authorization: secret\r\n"),
        get("/v1/models", ""),
        get("/metrics", ""),
    ] {
        let answer = Wire::connect(&server).await.ask(request).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "invalid_api_key"));
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    let mut wire = Wire::connect(&server).await;
    assert_eq!(wire.ask(get("/health", "")).await.status, 200);
    assert_eq!(wire.ask(post(&hi(), "Authorization: bearer  secret \r\n")).await.status, 200);
    assert_eq!(wire.ask(get("/v1/models", "Authorization: Bearer secret\r\n")).await.status, 200);
}

#[tokio::test]
async fn without_a_key_any_key_will_do() {
    for api_key in [None, Some(String::new())] {
        let server = start(ServerConfig { api_key, ..config() }).await;
        let answer =
            Wire::connect(&server).await.ask(get("/v1/models", "Authorization: Bearer none\r\n")).await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn a_head_that_fails_a_check_is_answered_at_once_and_its_body_never_asked_for() {
    let allowed_origins = vec!["http://localhost:3000".to_owned()];
    let server =
        start(ServerConfig { allowed_origins, api_key: Some("secret".to_owned()), ..config() }).await;
    let json = "Content-Type: application/json\r\n";
    let key = "Authorization: Bearer secret\r\n";
    let long = "Content-Length: 4000000\r\n";
    let chat = "POST /v1/chat/completions HTTP/1.1\r\n";
    let host = "Host: localhost\r\n";
    for (head, status) in [
        (format!("{chat}{host}{json}{long}Expect: 100-continue\r\n"), 401),
        (format!("{chat}{host}{json}Authorization: Bearer wrong\r\nTransfer-Encoding: chunked\r\n"), 401),
        (format!("POST /v1/nowhere HTTP/1.1\r\n{host}{json}{key}{long}"), 404),
        (format!("PUT /v1/chat/completions HTTP/1.1\r\n{host}{json}{key}{long}"), 405),
        (format!("{chat}{host}{json}{key}{long}Origin: http://evil.example\r\n"), 403),
        (format!("{chat}Host: evil.example\r\n{json}{key}{long}"), 421),
        (format!("{chat}{host}Content-Type: text/plain\r\n{key}{long}Expect: 100-continue\r\n"), 415),
    ] {
        let mut wire = Wire::connect(&server).await;
        let answer = wire.ask(format!("{head}\r\n")).await;
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{head}");
        wire.assert_ended().await;
        assert_eq!(server.buffered_bytes(), 0);
    }
}

#[tokio::test]
async fn checks_come_in_their_order() {
    let server = start(ServerConfig { api_key: Some("secret".to_owned()), ..config() }).await;
    // Each request lacks what the one before it was refused for.
    let chat = "/v1/chat/completions";
    for (line, host, headers, status) in [
        ("POST /nowhere", "evil.example", "Origin: http://x\r\n", 421),
        ("OPTIONS /nowhere", "localhost", "Origin: http://x\r\n", 403),
        ("OPTIONS /nowhere", "localhost", "", 204),
        ("PUT /nowhere", "localhost", "", 404),
        (&format!("PUT {chat}"), "localhost", "", 405),
        (&format!("POST {chat}"), "localhost", "", 401),
        (&format!("POST {chat}"), "localhost", "Authorization: Bearer secret\r\n", 415),
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
        assert_eq!(Wire::connect(&server).await.ask(&request).await.status, status, "{request}");
    }
}

#[tokio::test]
async fn a_server_for_this_machine_answers_under_its_names() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let server = start(ServerConfig { socket: Some(socket.clone()), ..config() }).await;
    let ask = async |target: &str, host: &str| {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let tcp = Wire::connect(&server).await.ask(&request).await;
        let unix = Wire::new(UnixStream::connect(&socket).await.unwrap()).ask(&request).await;
        assert_eq!(tcp.status, unix.status, "{request}");
        if tcp.status != 200 {
            assert_eq!(tcp.code(), "invalid_host");
        }
        tcp.status
    };
    for host in
        ["localhost", "localhost:1976", "LOCALHOST", "127.0.0.1", "127.0.0.1:1976", "[::1]", "[::1]:1976"]
    {
        assert_eq!(ask("/health", host).await, 200, "{host}");
        assert_eq!(ask(&format!("http://{host}/health"), "evil.example").await, 200, "{host}");
    }
    for host in ["example.com", "127.0.0.1.nip.io", "localhost.evil.example", "", "[::2]"] {
        assert_eq!(ask("/health", host).await, 421, "{host}");
    }
    assert_eq!(ask("http://evil.example/health", "localhost").await, 421);
}

#[tokio::test]
async fn other_names_can_be_allowed() {
    let named = start(ServerConfig { allowed_hosts: vec!["studio.example".to_owned()], ..config() }).await;
    let any = start(ServerConfig { allowed_hosts: vec!["*".to_owned()], ..config() }).await;
    let everywhere = TcpAddress { host: "0.0.0.0".to_owned(), ..loopback() };
    let open = start(ServerConfig { tcp: Some(everywhere.clone()), ..config() }).await;
    let allowed_hosts = vec!["studio.example".to_owned()];
    let open_named = start(ServerConfig { tcp: Some(everywhere), allowed_hosts, ..config() }).await;
    for (server, host, status) in [
        (&named, "Studio.Example:80", 200),
        (&named, "localhost", 200),
        (&named, "other.example", 421),
        (&any, "other.example", 200),
        (&open, "other.example", 200),
        (&open_named, "studio.example", 200),
        (&open_named, "other.example", 421),
    ] {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], server.tcp_address().unwrap().port()));
        let mut wire = Wire::new(tokio::net::TcpStream::connect(address).await.unwrap());
        let answer = wire.ask(format!("GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
        assert_eq!(answer.status, status, "{host}");
    }
}

#[tokio::test]
async fn a_client_cannot_write_lines_into_the_log() {
    let (log, _guard) = Log::capture();
    let server = start(config()).await;
    let answer =
        Wire::connect(&server).await.ask(get("/a%0Ab%0Dc%1B%5B31m%E2%80%AEd%09%C3%BC%F0%9F%A6%8A", "")).await;
    assert_eq!(answer.status, 404);
    Wire::connect(&server).await.ask(get("/health", "")).await;
    eventually("both requests are logged", || log.text().contains("/health")).await;
    let log = log.text();
    assert!(log.contains("GET /a%0Ab%0Dc%1B[31m%E2%80%AEd%09ü🦊 → 404 unknown_url "), "{log}");
    assert!(!log.contains(['\r', '\u{1b}', '\u{202e}', '\t']));
    assert!(log.lines().any(|line| line.contains("INFO") && line.contains("GET /health → 200 ")), "{log}");
}

#[tokio::test]
async fn metrics_tell_what_was_done() {
    let config = config();
    let model = config.metrics.metered(scripted(&json!([{ "text": "Hello" }])));
    let server = Server::start(config, completions_of(model)).await.unwrap();
    let mut wire = Wire::connect(&server).await;
    wire.ask(post(&hi(), "")).await;
    wire.ask(get("/v1/models", "")).await;
    let metrics = wire.ask(get("/metrics", "")).await;
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = String::from_utf8(metrics.body).unwrap();
    for line in [
        r#"oam_requests_total{route="chat_completions",status="200"} 1"#,
        r#"oam_requests_total{route="models",status="200"} 1"#,
        r#"oam_turns_total{outcome="answered"} 1"#,
        "oam_turn_seconds_count 1",
        r#"oam_steps_total{outcome="finished"} 1"#,
        "oam_step_seconds_count 1",
        "oam_step_replays_total 0",
        "oam_connections 1",
        "oam_completions_active 0",
        "oam_completions_queued 0",
        "oam_request_bytes 0",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n\n{text}");
    }
}
