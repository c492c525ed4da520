//! A process that works on a store until it is killed, and tells what is durable; and what there must be after that.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
    sync::mpsc,
    thread,
};

use oam_store::{ObjectName, Sequence, Store};

use crate::support::{Contents, open_realm, scene, scene_folder, world};

/// What change number `n` does, in every process alike.
enum Change {
    Append(ObjectName, Vec<u8>),
    Remove(ObjectName),
}

fn change(n: u64) -> Change {
    let mut random = fastrand::Rng::with_seed(n);
    let name = world(&random.u8(0..9).to_string());
    if random.u8(..) < 8 {
        Change::Remove(name)
    } else {
        let mut record = n.to_be_bytes().to_vec();
        record.extend(std::iter::repeat_n(random.u8(..), random.usize(0..400)));
        Change::Append(name, record)
    }
}

/// What there is after the changes that were `made`.
#[derive(Default)]
pub(crate) struct Expected {
    pub(crate) made: u64,
    contents: Contents,
}

impl Expected {
    fn make_one(&mut self) {
        match change(self.made) {
            Change::Append(name, record) => self.contents.entry(name).or_default().extend(record),
            Change::Remove(name) => drop(self.contents.remove(&name)),
        }
        self.made += 1;
    }

    /// Finds what is in the store among what there was after `told` changes or somewhat later.
    pub(crate) fn find(&mut self, told: u64, found: &Contents) {
        while self.made < told {
            self.make_one();
        }
        // More than a queue holds was never made without being told.
        let last = self.made + 100_000;
        while self.contents != *found {
            assert!(
                self.made < last,
                "after {told} changes were told durable: something lost, doubled or half done"
            );
            self.make_one();
        }
    }
}

/// The scene: changes the realm from where it was left, rewrites objects early and late, and prints what is durable.
pub(crate) fn work() {
    let Some(folder) = scene_folder() else { return };
    let mut made = std::env::var("OAM_STORE_MADE").unwrap().parse().unwrap();
    let store = Store::open(&folder).unwrap();
    let (realm, mut contents) = open_realm(&store, "realm").unwrap();
    let (tell, told) = mpsc::channel::<(Sequence, u64)>();
    let mut watch = store.watch();
    thread::spawn(move || {
        let mut output = std::io::stdout();
        for (sequence, made) in told {
            while watch.borrow_and_update().durable < sequence {
                thread::yield_now();
            }
            writeln!(output, "durable {made}").unwrap();
        }
    });
    let mut sequences = BTreeMap::<ObjectName, (Sequence, Vec<u8>)>::new();
    let mut random = fastrand::Rng::new();
    loop {
        while realm.ready().is_err() {
            thread::yield_now();
        }
        let sequence = match change(made) {
            Change::Append(name, record) => {
                let object = contents.entry(name.clone()).or_default();
                object.extend_from_slice(&record);
                let sequence = realm.append(&name, record).unwrap().sequence;
                if random.u8(..) < 20 {
                    sequences.insert(name, (sequence, object.clone()));
                }
                sequence
            }
            Change::Remove(name) => {
                contents.remove(&name);
                realm.remove(&name).unwrap()
            }
        };
        made += 1;
        tell.send((sequence, made)).unwrap();
        if random.u8(..) < 10
            && let Some((name, (up_to, snapshot))) = sequences.pop_first()
        {
            // Refused when the object was removed since.
            let _ = realm.rewrite(&name, snapshot, up_to);
        }
        if random.u8(..) < 4 {
            store.flush().unwrap();
        }
    }
}

/// Lets the scene `name` work until it has told of `changes` more than there were, and kills it. Returns what it has told.
pub(crate) fn work_and_kill(name: &str, folder: &Path, made: u64, changes: u64) -> u64 {
    let mut child = scene(name, folder, &[])
        .env("OAM_STORE_MADE", made.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = made;
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = output.lines().map_while(Result::ok);
    for line in lines.filter_map(|line| line.strip_prefix("durable ")?.parse().ok()) {
        if told < made + changes && line >= made + changes {
            child.kill().unwrap();
        }
        told = line;
    }
    child.wait().unwrap();
    assert!(told > made, "the worker ended by itself");
    told
}
