//! What a server can be at best that does nothing: an axum handler that takes a body and returns the same answer to all.

use std::io::Write as _;

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::post};

/// The argument that turns this program into the server with that handler. Behind it comes the answer.
pub(crate) const HANDLER: &str = "fixed-answer";

/// Serves at any free port, and writes its URL first.
pub(crate) fn serve() -> std::io::Result<()> {
    let answer = Bytes::from(std::env::args().nth(2).unwrap_or_default());
    let handler = move |_: Bytes| async move { ([(CONTENT_TYPE, "application/json")], answer) };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "listening on http://{}/v1", listener.local_addr()?)?;
        axum::serve(listener, Router::new().route("/v1/chat/completions", post(handler))).await
    })
}
