//! Everything that can go wrong with workers, one after the other.
//!
//! Faults of steps wait in every worker for a word in the prompt, and then come true more often than not, so that a
//! turn with the word has its worker die once, several times, or never. Faults of a process's start wait for a file
//! to be missing; the worker that finds it so makes it. The program itself is a link, which can be taken away. That way
//! one `oam` and the same command line see it all. Other workers know no faults; they are killed and stopped.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use fastrand::Rng;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{oam_binary, procfs};

/// How often a fault comes true in a step that it is meant for.
const STRIKES: f64 = 0.6;
/// So many turns of each phase go wrong, or more.
const LEAST: u64 = 4;

/// What goes wrong in a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// Nothing.
    None,
    /// A fault in a step whose prompt has its name. `rarity` divides how many are meant for it.
    Step { fault: &'static str, rarity: f64 },
    /// All faults of steps that cost no time, at random.
    Any,
    /// A fault at a worker's start, once in each so many milliseconds.
    Start { fault: &'static str, every: u64 },
    /// A signal from outside to a random worker, once in each so many milliseconds.
    Signal { signal: Signal, every: u64 },
    /// The program is not there any more, until the breaker opens.
    Storm,
}

const fn step(fault: &'static str) -> Trouble {
    Trouble::Step { fault, rarity: 1.0 }
}

const fn rare(fault: &'static str) -> Trouble {
    Trouble::Step { fault, rarity: 15.0 }
}

/// The phases of a soak of scripted workers.
const PHASES: &[Trouble] = &[
    Trouble::None,
    step("abort"),
    step("segv"),
    step("kill"),
    step("exit0"),
    step("exit1"),
    step("crash-streaming"),
    step("half-frame"),
    step("garbage"),
    step("oversized"),
    step("no-calls"),
    step("long-answer"),
    step("ready-again"),
    rare("runaway"),
    step("double-finish"),
    step("stray-events"),
    step("print-stdout"),
    rare("hang"),
    rare("spin"),
    rare("hang-ignoring-cancel"),
    rare("leave-group"),
    rare("mute"),
    rare("slow-drip"),
    rare("leak"),
    rare("flood-stderr"),
    Trouble::Start { fault: "die-before-ready", every: 200 },
    Trouble::Start { fault: "bad-version", every: 200 },
    Trouble::Start { fault: "early-pong", every: 200 },
    Trouble::Start { fault: "no-ready", every: 60_000 },
    Trouble::Signal { signal: Signal::SIGKILL, every: 50 },
    Trouble::Signal { signal: Signal::SIGSTOP, every: 5_000 },
    Trouble::Storm,
    Trouble::Any,
];

/// The phases of a soak of other workers, which know no faults.
const PHASES_OF_OTHERS: &[Trouble] = &[
    Trouble::None,
    Trouble::Signal { signal: Signal::SIGKILL, every: 50 },
    Trouble::Signal { signal: Signal::SIGSEGV, every: 50 },
    Trouble::Signal { signal: Signal::SIGABRT, every: 50 },
    Trouble::Signal { signal: Signal::SIGTERM, every: 50 },
    Trouble::Signal { signal: Signal::SIGSTOP, every: 1_000 },
    Trouble::Storm,
    Trouble::None,
];

impl Trouble {
    pub(crate) fn name(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Step { fault, .. } | Self::Start { fault, .. } => fault.to_owned(),
            Self::Any => "any".to_owned(),
            Self::Signal { signal, .. } => format!("{signal} from outside"),
            Self::Storm => "restart storm".to_owned(),
        }
    }

    /// The word for the prompt of a turn that is to go wrong: the first few of a phase, and `rate` of them all.
    pub(crate) fn word(self, rng: &mut Rng, rate: f64, turns_before: u64) -> Option<String> {
        let (fault, rarity) = match self {
            Self::Step { fault, rarity } => (fault, rarity),
            Self::Any => {
                let usual = PHASES.iter().filter_map(|trouble| match trouble {
                    Self::Step { fault, rarity: 1.0 } => Some(*fault),
                    _ => None,
                });
                (rng.choice(usual.collect::<Vec<_>>())?, 1.0)
            }
            _ => return None,
        };
        (turns_before < LEAST || rng.f64() < rate / rarity).then(|| word_of(fault))
    }

    /// Whether a worker may die under a step that is not meant to.
    pub(crate) fn strikes_blindly(self) -> bool {
        matches!(self, Self::Start { .. } | Self::Signal { .. } | Self::Storm)
    }

    /// How long it may take to show when nobody looks: a worker that is mute and idle is found out by its pings only.
    pub(crate) fn aftermath(self) -> Duration {
        match self {
            Self::Step { fault: "mute", .. } => Duration::from_secs(8),
            _ => Duration::ZERO,
        }
    }

    /// The pause between two strikes of what does not wait for a prompt.
    pub(crate) fn pace(self) -> Option<Duration> {
        match self {
            Self::Start { every, .. } | Self::Signal { every, .. } => Some(Duration::from_millis(every)),
            Self::Storm => Some(Duration::from_millis(10)),
            Self::None | Self::Step { .. } | Self::Any => None,
        }
    }
}

fn word_of(fault: &str) -> String {
    fault.replace('-', "")
}

/// A worker other than the scripted one.
#[derive(Debug, Clone)]
pub(crate) struct OtherWorker {
    program: PathBuf,
    arguments: Vec<String>,
}

impl FromStr for OtherWorker {
    type Err = String;

    fn from_str(command: &str) -> Result<Self, String> {
        let mut words = shell_words::split(command).map_err(|error| error.to_string())?.into_iter();
        let program = words.next().ok_or("it is empty")?;
        let program = fs::canonicalize(&program).map_err(|error| format!("{program}: {error}"))?;
        Ok(Self { program, arguments: words.collect() })
    }
}

/// What workers find in the file system: the files that hold faults of starts back, and the program.
pub(crate) struct Marks<'a> {
    folder: PathBuf,
    other: Option<&'a OtherWorker>,
}

impl<'a> Marks<'a> {
    /// Holds all faults back.
    pub(crate) fn new(folder: &Path, other: Option<&'a OtherWorker>) -> std::io::Result<Self> {
        let marks = Self { folder: folder.to_owned(), other };
        symlink(marks.program(), marks.link())?;
        for fault in marks.faults_of_starts() {
            fs::write(marks.path(fault), "")?;
        }
        Ok(marks)
    }

    /// What the soak goes through.
    pub(crate) fn phases(&self) -> &'static [Trouble] {
        if self.other.is_some() { PHASES_OF_OTHERS } else { PHASES }
    }

    fn faults_of_starts(&self) -> impl Iterator<Item = &'static str> {
        self.phases().iter().filter_map(|trouble| match trouble {
            Trouble::Start { fault, .. } => Some(*fault),
            _ => None,
        })
    }

    fn path(&self, fault: &str) -> PathBuf {
        self.folder.join(fault)
    }

    fn program(&self) -> &'a Path {
        match self.other {
            Some(other) => &other.program,
            None => oam_binary(),
        }
    }

    /// What workers are started by.
    fn link(&self) -> PathBuf {
        self.folder.join("worker")
    }

    /// The command line of workers.
    pub(crate) fn command(&self, seed: u64) -> Vec<String> {
        let mut words = vec![self.link().display().to_string()];
        if let Some(other) = self.other {
            words.extend(other.arguments.iter().cloned());
            return words;
        }
        words.extend(["worker", "scripted", "--seed"].map(str::to_owned));
        words.push(seed.to_string());
        for trouble in self.phases() {
            let spec = match trouble {
                Trouble::Step { fault, .. } => format!("{fault}:word={}+p={STRIKES}", word_of(fault)),
                Trouble::Start { fault, .. } => format!("{fault}:once={}", self.path(fault).display()),
                _ => continue,
            };
            words.extend(["--fault".to_owned(), spec]);
        }
        words
    }

    /// Strikes once, among the workers of `oam`.
    pub(crate) fn strike(&self, trouble: Trouble, oam: u32, rng: &mut Rng) {
        match trouble {
            Trouble::Start { fault, .. } => {
                // The next worker that starts, which is soon.
                let _ = fs::remove_file(self.path(fault));
                signal_one(oam, Signal::SIGKILL, rng);
            }
            Trouble::Signal { signal, .. } => signal_one(oam, signal, rng),
            Trouble::Storm => {
                let _ = fs::remove_file(self.link());
                for worker in procfs::children(oam).unwrap_or_default() {
                    self::signal(worker.pid, Signal::SIGKILL);
                }
            }
            Trouble::None | Trouble::Step { .. } | Trouble::Any => {}
        }
    }

    /// Lets workers start without trouble.
    pub(crate) fn hold_back(&self) {
        // It is mostly there.
        let _ = symlink(self.program(), self.link());
        for fault in self.faults_of_starts() {
            let _ = fs::write(self.path(fault), "");
        }
    }
}

fn signal_one(oam: u32, signal: Signal, rng: &mut Rng) {
    if let Some(worker) = rng.choice(procfs::children(oam).unwrap_or_default()) {
        self::signal(worker.pid, signal);
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        // It may have gone by itself, and until its parent has seen that, its number is nobody else's.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}
