//! What `oam serve` says once it listens.

use std::{fmt::Write, path::Path};

use oam_server::TcpAddress;

/// What there is to tell. Written, it is whole lines.
#[derive(Debug)]
pub(super) struct Banner<'a> {
    pub(super) tcp: Option<TcpAddress>,
    pub(super) socket: Option<&'a Path>,
    /// The model, and what stands in for it.
    pub(super) model: String,
    pub(super) tools: Vec<&'a str>,
    pub(super) needs_key: bool,
}

impl Banner<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let model = &self.model;
        if let Some(address) = &self.tcp {
            writeln!(text, "oam serve listening on http://{address}/v1  (model: {model})")?;
        }
        if let Some(path) = self.socket {
            writeln!(text, "oam serve listening on unix:{}  (model: {model})", path.display())?;
        }
        if !self.tools.is_empty() {
            writeln!(text, "Tools of the server: {}", self.tools.join(", "))?;
        }
        let key = if self.needs_key { " -H \"Authorization: Bearer $OAM_API_KEY\"" } else { "" };
        writeln!(text, "\nTry it:")?;
        writeln!(
            text,
            "  curl {}/chat/completions -H 'Content-Type: application/json'{key} \\",
            self.curl_target()
        )?;
        writeln!(text, r#"    -d '{{"messages": [{{"role": "user", "content": "Hello!"}}]}}'"#)?;
        if let Some(address) = self.tcp.as_ref().map(reachable) {
            let key = if self.needs_key { "<the key>" } else { "any" };
            writeln!(text, "  OpenAI's SDKs: base_url=\"http://{address}/v1\", api_key=\"{key}\"")?;
        }
        writeln!(text, "Ctrl-C stops it.")
    }

    fn curl_target(&self) -> String {
        match (&self.tcp, self.socket) {
            (None, Some(path)) => {
                let path = path.to_string_lossy();
                format!("--unix-socket {} http://localhost/v1", shell_words::quote(&path))
            }
            (Some(address), _) => format!("http://{}/v1", reachable(address)),
            (None, None) => "http://localhost/v1".to_owned(),
        }
    }
}

/// Where this machine reaches a server that listens at an address: the one that stands for all of a machine's addresses is none
/// to connect to.
fn reachable(address: &TcpAddress) -> TcpAddress {
    let host = match address.host.trim_matches(['[', ']']) {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        _ => &address.host,
    };
    TcpAddress { host: host.to_owned(), port: address.port }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner() -> Banner<'static> {
        Banner { tcp: None, socket: None, model: "system".into(), tools: Vec::new(), needs_key: false }
    }

    #[test]
    fn a_server_for_all_addresses_is_tried_at_one_that_can_be_reached() {
        for (host, shown, tried) in [
            ("0.0.0.0", "0.0.0.0", "127.0.0.1"),
            ("::", "[::]", "[::1]"),
            ("den.local", "den.local", "den.local"),
        ] {
            let tcp = Some(TcpAddress { host: host.to_owned(), port: 80 });
            let text = Banner { tcp, ..banner() }.text();
            assert!(
                text.starts_with(&format!("oam serve listening on http://{shown}:80/v1  (model: system)\n"))
            );
            assert!(text.contains(&format!("curl http://{tried}:80/v1/chat/completions")), "{text}");
            assert!(text.contains(&format!("base_url=\"http://{tried}:80/v1\"")), "{text}");
        }
    }

    #[test]
    fn a_key_is_asked_for_and_never_shown() {
        let tcp = Some(TcpAddress { host: "::1".to_owned(), port: 80 });
        let text = Banner { tcp, needs_key: true, ..banner() }.text();
        assert!(text.contains("Bearer $OAM_API_KEY") && text.contains("<the key>"), "{text}");
    }

    #[test]
    fn the_path_of_a_socket_can_be_pasted() {
        let text = Banner { socket: Some(Path::new("/tmp/my den/s")), ..banner() }.text();
        assert!(text.starts_with("oam serve listening on unix:/tmp/my den/s  (model: system)\n"), "{text}");
        assert!(text.contains("--unix-socket '/tmp/my den/s' http://localhost/v1/chat"), "{text}");
        assert!(!text.contains("SDKs"), "{text}");
    }
}
