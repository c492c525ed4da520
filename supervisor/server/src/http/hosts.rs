//! Under which names a server answers.
//!
//! A page from anywhere can make a browser ask a name that its owner lets point to this machine (DNS rebinding). What such a
//! request cannot choose is its `Host`: so a server that only this machine can reach answers under this machine's names alone.

use std::net::IpAddr;

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The names under which a listener answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hosts {
    /// All.
    Any,
    /// The loopback's, and these.
    Loopback(Vec<String>),
}

impl Hosts {
    /// The names for a listener. `is_private`: only this machine can reach it.
    pub(super) fn of_listener(is_private: bool, allowed: &[String]) -> Self {
        if allowed.iter().any(|host| host == "*") || (!is_private && allowed.is_empty()) {
            return Self::Any;
        }
        Self::Loopback(allowed.iter().map(|host| name(host).to_owned()).collect())
    }

    /// Whether it answers under the name in `authority`, which may have a port.
    pub(super) fn allow(&self, authority: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback(others) => {
                let name = name(authority);
                let others = others.iter().map(String::as_str);
                LOOPBACK_NAMES.into_iter().chain(others).any(|other| other.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The host in an authority: without port and brackets. What is no authority stays as it is.
fn name(authority: &str) -> &str {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((host, rest)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return if is_whole { host } else { authority };
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && is_port(port) => host,
        _ => authority,
    }
}

/// Whether a host means this machine only.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = name(host);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_for_this_machine_answers_under_its_names_only() {
        let hosts = Hosts::of_listener(true, &[]);
        for host in
            ["localhost", "localhost:1976", "LOCALHOST", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:1976"]
        {
            assert!(hosts.allow(host), "{host}");
        }
        for host in [
            "example.com",
            "127.0.0.1.nip.io",
            "localhost.evil.example",
            "",
            ":80",
            "[::2]",
            "127.0.0.2",
            "[::1",
            "localhost:1:2",
            "localhost:evil",
            "[::1]evil",
            "[::1]:evil",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
    }

    #[test]
    fn other_names_are_added_or_all_allowed() {
        let named = Hosts::of_listener(true, &["Studio.Example:1976".to_owned()]);
        assert!(
            named.allow("studio.example") && named.allow("STUDIO.example:80") && named.allow("localhost")
        );
        assert!(!named.allow("other.example"));
        assert!(Hosts::of_listener(true, &["*".to_owned()]).allow("anything"));
        assert!(Hosts::of_listener(false, &[]).allow("anything"));
        assert!(!Hosts::of_listener(false, &["studio.example".to_owned()]).allow("other.example"));
    }

    #[test]
    fn loopback_is_told_from_other_addresses() {
        for host in [
            "localhost",
            "LocalHost",
            "127.0.0.1",
            "127.9.8.7",
            "::1",
            "[::1]",
            "[::1]:80",
            "::ffff:127.0.0.1",
            "localhost:1976",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["0.0.0.0", "::", "[::]", "10.0.0.1", "::ffff:10.0.0.1", "example.com", "127.0.0.1.nip.io", ""]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
