//! Servers for tests, and a client that hides nothing of what a connection carries.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, Model, ModelError, Script, ScriptedModel, StepContent,
    StepOutcome, StepRequest, StepSink, Usage,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, mpsc},
};

use crate::{
    ApiError, Completions, CompletionsConfig, ErrorKind, Limits, ServedModel, Server, ServerConfig,
    ServerState, TcpAddress,
};

/// Longer than anything takes; a test that reaches it has failed.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A completion request that any script answers.
pub(super) fn hi() -> Value {
    hi_with(json!({}))
}

/// The same, with further members.
pub(crate) fn hi_with(members: Value) -> Value {
    let mut body = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
    let Value::Object(members) = members else { panic!("members are an object") };
    body.as_object_mut().unwrap().extend(members);
    body
}

/// The same, with a stream for an answer.
pub(super) fn streamed_hi() -> Value {
    hi_with(json!({ "stream": true }))
}

/// What plays `steps`, with the model `system` and its alias.
pub(crate) fn completions(steps: &Value) -> Completions {
    completions_of(scripted(steps))
}

pub(super) fn scripted(steps: &Value) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::new(Script::from_steps_or_object(steps, "").unwrap()))
}

/// What asks `model`.
pub(super) fn completions_of(model: Arc<dyn Model>) -> Completions {
    completions_within(Limits::default(), model)
}

/// The same, within these limits.
pub(super) fn completions_within(limits: Limits, model: Arc<dyn Model>) -> Completions {
    let config = completions_config(model);
    Completions::new(CompletionsConfig { limits: Limits { retries: 0, ..limits }, ..config }).unwrap()
}

/// `model` as `system`, also known as `gpt-4o-mini`, that nothing is asked twice.
pub(crate) fn completions_config(model: Arc<dyn Model>) -> CompletionsConfig {
    CompletionsConfig {
        models: vec![ServedModel { id: "system".into(), owned_by: "apple".into(), model }],
        default_model: "system".into(),
        aliases: [("gpt-4o-mini".into(), "system".into())].into(),
        tools: Vec::new(),
        instructions: None,
        limits: Limits { retries: 0, ..Limits::default() },
    }
}

/// A configuration for any free port, that gives up soon.
pub(crate) fn config() -> ServerConfig {
    ServerConfig { tcp: Some(loopback()), drain: Duration::ZERO, ..ServerConfig::default() }
}

pub(super) fn loopback() -> TcpAddress {
    TcpAddress { host: "127.0.0.1".to_owned(), port: 0 }
}

/// A server that answers `Hello` to everything.
pub(super) async fn start(config: ServerConfig) -> Server {
    start_with(config, &json!({ "fallback": { "text": "Hello", "chunks": 2 } })).await
}

pub(super) async fn start_with(config: ServerConfig, steps: &Value) -> Server {
    Server::start(config, completions(steps)).await.unwrap()
}

/// A server whose answers stop in the middle until the model is told to go on.
pub(super) async fn start_paused(config: ServerConfig) -> (Server, Arc<PausingModel>) {
    let model = Arc::new(PausingModel::default());
    (Server::start(config, completions_of(model.clone())).await.unwrap(), model)
}

/// A model that says `one`, waits, and says `two`.
#[derive(Default)]
pub(crate) struct PausingModel(Notify);

impl PausingModel {
    pub(crate) fn go_on(&self) {
        self.0.notify_one();
    }
}

impl Model for PausingModel {
    fn step<'a>(
        &'a self,
        _: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            sink.text("one");
            self.0.notified().await;
            sink.text(" two");
            Ok(StepOutcome { content: StepContent::Text("one two".to_owned()), usage: Usage::default() })
        })
    }

    fn availability(&self) -> Availability {
        ScriptedModel::new(Script::default()).availability()
    }

    fn context_size(&self) -> Option<u32> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { streaming: true, ..Capabilities::default() }
    }
}

/// Makes the states of a server come out of a channel.
pub(super) fn watch_states(config: &mut ServerConfig) -> mpsc::UnboundedReceiver<ServerState> {
    let (sender, receiver) = mpsc::unbounded_channel();
    config.on_state = Some(Arc::new(move |state| {
        let _ = sender.send(state.clone());
    }));
    receiver
}

/// Waits until something holds that nobody tells of.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// A POST of `body`, with more header lines.
pub(crate) fn post(body: &Value, headers: &str) -> Vec<u8> {
    post_to("/v1/chat/completions", body, headers)
}

/// The same to another path.
pub(super) fn post_to(path: &str, body: &Value, headers: &str) -> Vec<u8> {
    post_bytes(path, body.to_string().as_bytes(), headers)
}

/// The same, whatever the body is.
pub(super) fn post_bytes(path: &str, body: &[u8], headers: &str) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \
         {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A completion request with `more` bytes that the model does not see, and the length of its body.
pub(super) fn longer(mut body: Value, more: usize) -> (Vec<u8>, usize) {
    body["user"] = json!("x".repeat(more));
    (post(&body, ""), body.to_string().len())
}

/// A GET, with more header lines.
pub(crate) fn get(path: &str, headers: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").into_bytes()
}

/// What `completions` answer to one request that comes over a connection of its own: with status 200, or why not.
pub(crate) async fn answer_of(
    completions: &Completions,
    path: &str,
    body: &Value,
) -> Result<Answer, ApiError> {
    let server = Server::start(config(), completions.clone()).await.unwrap();
    let answer = Wire::connect(&server).await.ask(post_to(path, body, "")).await;
    if answer.status == 200 { Ok(answer) } else { Err(answer.error()) }
}

/// The client's end of a connection.
pub(crate) struct Wire<S> {
    socket: S,
    received: Vec<u8>,
}

/// A response as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) version: String,
    pub(crate) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The value of a header field that must not come twice.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} twice: {:?}", self.headers);
        value
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The `code` of an error body, which must be whole.
    pub(super) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let error = &body["error"];
        assert!(!error["message"].as_str().unwrap().is_empty() && error["type"].is_string(), "{body}");
        error["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The error that it tells. Its code is as static as those of errors that were never written down.
    fn error(&self) -> ApiError {
        let body = self.json();
        let member = |name: &str| body["error"][name].as_str().map(str::to_owned);
        let code = self.code();
        let kinds = [ErrorKind::InvalidRequest, ErrorKind::RateLimit, ErrorKind::Server];
        ApiError {
            status: self.status,
            kind: kinds.into_iter().find(|kind| Some(kind.as_str()) == member("type").as_deref()).unwrap(),
            code: (!code.is_empty()).then(|| &*code.leak()),
            param: member("param"),
            message: member("message").unwrap(),
            retry_after: self.header("retry-after").map(|seconds| seconds.parse().unwrap()),
        }
    }

    /// The payloads of a stream.
    pub(super) fn events(&self) -> Vec<String> {
        let text = std::str::from_utf8(&self.body).unwrap();
        text.split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").unwrap_or(event).to_owned())
            .collect()
    }

    /// The text of a streamed answer.
    pub(super) fn streamed_text(&self) -> String {
        let events = self.events();
        let (last, chunks) = events.split_last().unwrap();
        assert_eq!(last, "[DONE]");
        let chunks = chunks.iter().map(|chunk| serde_json::from_str::<Value>(chunk).unwrap());
        chunks
            .filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect()
    }
}

impl Wire<TcpStream> {
    pub(crate) async fn connect(server: &Server) -> Self {
        Self::new(TcpStream::connect(server.tcp_address().unwrap()).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(socket: S) -> Self {
        Self { socket, received: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Closes this side.
    pub(super) async fn finish(&mut self) {
        self.socket.shutdown().await.unwrap();
    }

    pub(crate) async fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.send(bytes).await;
        self.answer().await
    }

    /// The next response.
    pub(crate) async fn answer(&mut self) -> Answer {
        self.answer_to("GET").await
    }

    /// The next response, to a request of this method.
    pub(super) async fn answer_to(&mut self, method: &str) -> Answer {
        let mut answer = self.answer_head().await;
        if method != "HEAD" && answer.status != 204 && answer.status >= 200 {
            answer.body = self.body_of(&answer).await;
        }
        answer
    }

    /// The head of the next response.
    pub(crate) async fn answer_head(&mut self) -> Answer {
        let head = self.take_through("\r\n\r\n").await.expect("a response");
        let mut lines = head.trim_end().split("\r\n");
        let (version, rest) = lines.next().unwrap().split_once(' ').unwrap();
        let fields = lines.map(|line| line.split_once(": ").unwrap());
        Answer {
            version: version.to_owned(),
            status: rest[..3].parse().unwrap(),
            headers: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: Vec::new(),
        }
    }

    async fn body_of(&mut self, answer: &Answer) -> Vec<u8> {
        if let Some(length) = answer.header("content-length") {
            return self.take(length.parse().unwrap()).await.expect("a whole body");
        }
        if answer.header("transfer-encoding") != Some("chunked") {
            return self.rest().await;
        }
        let mut body = Vec::new();
        loop {
            let size = self.take_through("\r\n").await.expect("a chunk");
            let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
            body.extend(self.take(size).await.expect("a whole chunk"));
            assert_eq!(self.take(2).await.as_deref(), Some(&b"\r\n"[..]));
            if size == 0 {
                return body;
            }
        }
    }

    /// What a stream sends next: whole events.
    pub(crate) async fn piece(&mut self) -> String {
        let size = self.take_through("\r\n").await.expect("a chunk");
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let event = self.take(size).await.expect("a whole chunk");
        self.take(2).await.unwrap();
        String::from_utf8(event).unwrap()
    }

    /// All that comes until the server ends the connection.
    pub(super) async fn rest(&mut self) -> Vec<u8> {
        while self.receive().await {}
        std::mem::take(&mut self.received)
    }

    /// The server says nothing more, and ends the connection in good order.
    pub(super) async fn assert_ended(&mut self) {
        let rest = self.rest().await;
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }

    async fn take_through(&mut self, end: &str) -> Option<String> {
        loop {
            let found = self.received.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(index) = found {
                return self.take(index + end.len()).await.map(|bytes| String::from_utf8(bytes).unwrap());
            }
            if !self.receive().await {
                return None;
            }
        }
    }

    async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.received.len() < count {
            if !self.receive().await {
                return None;
            }
        }
        Some(self.received.drain(..count).collect())
    }

    /// Whether something came.
    async fn receive(&mut self) -> bool {
        let mut piece = [0; 4096];
        let read = tokio::time::timeout(LIMIT, self.socket.read(&mut piece))
            .await
            .expect("the server to say something");
        let count = read.unwrap();
        self.received.extend_from_slice(&piece[..count]);
        count > 0
    }
}

/// The log of what runs on this thread while it lives.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(super) fn capture() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
