//! A client: asks for changes without waiting, keeps account of the answers, and looks after each crash what is there.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};

use fastrand::Rng;
use oam_tests::{Id, Monitor, RpcError, ToolCall};
use serde_json::{Value, json};

use super::{
    account::{Account, Ticket},
    npcs::Npcs,
    server::Server,
    sessions::{self, Seen, Sessions},
    worlds::Worlds,
};

/// Requests of a client that wait for their answer.
const WINDOW: usize = 12;
/// The world that all clients of a realm write, each its own member.
const SHARED: &str = "shared";

/// What the one who kills hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A change was answered.
    Answer,
    /// One was refused, since the disk cannot be written.
    StorageFailed,
}

/// What the clients share of one life of the service.
pub(super) struct Life<'a> {
    pub(super) socket: &'a Path,
    /// What is answered from now on may be lost: the power is cut before it is on disk.
    pub(super) is_losing: &'a AtomicBool,
    /// The service is being killed.
    pub(super) is_over: &'a AtomicBool,
    /// Only looks what is there.
    pub(super) only_looks: bool,
    /// Bytes that are added to each change.
    pub(super) size: usize,
    pub(super) heard: Sender<Heard>,
}

/// A member of the shared world, which only ever grows.
#[derive(Default)]
struct Member {
    settled: u64,
    asked: u64,
}

/// The world that the NPC writes: what it wrote last, and how often it wrote.
#[derive(Default)]
struct Home {
    log: u64,
    version: u64,
}

pub(super) struct Player {
    realm: String,
    number: usize,
    rng: Rng,
    next: Ticket,
    marks: u64,
    worlds: Vec<Account<Worlds>>,
    sessions: Vec<Account<Sessions>>,
    npc: Account<Npcs>,
    home: Home,
    member: Member,
    seen: Seen,
    has_started: bool,
    pub(super) answered: u64,
    pub(super) calls: u64,
}

/// Where an answer belongs.
#[derive(Clone, Copy)]
enum Place {
    World(usize),
    Session(usize),
    Npc,
    Shared(u64),
    /// It makes what is there from the start on.
    Start,
}

/// A connection, and what waits for an answer on it.
struct Wire {
    input: UnixStream,
    output: BufReader<UnixStream>,
    monitor: Monitor,
    open: HashMap<Ticket, Place>,
    /// How often each turn called its tool.
    calls: HashMap<Ticket, u64>,
}

/// The connection ended.
struct Gone;

impl Wire {
    fn send(&mut self, message: &Value) -> Result<(), Gone> {
        self.monitor.sent(message);
        writeln!(self.input, "{message}").map_err(|_| Gone)
    }

    /// The next message, of which `None` is the end.
    fn receive(&mut self) -> Result<Option<Value>, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            // A line that is cut off was never said.
            Ok(_) if !line.ends_with('\n') => Ok(None),
            Ok(_) => {
                let message =
                    self.monitor.received(line.trim_end()).map_err(|rule| format!("{rule}: {line}"))?;
                Ok(Some(message.value))
            }
            Err(_) => Ok(None),
        }
    }
}

fn outcome(message: &Value) -> Result<Value, RpcError> {
    match message.get("error") {
        Some(error) => Err(RpcError::of(error)),
        None => Ok(message["result"].clone()),
    }
}

impl Player {
    pub(super) fn new(realm: usize, number: usize, seed: u64) -> Self {
        Self {
            realm: format!("realm-{realm}"),
            number,
            rng: Rng::with_seed(seed),
            next: 1,
            marks: 0,
            worlds: (0..2).map(|world| Account::new(format!("w{number}-{world}"))).collect(),
            sessions: (0..2).map(|session| Account::new(format!("s{number}-{session}"))).collect(),
            npc: Account::new(format!("n{number}")),
            home: Home::default(),
            member: Member::default(),
            seen: Seen::default(),
            has_started: false,
            answered: 0,
            calls: 0,
        }
    }

    fn home(&self) -> String {
        format!("h{}", self.number)
    }

    /// Lives until the service ends.
    pub(super) fn live(&mut self, life: &Life<'_>) -> Result<(), String> {
        let is_over = || life.is_over.load(Ordering::Acquire);
        let Some(input) = Server::connect(life.socket, is_over)? else { return Ok(()) };
        let output = BufReader::new(input.try_clone().map_err(|error| error.to_string())?);
        let (monitor, open, calls) = (Monitor::default(), HashMap::new(), HashMap::new());
        let mut wire = Wire { input, output, monitor, open, calls };
        let end = match self.look(&mut wire)? {
            Ok(()) if life.only_looks => return Ok(()),
            Ok(()) => self.work(&mut wire, life)?,
            Err(Gone) => Gone,
        };
        let Gone = end;
        if is_over() { Ok(()) } else { Err("the connection ended by itself".to_owned()) }
    }

    /// Asks and waits.
    fn ask(
        &mut self,
        wire: &mut Wire,
        method: &str,
        params: &Value,
    ) -> Result<Result<Result<Value, RpcError>, Gone>, String> {
        let id = self.ticket();
        if wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).is_err() {
            return Ok(Err(Gone));
        }
        while let Some(message) = wire.receive()? {
            if message["id"] == id {
                return Ok(Ok(outcome(&message)));
            }
        }
        Ok(Err(Gone))
    }

    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        self.next
    }

    /// Looks what is there.
    fn look(&mut self, wire: &mut Wire) -> Result<Result<(), Gone>, String> {
        let client = json!({"client": {"name": "soak", "realm": self.realm}});
        match self.ask(wire, "initialize", &client)? {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(format!("{} does not open: {error:?}", self.realm)),
            Err(Gone) => return Ok(Err(Gone)),
        }
        macro_rules! there {
            ($question:expr) => {{
                let (method, params) = $question;
                match self.ask(wire, method, &params)? {
                    Ok(Ok(found)) => Some(found),
                    Ok(Err(error)) if error.name.ends_with("_not_found") => None,
                    Ok(Err(error)) => return Err(format!("{method} {params}: {error:?}")),
                    Err(Gone) => return Ok(Err(Gone)),
                }
            }};
        }
        for at in 0..self.worlds.len() {
            let found = there!(self.worlds[at].question());
            self.worlds[at].verify(found.as_ref())?;
        }
        for at in 0..self.sessions.len() {
            let found = there!(self.sessions[at].question());
            self.sessions[at].verify(found.as_ref(), &mut self.seen)?;
        }
        let found = there!(self.npc.question());
        self.npc.verify(found.as_ref(), &mut self.seen)?;
        let found = there!(("world/snapshot", json!({"world": self.home()})));
        self.verify_home(found.as_ref())?;
        let found = there!(("world/get", json!({"world": SHARED, "path": format!("m{}", self.number)})));
        let value = found.and_then(|found| found["value"].as_u64()).unwrap_or(0);
        if !(self.member.settled..=self.member.asked).contains(&value) {
            let Member { settled, asked } = self.member;
            return Err(format!("member {} is {value}, not from {settled} to {asked}", self.number));
        }
        self.member.settled = value;
        Ok(Ok(()))
    }

    /// What an NPC writes into a world is there as soon as its turn is answered.
    fn verify_home(&mut self, found: Option<&Value>) -> Result<(), String> {
        let Some(found) = found else {
            return if self.has_started { Err("the home of the NPC is gone".to_owned()) } else { Ok(()) };
        };
        let (log, version) = (found["state"]["log"].as_u64(), found["version"].as_u64());
        let (log, version) = (log.unwrap_or_default(), version.unwrap_or_default());
        if log < self.home.log || version < self.home.version {
            let Home { log, version } = self.home;
            return Err(format!("the home of the NPC was at {log} in version {version}, now {found}"));
        }
        self.home = Home { log, version };
        Ok(())
    }

    fn work(&mut self, wire: &mut Wire, life: &Life<'_>) -> Result<Gone, String> {
        for (world, state) in [(SHARED.to_owned(), json!({})), (self.home(), json!({"log": 0}))] {
            let params = json!({"world": world, "state": state});
            if self.request(wire, Place::Start, "world/create", &params).is_err() {
                return self.read_rest(wire, life);
            }
        }
        loop {
            while wire.open.len() < WINDOW {
                if self.change(wire, life.size).is_err() {
                    return self.read_rest(wire, life);
                }
            }
            match wire.receive()? {
                Some(message) => drop(self.hear(wire, &message, life)?),
                None => return Ok(Gone),
            }
        }
    }

    /// What was said before the end counts.
    fn read_rest(&mut self, wire: &mut Wire, life: &Life<'_>) -> Result<Gone, String> {
        while let Some(message) = wire.receive()? {
            drop(self.hear(wire, &message, life)?);
        }
        Ok(Gone)
    }

    fn request(
        &mut self,
        wire: &mut Wire,
        place: Place,
        method: &str,
        params: &Value,
    ) -> Result<Ticket, Gone> {
        let id = self.ticket();
        wire.open.insert(id, place);
        wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// Asks for a change of something.
    fn change(&mut self, wire: &mut Wire, size: usize) -> Result<(), Gone> {
        self.marks += 1;
        let mark = self.marks;
        // Asked for is what may have arrived, however the sending ends.
        let ticket = self.next + 1;
        match self.rng.u8(..10) {
            0..4 => {
                let at = self.rng.usize(..self.worlds.len());
                let (change, method, params) = self.worlds[at].next(&mut self.rng, mark, size);
                self.worlds[at].asked(ticket, change);
                self.request(wire, Place::World(at), method, &params)?;
            }
            4..7 => {
                let at = self.rng.usize(..self.sessions.len());
                if self.sessions[at].must_wait() {
                    return self.change_member(wire, mark);
                }
                let (change, method, params) = self.sessions[at].next(&mut self.rng, mark, size);
                self.sessions[at].asked(ticket, change);
                self.request(wire, Place::Session(at), method, &params)?;
            }
            7..9 => {
                let home = self.home();
                let (change, method, params) = self.npc.next(&mut self.rng, mark, size, &home);
                self.npc.asked(ticket, change);
                self.request(wire, Place::Npc, method, &params)?;
            }
            _ => return self.change_member(wire, mark),
        }
        Ok(())
    }

    fn change_member(&mut self, wire: &mut Wire, mark: u64) -> Result<(), Gone> {
        self.member.asked = mark;
        let params = json!({"world": SHARED, "path": format!("m{}", self.number), "value": mark});
        self.request(wire, Place::Shared(mark), "world/set", &params).map(drop)
    }

    fn hear(
        &mut self,
        wire: &mut Wire,
        message: &Value,
        life: &Life<'_>,
    ) -> Result<Result<(), Gone>, String> {
        if let Some(call) = ToolCall::of(message) {
            return self.called(wire, &call);
        }
        let Some(place) = message["id"].as_u64().and_then(|id| wire.open.remove(&id)) else {
            return Ok(Ok(()));
        };
        let id = message["id"].as_u64().unwrap_or_default();
        let outcome = outcome(message);
        let calls = wire.calls.remove(&id).unwrap_or(0);
        if let (Place::Session(_), Ok(answer)) = (place, &outcome)
            && answer["toolCalls"].as_array().map_or(0, Vec::len) as u64 != calls
        {
            return Err(format!("the tool was called {calls} times for {answer}"));
        }
        let is_failure = matches!(&outcome, Err(error) if error.name == "storage_failed");
        if let Err(error) = &outcome
            && is_failure
        {
            check_storage_failure(error)?;
        }
        // Whoever listens has gone once it has heard enough.
        let _ = life.heard.send(if is_failure { Heard::StorageFailed } else { Heard::Answer });
        if life.is_losing.load(Ordering::Acquire) && (outcome.is_ok() || is_failure) {
            return Ok(Ok(()));
        }
        self.answered += 1;
        match place {
            Place::World(at) => self.worlds[at].answered(id, &outcome)?,
            Place::Session(at) => self.sessions[at].answered(id, &outcome)?,
            Place::Npc => {
                self.note_home(&outcome);
                self.npc.answered(id, &outcome)?;
            }
            Place::Shared(value) if outcome.is_ok() => self.member.settled = value,
            Place::Start => self.has_started |= outcome.is_ok(),
            Place::Shared(_) => {}
        }
        Ok(Ok(()))
    }

    fn note_home(&mut self, outcome: &Result<Value, RpcError>) {
        let Ok(answer) = outcome else { return };
        for record in answer["toolCalls"].as_array().into_iter().flatten() {
            let call = &record["call"];
            let value = call["arguments"]["value"].as_str().and_then(|value| value.parse().ok());
            if let (Some(value), "update_world_state", false) =
                (value, call["name"].as_str().unwrap_or_default(), record["isError"] == true)
            {
                self.home.log = value;
            }
        }
    }

    /// Answers a call of the tool, which no turn makes twice, nor again after it was answered.
    fn called(&mut self, wire: &mut Wire, call: &ToolCall) -> Result<Result<(), Gone>, String> {
        let number = call.arguments["n"].as_u64().ok_or("a call without its number")?;
        if let Some(session) = self.sessions.iter().find(|session| Some(&session.id) == call.session.as_ref())
        {
            session.called(number)?;
        }
        let turn = Id::of(&call.request_id).ok_or("a call without a turn")?;
        let ticket =
            call.request_id.as_u64().ok_or_else(|| format!("{turn} is not a turn of this client"))?;
        let count = wire.calls.entry(ticket).or_default();
        *count += 1;
        if *count > 1 {
            return Err(format!("the turn {ticket} calls its tool twice"));
        }
        self.calls += 1;
        let output = sessions::output(number);
        Ok(wire.send(&json!({"jsonrpc": "2.0", "id": call.id, "result": {"output": output}})))
    }
}

/// Whoever reads it must learn what is wrong and what became of the change.
fn check_storage_failure(error: &RpcError) -> Result<(), String> {
    let is_clear = error.code == -32015
        && error.data["retryable"] == true
        && error.data["applied"].is_boolean()
        && error.data["reason"].as_str().is_some_and(|reason| !reason.is_empty())
        && error.message.contains("disk");
    if is_clear { Ok(()) } else { Err(format!("not clear: {error:?}")) }
}
