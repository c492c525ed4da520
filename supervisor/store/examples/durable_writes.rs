//! What durable records cost beside the engine's own writes of the same bytes: `cargo run --release -p oam-store --example
//! durable_writes [FOLDER]`. The engine alone writes the same rows in the same transactions, without queue, thread or watch.
//!
//! In a run of groups every record of a group is appended, and then the last is waited for; so a group is a transaction,
//! unless the writer is quick enough to begin before the group is whole.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for people who measure")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use oam_store::{ObjectName, Store, StoreError};

const RECORD: [u8; 200] = [7; 200];
const OBJECTS: usize = 4;
const RUN: Duration = Duration::from_secs(2);
const ROUNDS: usize = 3;

fn main() {
    let place = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{:>5}  {:>14}  {:>14}  {:>5}", "group", "oam-store", "SQLite alone", "ratio");
    for group in [1, 16, 256] {
        // In turns, so that what else the machine does falls on both.
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            rates[0].push(in_a_folder(&place, |folder| store(folder, group)));
            rates[1].push(in_a_folder(&place, |folder| engine(folder, group)));
        }
        let [ours, alone] = rates.map(median);
        println!("{group:>5}  {ours:>12.0}/s  {alone:>12.0}/s  {:>5.2}", ours / alone);
    }
}

fn store(folder: &Path, group: usize) -> f64 {
    let store = Store::open(folder).unwrap();
    let realm = store.realm("realm", |_, _| Ok::<_, StoreError>(())).unwrap();
    let names: Vec<_> = (0..OBJECTS).map(|id| ObjectName::new("world", id.to_string())).collect();
    rate(group, |records| {
        for record in records {
            realm.append(&names[record % OBJECTS], RECORD).unwrap();
        }
        store.flush().unwrap();
    })
}

fn engine(folder: &Path, group: usize) -> f64 {
    let mut connection = rusqlite::Connection::open(folder.join("db")).unwrap();
    let form = "pragma auto_vacuum = incremental; pragma journal_mode = wal; pragma synchronous = full; pragma fullfsync = 1;
        create table entry (object integer, sequence integer, snapshot integer, body blob, primary key (object, sequence))
        strict, without rowid";
    connection.execute_batch(form).unwrap();
    rate(group, |records| {
        let transaction = connection.transaction().unwrap();
        for record in records {
            let mut insert = transaction.prepare_cached("insert into entry values (?, ?, false, ?)").unwrap();
            insert.execute((number(record % OBJECTS), number(record), RECORD)).unwrap();
        }
        transaction.commit().unwrap();
    })
}

fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap()
}

/// Records a second.
fn rate(group: usize, mut write: impl FnMut(std::ops::Range<usize>)) -> f64 {
    let (start, mut written) = (Instant::now(), 0);
    while start.elapsed() < RUN {
        write(written..written + group);
        written += group;
    }
    #[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
    let records = written as f64;
    records / start.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn in_a_folder(place: &Path, run: impl FnOnce(&Path) -> f64) -> f64 {
    let folder = place.join(format!("oam-store-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let rate = run(&folder);
    fs::remove_dir_all(folder).unwrap();
    rate
}
