//! Nothing is lost, half done or doubled: the service is killed at random under load, and everything it answered must be
//! there when it is started again.
//!
//! Clients of several realms change worlds, sessions and NPCs without waiting, and each keeps an [`account`] of what was answered.
//! Some lives end with a power cut that tears the end of what was being written ([`wal`]), some pass through a full disk.

mod account;
mod npcs;
mod player;
mod server;
mod sessions;
mod wal;
mod worlds;

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use clap::ValueEnum;
use fastrand::Rng;
use oam_tests::DEADLINE;

use player::{Heard, Life, Player};
use server::{Server, data};

const REALMS: usize = 2;
const CLIENTS: usize = 2;
/// Every so manieth life ends with a power cut.
const TORN: u64 = 3;
/// Every so manieth life passes through a full disk.
const FULL: u64 = 40;
/// The most answers of a life.
const ANSWERS: u64 = 600;
/// How long a file may be on a full disk, and what each change writes to fill it.
const ROOM: u64 = 128 * 1024;
const LARGE: usize = 4096;
/// Refused or failed requests after which the disk has room again.
const FAILURES: u64 = 30;

/// How a life of the service goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Course {
    /// It is killed.
    Killed,
    /// The power is cut.
    Torn,
    /// The disk is full for a while; then it is killed.
    Full,
    /// Clients only look what is there; then it is stopped.
    #[value(skip)]
    Stopped,
}

/// `only` is the course of every life, instead of all in turn.
pub(crate) fn soak(kills: u64, only: Option<Course>, seed: u64) -> Result<(), String> {
    println!("seed {seed}: {kills} kills, {REALMS} realms of {CLIENTS} clients");
    let private = Permissions::from_mode(0o700);
    let folder =
        tempfile::Builder::new().permissions(private).tempdir().map_err(|error| error.to_string())?;
    let mut rng = Rng::with_seed(seed);
    let mut players: Vec<_> =
        (0..REALMS * CLIENTS).map(|number| Player::new(number / CLIENTS, number, rng.u64(..))).collect();
    let (start, mut torn, mut failures) = (Instant::now(), 0, 0);
    for kill in 1..=kills {
        let in_turn = match kill {
            _ if kill % FULL == FULL / 8 => Course::Full,
            _ if kill % TORN == 0 => Course::Torn,
            _ => Course::Killed,
        };
        let course = only.unwrap_or(in_turn);
        let life = live(folder.path(), course, &mut players, &mut rng);
        let life = life.map_err(|why| format!("life {kill} ({course:?}): {why}"))?;
        torn += u64::from(life.is_torn);
        failures += life.failures;
        if kill % 20 == 0 || kill == kills {
            println!(
                "{kill} kills, {:.0} s: {}",
                start.elapsed().as_secs_f64(),
                tally(&players, torn, failures)
            );
        }
    }
    for _ in 0..2 {
        live(folder.path(), Course::Stopped, &mut players, &mut rng)
            .map_err(|why| format!("at the end: {why}"))?;
    }
    Ok(())
}

fn tally(players: &[Player], torn: u64, failures: u64) -> String {
    let sum = |of: fn(&Player) -> u64| players.iter().map(of).sum::<u64>();
    let (answered, calls) = (sum(|player| player.answered), sum(|player| player.calls));
    format!(
        "{answered} answers, {calls} tool calls, {torn} torn ends, {failures} storage failures; nothing lost or doubled"
    )
}

/// What happened in a life.
#[derive(Default)]
struct Lived {
    is_torn: bool,
    failures: u64,
}

fn live(folder: &Path, course: Course, players: &mut [Player], rng: &mut Rng) -> Result<Lived, String> {
    let server = Server::start(folder);
    let (is_losing, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (sender, heard) = channel();
    let socket = server.socket.clone();
    let life = |heard| Life {
        socket: &socket,
        is_losing: &is_losing,
        is_over: &is_over,
        only_looks: course == Course::Stopped,
        size: if course == Course::Full { LARGE } else { 0 },
        heard,
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = players
            .iter_mut()
            .map(|player| {
                let life = life(sender.clone());
                scope.spawn(move || player.live(&life))
            })
            .collect();
        drop(sender);
        let mut lived = Lived::default();
        let mut tear = None;
        let result = match course {
            Course::Stopped => Ok(()),
            Course::Killed => wait(&heard, rng.u64(..ANSWERS), rng),
            Course::Torn => wait(&heard, rng.u64(..ANSWERS), rng).and_then(|()| {
                is_losing.store(true, Ordering::Release);
                tear = wal::mark(&data(folder));
                wait(&heard, rng.u64(1..60), rng)
            }),
            Course::Full => fill(&server, &heard, rng).map(|failures| lived.failures = failures),
        };
        if course == Course::Stopped {
            let looked = clients
                .into_iter()
                .try_for_each(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())));
            return looked.and_then(|()| server.stop()).map(|()| lived);
        }
        is_over.store(true, Ordering::Release);
        let killed = server.kill();
        let ends = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())));
        // What a client saw says more than how the service ended.
        ends.collect::<Result<Vec<_>, _>>()?;
        killed.and(result)?;
        if let Some(mark) = tear {
            lived.is_torn = wal::tear(&data(folder), mark, rng).map_err(|error| error.to_string())?;
        }
        Ok(lived)
    })
}

/// Waits for so many answers, and a moment that is none of theirs.
fn wait(heard: &Receiver<Heard>, answers: u64, rng: &mut Rng) -> Result<(), String> {
    for _ in 0..answers {
        match heard.recv_timeout(DEADLINE) {
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => return Err("no answers come".to_owned()),
        }
    }
    std::thread::sleep(Duration::from_micros(rng.u64(..20_000)));
    Ok(())
}

/// Fills the disk until requests fail, makes room, and waits until all goes on.
fn fill(server: &Server, heard: &Receiver<Heard>, rng: &mut Rng) -> Result<u64, String> {
    wait(heard, rng.u64(1..100), rng)?;
    server.limit_files(Some(ROOM))?;
    let mut failures = 0;
    while failures < FAILURES {
        match heard.recv_timeout(DEADLINE) {
            Ok(Heard::StorageFailed) => failures += 1,
            Ok(Heard::Answer) => {}
            Err(error) => return Err(format!("on a full disk: {error}")),
        }
    }
    if rng.bool() {
        // Killed while it is full.
        return Ok(failures);
    }
    server.limit_files(None)?;
    let mut answers = 0;
    while answers < 200 {
        match heard.recv_timeout(DEADLINE) {
            Ok(Heard::Answer) => answers += 1,
            Ok(Heard::StorageFailed) => failures += 1,
            Err(error) => return Err(format!("with room again: {error}")),
        }
    }
    Ok(failures)
}
