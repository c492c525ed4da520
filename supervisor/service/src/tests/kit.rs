//! Services in folders of their own, and clients that speak to them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use oam_bridge::BridgeConfig;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use crate::{Service, ServiceConfig, ServiceError, manager::ManagerLink, peer, service::System};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder for a service, which others may not enter.
pub(super) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        Self { folder }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path().join("oam.sock")
    }

    pub(super) fn config(&self) -> ServiceConfig {
        ServiceConfig {
            socket: Some(self.socket()),
            ..ServiceConfig::new(self.path().join("data"), BridgeConfig::default())
        }
    }

    pub(super) async fn start(&self) -> Service {
        start(self.config()).await.unwrap()
    }

    pub(super) async fn connect(&self) -> Client {
        Client::connect(&self.socket()).await
    }
}

/// As the process would, but for the manager: that of the tests is not told.
pub(super) fn system() -> System {
    System {
        peer_user: peer::of_system,
        manager: ManagerLink::of_test(None, |_| {}),
        places_pause: Duration::from_millis(20),
    }
}

pub(super) async fn start(config: ServiceConfig) -> Result<Service, ServiceError> {
    Service::start_on(config, system()).await
}

/// Fails instead of waiting for ever.
pub(super) async fn within_patience<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it takes too long")
}

/// A connection to a service.
pub(super) struct Client {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    last_id: u64,
    /// Messages that came while something else was waited for.
    pub(super) heard: Vec<Value>,
}

impl Client {
    pub(super) async fn connect(socket: &Path) -> Self {
        let (reader, writer) = UnixStream::connect(socket).await.unwrap().into_split();
        Self { reader: BufReader::new(reader), writer, last_id: 0, heard: Vec::new() }
    }

    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = within_patience(self.reader.read_line(&mut line)).await.unwrap();
        (count > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Sends a request and returns its id.
    pub(super) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        self.last_id
    }

    /// The answer to a request; the error if it failed.
    pub(super) async fn answer(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let mut message = self.next().await.expect("the connection ended before the answer");
            if message["id"] == id {
                return match message.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(message["result"].take()),
                };
            }
            self.heard.push(message);
        }
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    pub(super) async fn enter(&mut self, realm: &str) -> Result<Value, Value> {
        self.call("initialize", json!({"client": {"name": "test", "realm": realm}})).await
    }

    /// Sends nothing more, and waits for the end.
    pub(super) async fn finish(mut self) {
        self.writer.shutdown().await.unwrap();
        while self.next().await.is_some() {}
    }
}

/// Resolves when `is_so`.
pub(super) async fn until(mut is_so: impl FnMut() -> bool) {
    within_patience(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(super) type Shared<T> = Arc<std::sync::Mutex<T>>;
