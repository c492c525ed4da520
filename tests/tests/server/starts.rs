//! What is said at the start, and why there may be none.

use std::net::TcpListener;

use oam_tests::script::{call, text};
use serde_json::json;

use crate::run::{said, serve};

const EXTERNAL: &str = r#"[{"name": "lookup_order", "description": "The state of an order."}]"#;
const COMMAND: &str =
    r#"[{"name": "get_weather", "description": "The weather.", "x-oam": {"command": ["true"]}}]"#;

#[test]
fn a_server_that_cannot_start_says_why_and_ends_with_the_code_for_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--port", &port], 1, "cannot listen at 127.0.0.1"),
        (&["--host", "no.such.host.invalid"], 1, "no.such.host.invalid"),
        (&["--socket", "external.json"], 1, "external.json"),
        (&["--tools", "missing.json"], 2, "missing.json"),
        (&["--tools", "external.json"], 2, "'lookup_order' has no command"),
        (&["--model-alias", "gpt=other"], 2, "'other'"),
        (&["--model-alias", "gpt"], 2, "ALIAS=MODEL"),
        (&["--port", "65536"], 2, "65536"),
        (&["--max-concurrent", "0"], 2, "--max-concurrent"),
        (&["--timeout", "0"], 2, "0.001"),
        (&["--client-timeout", "0"], 2, "0.001"),
        (&["--log-level", "loud"], 2, "loud"),
        (&["--bogus"], 2, "--bogus"),
        (&["--workers", "2", "--worker", "no-such-program"], 2, "no-such-program"),
        // What is wrong with the tools is told before what is wrong with the place to listen.
        (&["--port", &port, "--tools", "external.json"], 2, "lookup_order"),
        (&["--port", &port, "--model-alias", "gpt=other"], 2, "'other'"),
    ];
    for (arguments, code, reason) in cases {
        let ended = serve(arguments.iter().copied())
            .file("external.json", EXTERNAL)
            .script(json!([text("Hello.")]))
            .ends();
        assert_eq!(ended.code, Some(*code), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(reason), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.to_lowercase().contains("error:"), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

#[test]
fn without_a_usable_model_nothing_listens() {
    let script = serve([]).file("script.json", "[{").env("OAM_SCRIPT", "script.json").ends();
    assert_eq!(script.code, Some(2), "{script:?}");
    assert!(script.stderr.contains("OAM_SCRIPT: script.json"), "{script:?}");
    // The tools are wrong, too, but the model comes first.
    let arguments = ["--worker", "oam-worker-that-ends", "--tools", "external.json"];
    let setup = serve(arguments).file("external.json", EXTERNAL);
    let path = format!("{}:{}", setup.path("").display(), std::env::var("PATH").unwrap());
    let ended = setup.program("oam-worker-that-ends", "#!/bin/sh\nexit 1\n").env("PATH", &path).ends();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{ended:?}");
    assert!(ended.stderr.contains("The model is unavailable"), "{ended:?}");
}

#[test]
fn the_first_line_tells_where_it_listens() {
    let server = serve([]).script(json!([text("Hello.")])).listens();
    let url = format!("http://127.0.0.1:{}/v1", server.port());
    let first = format!("oam serve listening on {url}  (model: system (scripted via OAM_SCRIPT))\n");
    assert!(server.banner.starts_with(&first), "{}", server.banner);
    assert!(server.banner.contains(&format!("curl {url}/chat/completions")), "{}", server.banner);
    assert!(server.banner.contains(&format!("base_url=\"{url}\"")), "{}", server.banner);
    let log = server.stops();
    assert!(log.starts_with("[info] listening at 127.0.0.1:") && log.ends_with("[info] stopped\n"), "{log}");
}

#[test]
fn an_ipv6_address_stands_in_brackets() {
    let server = serve(["--host", "::1"]).script(json!([text("Hello.")])).listens();
    assert!(server.banner.starts_with("oam serve listening on http://[::1]:"), "{}", server.banner);
    server.stops();
}

#[test]
fn with_a_socket_there_is_a_port_only_if_it_is_asked_for() {
    let server = serve(["--socket", "s"]).script(json!([text("Hello.")])).listens();
    let path = server.path("s").canonicalize().unwrap();
    let first = format!("oam serve listening on unix:{}  (model: system", path.display());
    assert!(server.banner.starts_with(&first), "{}", server.banner);
    assert!(server.banner.contains("curl --unix-socket"), "{}", server.banner);
    assert!(!server.banner.contains("listening on http"), "{}", server.banner);
    server.stops();
    let server = serve(["--socket", "s", "--port", "0"]).script(json!([text("Hello.")])).listens();
    let lines: Vec<_> = server.banner.lines().map(|line| line.split(':').next().unwrap()).take(2).collect();
    assert_eq!(lines, ["oam serve listening on http", "oam serve listening on unix"]);
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn tools_of_the_server_are_listed_and_what_is_wrong_with_them_is_logged() {
    let many: Vec<_> = (0..6)
        .map(|n| json!({"name": format!("tool_{n}"), "description": "One.", "x-oam": {"command": ["true"]}}))
        .collect();
    let server = serve(["--tools", "tools.json"])
        .file("tools.json", &json!(many).to_string())
        .script(json!([text("Hello.")]))
        .listens();
    assert!(server.banner.contains("\nTools of the server: tool_0, tool_1,"), "{}", server.banner);
    let log = server.stops();
    assert!(log.contains("[warning] 6 tools: "), "{log}");
}

#[test]
fn a_server_that_anybody_can_reach_warns_unless_it_has_a_key() {
    let script = json!([text("Hello.")]);
    let log = serve(["--host", "0.0.0.0"]).script(script.clone()).listens().stops();
    assert!(log.contains("[warning] anybody who reaches 0.0.0.0"), "{log}");
    let log = serve(["--host", "0.0.0.0", "--api-key", "k"]).script(script).listens().stops();
    assert!(!log.contains("[warning]"), "{log}");
}

#[test]
fn the_key_comes_from_the_arguments_or_else_the_environment() {
    for (arguments, variable, key) in
        [(&[][..], "moon", Some("moon")), (&["--api-key", "sun"], "moon", Some("sun")), (&[], "", None)]
    {
        let mut server = serve(arguments.iter().copied())
            .script(json!([text("Hello."), text("Hello.")]))
            .env("OAM_API_KEY", variable)
            .listens();
        assert!(!server.banner.contains("moon") && !server.banner.contains("sun"), "{}", server.banner);
        let refused = server.complete(said("Hello?"));
        match key {
            None => assert_eq!(refused.status, 200, "{refused:?}"),
            Some(key) => {
                assert_eq!((refused.status, refused.code().as_str()), (401, "invalid_api_key"));
                server.field(&format!("Authorization: Bearer {key}"));
                assert_eq!(server.complete(said("Hello?")).status, 200);
            }
        }
    }
}

#[test]
fn the_log_says_as_much_as_it_is_asked_to() {
    let script = json!([call("get_weather", json!({})), text("Rain.")]);
    for (level, wanted) in [("info", true), ("WARN", false), ("error", false)] {
        let server = serve(["--log-level", level, "--tools", "tools.json"])
            .file("tools.json", COMMAND)
            .script(script.clone())
            .listens();
        assert_eq!(server.complete(said("How is it?")).status, 200);
        let log = server.stops();
        assert_eq!(log.contains("[info] POST /v1/chat/completions"), wanted, "{level}: {log}");
        assert!(wanted || log.is_empty(), "{level}: {log}");
    }
}

#[test]
fn more_connections_than_the_system_allows_are_warned_of() {
    let most = usize::MAX.to_string();
    let log = serve(["--max-connections", &most]).script(json!([text("Hello.")])).listens().stops();
    assert!(log.contains(&format!("[warning] --max-connections {most}: ")), "{log}");
}
