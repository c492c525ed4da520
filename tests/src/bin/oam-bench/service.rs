//! What it costs that a realm's changes are on disk before they are answered.
//!
//! A connection of a service changes a world of a durable realm, another one a world of its own, which is in memory
//! only. Beside the first are the same records, appended to the service's own kind of store by this program: one
//! record and one wait for the disk after the other, or as many at once as may be unanswered on the connection.

use std::{
    fs, io,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use oam_store::{ObjectName, Realm, Store, StoreError};
use oam_tests::{DEADLINE, oam_command, procfs};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::{
    measures::{Plan, best, is_answer, line, per_second},
    pipe::{Pipe, WINDOW},
    report::{Figure, Goal},
};

/// Measures all that is about the service.
pub(crate) fn service(plan: &Plan) -> Vec<Figure> {
    let mut figures = Vec::from(rates(plan));
    figures.extend(sizes(plan));
    figures
}

fn rates(plan: &Plan) -> [Figure; 4] {
    let service = Service::start();
    let [mut on_disk, mut in_memory] = [Some("bench"), None].map(|realm| service.connect(realm));
    for connection in [&mut on_disk, &mut in_memory] {
        connection.request(&creation("small", &json!({"player": {"gold": 0}})));
    }
    // Kept open, as the service keeps its own: a new one costs more until its files have grown.
    let store = OpenStore::new();
    let mut gold = 0;
    let mut changes = |count| {
        let lines = (gold..gold + count).map(|gold| change("small", gold)).collect::<Vec<_>>();
        gold += count;
        lines
    };
    let [disk_one, memory_one, store_one, disk, memory, store] = best(plan.repetitions, f64::max, || {
        let (few, many) = (changes(plan.single_changes), changes(plan.changes));
        let one_at_a_time = |pipe: &mut Pipe| {
            let time = pipe.ping_pong(&few).iter().sum();
            per_second(few.len(), time)
        };
        let ones = [one_at_a_time(&mut on_disk), one_at_a_time(&mut in_memory)];
        let pipelined =
            |pipe: &mut Pipe| per_second(many.len(), pipe.pipelined(&many, |line, _| is_answer(line)));
        let manies = [pipelined(&mut on_disk), pipelined(&mut in_memory)];
        let stores = [(few.len(), 1), (many.len(), WINDOW)].map(|(count, group)| store.rate(count, group));
        [ones[0], ones[1], stores[0], manies[0], manies[1], stores[1]]
    });
    [
        Figure::new("world/set on disk, one at a time (beside: store)", "/s", disk_one).beside(store_one),
        Figure::new("world/set in memory, one at a time (… on disk)", "/s", memory_one).beside(disk_one),
        Figure::new("world/set on disk, pipelined (beside: store)", "/s", disk).beside(store),
        Figure::new("world/set in memory, pipelined (beside: on disk)", "/s", memory).beside(disk),
    ]
}

/// What a change takes in worlds of different sizes, snapshots included.
fn sizes(plan: &Plan) -> Vec<Figure> {
    let [small, middle, large] = best(plan.repetitions, f64::min, || {
        [1 << 10, 100 << 10, 10 << 20].map(|bytes| cost_of_a_change(bytes, plan.changes_of_a_size))
    });
    if !small.is_finite() {
        return Vec::new();
    }
    [
        ("processor time of a change, 100 KB (beside: 1 KB)", middle),
        ("processor time of a change, 10 MB (beside: 1 KB)", large),
    ]
    .map(|(name, cost)| Figure::new(name, "us", cost).beside(small).goal(Goal::RatioAtMost(1.5)))
    .into()
}

/// Processor time in microseconds; not a number where the system does not tell it.
fn cost_of_a_change(world_bytes: usize, changes: usize) -> f64 {
    const MEMBER: usize = 100;
    let land: Map<String, Value> = (0..world_bytes / MEMBER)
        .map(|place| (format!("field {place:08}"), json!("x".repeat(MEMBER - 20))))
        .collect();
    let service = Service::start();
    let mut connection = service.connect(Some("bench"));
    connection.request(&creation("land", &json!({"player": {"gold": 0}, "land": land})));
    let lines: Vec<_> = (0..changes).map(|gold| change("land", gold)).collect();
    // The world's own way to the disk ends with the first changes.
    connection.pipelined(&lines[..changes / 10], |line, _| is_answer(line));
    let before = service.cpu();
    connection.pipelined(&lines, |line, _| is_answer(line));
    (service.cpu() - before) / 1e3 / changes as f64
}

fn creation(world: &str, state: &Value) -> Vec<u8> {
    line(0, "world/create", &json!({"world": world, "state": state}))
}

fn change(world: &str, gold: usize) -> Vec<u8> {
    line(gold, "world/set", &json!({"world": world, "path": "player.gold", "value": gold + 1}))
}

/// The record of such a change.
fn record(gold: usize) -> Vec<u8> {
    let changes = json!([{"path": ["player", "gold"], "value": gold}]);
    format!("\x01{}", json!({"edit": {"version": gold, "changes": changes}})).into_bytes()
}

/// The service's kind of store, without a service.
struct OpenStore {
    store: Store,
    realm: Realm,
    _folder: TempDir,
}

impl OpenStore {
    fn new() -> Self {
        let folder = folder_on_disk();
        let store = Store::open(folder.path()).expect("a store in a new folder");
        let realm = store.realm("bench", |_, _| Ok::<_, StoreError>(())).expect("a new realm");
        Self { store, realm, _folder: folder }
    }

    /// Appends that many records, waits for the disk after each `group`, and tells how many a second it were.
    fn rate(&self, count: usize, group: usize) -> f64 {
        let world = ObjectName::new("world", "small");
        let start = Instant::now();
        for first in (0..count).step_by(group) {
            for gold in first..(first + group).min(count) {
                self.realm.append(&world, record(gold)).expect("room in the queue");
            }
            self.store.flush().expect("the disk takes it");
        }
        per_second(count, start.elapsed())
    }
}

/// A folder beside this program: what is for temporary files may be in memory.
fn folder_on_disk() -> TempDir {
    let program = std::env::current_exe().expect("this program has a path");
    let folder = program.parent().expect("a program is in a folder");
    tempfile::tempdir_in(folder).expect("a folder beside this program")
}

/// `oam service run`. Dropping it kills and reaps it.
struct Service {
    child: Child,
    socket: PathBuf,
    _folders: [TempDir; 2],
}

impl Service {
    fn start() -> Self {
        // A socket's path must be short.
        let (folder, data) = (tempfile::tempdir().expect("a folder"), folder_on_disk());
        // The service makes a folder that nobody else may use.
        let socket = folder.path().join("own").join("oam.sock");
        let mut command = oam_command();
        command
            .args(["service", "run", "--log-file", "-", "--log-level", "warning", "--socket"])
            .arg(&socket)
            .arg("--data")
            .arg(data.path().join("own"))
            .arg("--config")
            .arg(settings(folder.path()))
            .stdin(Stdio::null());
        let child = command.spawn().expect("the service starts");
        let mut service = Self { child, socket, _folders: [folder, data] };
        let start = Instant::now();
        while service.try_connect().is_err() {
            let ended = service.child.try_wait().expect("a child of this process");
            assert!(ended.is_none() && start.elapsed() < DEADLINE, "the service does not listen");
            sleep(Duration::from_millis(1));
        }
        service
    }

    fn try_connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.socket)
    }

    fn connect(&self, realm: Option<&str>) -> Pipe {
        let mut pipe = Pipe::over(self.try_connect().expect("the service listens"));
        let client = realm.map_or_else(|| json!({}), |realm| json!({"realm": realm}));
        pipe.request(&line(0, "initialize", &json!({"client": client})));
        pipe
    }

    fn cpu(&self) -> f64 {
        procfs::cpu_nanos(self.child.id()).map_or(f64::NAN, |nanos| nanos as f64)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Settings that say nothing, so that those of whoever measures do not count.
fn settings(folder: &Path) -> PathBuf {
    let path = folder.join("service.json");
    fs::write(&path, "{}\n").expect("a file can be written");
    path
}
