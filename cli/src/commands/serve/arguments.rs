//! What can be said to `oam serve`.

use std::{collections::BTreeMap, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::{Args, builder::NonEmptyStringValueParser};
use oam_server::{HttpLimits, Limits, Metrics, ServerConfig, TcpAddress};

use crate::{
    arguments::{model::WorkerArguments, seconds, text_variable},
    failure::Failure,
    files::{self, InputPath},
    logging::LogLevel,
};

/// What clients must say, unless `--api-key` does.
const KEY_VARIABLE: &str = "OAM_API_KEY";
const USUAL_HOST: &str = "127.0.0.1";
const USUAL_PORT: u16 = 1976;

/// Serve the model over HTTP, as OpenAI's clients ask for it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArguments {
    /// The address or name to listen at [default: 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,

    /// 0: any free one [default: 1976; with --socket: none].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    port: Option<u16>,

    /// A Unix socket to make, which only you can open.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// Tools that the server runs itself; each needs a command.
    #[arg(long, value_name = "FILE")]
    pub(super) tools: Option<InputPath>,

    /// Put before the instructions of every request.
    #[arg(short, long, value_name = "TEXT")]
    pub(super) instructions: Option<String>,

    /// The key that clients must send.
    #[arg(long, value_name = "KEY", help = "The key that clients must send [default: $OAM_API_KEY]")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    api_key: Option<String>,

    /// Web pages that may ask, by origin; * for all. May be given again.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    allow_origin: Vec<String>,

    /// A host name to answer under; * for any. May be given again.
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    allow_host: Vec<String>,

    /// Another name for the model "system". May be given again.
    #[arg(long, value_name = "ALIAS=MODEL", value_parser = alias)]
    model_alias: Vec<(String, String)>,

    /// Completions generated at once.
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true)]
    max_concurrent: NonZeroUsize,

    /// Completions that may wait for that; more get 429.
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true)]
    max_queued: usize,

    /// Open connections.
    #[arg(long, value_name = "N", default_value = "64", allow_negative_numbers = true)]
    max_connections: NonZeroUsize,

    /// For a completion, waiting included.
    #[arg(long, value_name = "SECONDS", default_value = "120", allow_negative_numbers = true, value_parser = seconds::server_timeout)]
    timeout: Duration,

    /// For a client: to deliver a request, between requests, and to read on.
    #[arg(long, value_name = "SECONDS", default_value = "30", allow_negative_numbers = true, value_parser = seconds::server_timeout)]
    client_timeout: Duration,

    /// Comments in silent streams; 0: none.
    #[arg(long, value_name = "SECONDS", default_value = "15", allow_negative_numbers = true, value_parser = seconds::any)]
    keep_alive: Duration,

    /// For answers under way when told to stop.
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_negative_numbers = true, value_parser = seconds::any)]
    drain: Duration,

    /// What to log: debug, info, warn(ing) or error.
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, hide_possible_values = true)]
    #[arg(default_value_t = LogLevel::Info)]
    pub(super) log_level: LogLevel,

    #[command(flatten)]
    pub(super) workers: WorkerArguments,
}

const EXAMPLES: &str = "\
Examples:
  oam serve --tools tools.json
  oam serve --host 0.0.0.0 --api-key s3cret --model-alias gpt-4o-mini=system
  oam serve --socket /run/user/1000/oam.sock --worker 'oam worker scripted'

Environment: OAM_API_KEY; OAM_SCRIPT=FILE, played once for all requests together; OAM_WORKER, \
OAM_RECORD and more as for other commands.

Exit codes: 0 stopped by SIGINT or SIGTERM; 1 it cannot listen, or no longer; 2 wrong arguments, \
tools, or script; 3 the model cannot be asked. Everything else: docs/SERVER.md.";

fn alias(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((alias, model)) if !alias.is_empty() => Ok((alias.to_owned(), model.to_owned())),
        _ => Err("must be ALIAS=MODEL, such as gpt-4o-mini=system".to_owned()),
    }
}

/// What browsers can send as `Origin`, or `*`: anything else would never be allowed.
fn origin(text: &str) -> Result<String, String> {
    let is_authority =
        |text: &str| !text.is_empty() && !text.contains(['/', '?', '#', '@']) && is_visible_lower_case(text);
    let is_origin = text.split_once("://").is_some_and(|(scheme, authority)| {
        is_authority(authority) && !scheme.is_empty() && is_visible_lower_case(scheme)
    });
    if is_origin || text == "*" || text == "null" {
        return Ok(text.to_owned());
    }
    Err("must be an origin as browsers send it, such as https://game.example: scheme and host in lower case, no path"
        .to_owned())
}

fn is_visible_lower_case(text: &str) -> bool {
    text.chars().all(|character| character.is_ascii_graphic() && !character.is_ascii_uppercase())
}

fn host_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['/', ' ']) {
        return Err("must be a host name, such as studio.example".to_owned());
    }
    Ok(text.to_owned())
}

impl ServeArguments {
    pub(super) fn aliases(&self) -> BTreeMap<String, String> {
        self.model_alias.iter().cloned().collect()
    }

    pub(super) fn completion_limits(&self) -> Limits {
        Limits {
            concurrent: self.max_concurrent,
            queued: self.max_queued,
            time: self.timeout,
            ..Limits::default()
        }
    }

    /// Fails when it is not clear where to listen, or the environment holds a key that nobody could send.
    pub(super) fn server(&self, metrics: Metrics) -> Result<ServerConfig, Failure> {
        Ok(ServerConfig {
            tcp: self.tcp(),
            socket: self.socket.as_deref().map(|path| files::absolute(&files::with_home(path))),
            api_key: self.key()?,
            allowed_origins: self.allow_origin.clone(),
            allowed_hosts: self.allow_host.clone(),
            limits: HttpLimits {
                connections: self.max_connections,
                request_time: self.client_timeout,
                ..HttpLimits::default()
            },
            keep_alive: (!self.keep_alive.is_zero()).then_some(self.keep_alive),
            drain: self.drain,
            metrics,
            ..ServerConfig::default()
        })
    }

    fn tcp(&self) -> Option<TcpAddress> {
        let port = match (self.port, &self.socket) {
            (None, Some(_)) => {
                if self.host.is_some() {
                    tracing::warn!("--host without --port: with --socket, there is only the socket");
                }
                return None;
            }
            (port, _) => port.unwrap_or(USUAL_PORT),
        };
        Some(TcpAddress { host: self.host.as_deref().unwrap_or(USUAL_HOST).to_owned(), port })
    }

    fn key(&self) -> Result<Option<String>, Failure> {
        match &self.api_key {
            Some(key) => Ok(Some(key.clone())),
            None => text_variable(KEY_VARIABLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_a_browser_can_send() {
        for good in [
            "*",
            "null",
            "https://game.example",
            "http://localhost:3000",
            "http://[::1]:3000",
            "chrome-extension://abcdef",
        ] {
            assert_eq!(origin(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "game.example",
            "https://",
            "://game.example",
            "https://game.example/",
            "https://game.example/play",
            "https://Game.example",
            "HTTPS://game.example",
            "https://me@game.example",
            "https://game.example ",
            "https://*.game.example/",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_host_name_is_no_url() {
        for good in ["*", "studio.example", "studio.example:1976", "[::1]", "::1"] {
            assert_eq!(host_name(good).as_deref(), Ok(good));
        }
        for bad in ["", "http://studio.example", "studio.example/", "a b"] {
            assert!(host_name(bad).is_err(), "{bad}");
        }
    }
}
