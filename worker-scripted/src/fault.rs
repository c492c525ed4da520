//! What goes wrong, and when.

use std::{
    fs::File,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use clap::ValueEnum;

/// A way to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FaultKind {
    /// Die of SIGABRT
    Abort,
    /// Die of SIGSEGV
    Segv,
    /// Die of SIGKILL
    Kill,
    /// Exit with 0
    Exit0,
    /// Exit with 1
    Exit1,
    /// Die of SIGABRT after the second piece of a streamed answer; never in a step that is not streamed
    CrashStreaming,
    /// Say nothing more in the step, until it is cancelled
    Hang,
    /// The same, with a busy processor
    Spin,
    /// Say nothing more in the step, cancelled or not
    HangIgnoringCancel,
    /// Stop answering pings; without a condition about steps, from the start
    Mute,
    /// Write half of a frame, then die of SIGABRT
    HalfFrame,
    /// Write a frame that is no MessagePack
    Garbage,
    /// Announce a frame over the limit
    Oversized,
    /// Write a byte every two milliseconds
    SlowDrip,
    /// End the step twice
    DoubleFinish,
    /// Say something in a step that does not exist
    StrayEvents,
    /// Keep 64 MiB more memory
    Leak,
    /// Write 16 MiB to standard error
    FloodStderr,
    /// Write something like a protocol message to standard output
    PrintStdout,
    /// Leave the process group, then say nothing more, cancelled or not
    LeaveGroup,
    /// Stream an answer without end, asked to stream or not
    Runaway,
    /// End the step with a round of tool calls that has no call
    NoCalls,
    /// End the step with an answer over the limit
    LongAnswer,
    /// Say `ready` again
    ReadyAgain,
    /// Die of SIGABRT when asked to count tokens
    CrashCounting,
    /// Leave a question for tokens unanswered
    SkipCounting,
    /// At the start: answer a ping that has not come, before `ready`
    EarlyPong,
    /// At the start: say a protocol version that does not exist
    BadVersion,
    /// At the start: never say `ready`
    NoReady,
    /// At the start: exit with 1 before `ready`
    DieBeforeReady,
}

impl FaultKind {
    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// It can only happen when a process starts.
    fn is_of_start(self) -> bool {
        matches!(self, Self::EarlyPong | Self::BadVersion | Self::NoReady | Self::DieBeforeReady)
    }

    /// It happens when tokens are to be counted, and not in a step.
    fn is_of_counting(self) -> bool {
        matches!(self, Self::CrashCounting | Self::SkipCounting)
    }

    /// When in a step it happens, unless that is told.
    fn usual_moment(self) -> Moment {
        match self {
            Self::CrashStreaming => Moment::AfterPieces(2),
            Self::Mute | Self::SlowDrip | Self::Leak | Self::FloodStderr | Self::PrintStdout => Moment::START,
            _ => Moment::MIDDLE,
        }
    }
}

/// A moment of a step. A step with fewer pieces comes to it before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    AfterPieces(usize),
    End,
}

impl Moment {
    pub(crate) const START: Self = Self::AfterPieces(0);
    const MIDDLE: Self = Self::AfterPieces(1);
}

/// A fault as it is given on the command line: `KIND` or `KIND:CONDITION+CONDITION`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FaultSpec {
    kind: FaultKind,
    moment: Option<Moment>,
    step: Option<u64>,
    word: Option<String>,
    only_streamed: bool,
    probability: Option<f64>,
    once: Option<PathBuf>,
}

impl FaultSpec {
    /// It happens when the process starts, rather than in a step.
    fn strikes_at_start(&self) -> bool {
        self.kind.is_of_start() || (self.kind == FaultKind::Mute && !self.is_about_steps())
    }

    fn strikes_in_steps(&self) -> bool {
        !self.strikes_at_start() && !self.kind.is_of_counting()
    }

    fn is_about_steps(&self) -> bool {
        self.step.is_some() || self.word.is_some() || self.only_streamed || self.moment.is_some()
    }

    /// Whether a step is one that it is about.
    fn concerns(&self, step: &StepFacts<'_>) -> bool {
        self.step.is_none_or(|number| number == step.number)
            && (!self.only_streamed || step.is_streamed)
            && self.word.as_deref().is_none_or(|word| holds_word(step.prompt, word))
    }
}

fn holds_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}

fn no_fault(name: &str) -> String {
    let names: Vec<_> = FaultKind::value_variants().iter().map(|kind| kind.name()).collect();
    format!("there is no fault '{name}'; the faults are {}", names.join(", "))
}

impl FromStr for FaultSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, when) = text.split_once(':').map_or((text, None), |(kind, when)| (kind, Some(when)));
        let kind = FaultKind::from_str(kind, false).map_err(|_| no_fault(kind))?;
        let mut spec = Self {
            kind,
            moment: None,
            step: None,
            word: None,
            only_streamed: kind == FaultKind::CrashStreaming,
            probability: None,
            once: None,
        };
        for condition in when.into_iter().flat_map(|when| when.split('+')) {
            spec.add(condition)?;
        }
        if kind.is_of_start() && spec.is_about_steps() {
            return Err("it happens when the process starts, so only 'p' and 'once' say something".to_owned());
        }
        Ok(spec)
    }
}

impl FaultSpec {
    fn add(&mut self, condition: &str) -> Result<(), String> {
        let wrong = |what: &str| format!("'{condition}' must be {what}");
        match condition.split_once('=').unwrap_or((condition, "")) {
            ("step", number) => {
                let number = number.parse().ok().filter(|number| *number > 0);
                self.step = Some(number.ok_or_else(|| wrong("the number of a step, from 1"))?);
            }
            ("p", probability) => {
                let probability = probability.parse().ok().filter(|p| (0.0..=1.0).contains(p));
                self.probability = Some(probability.ok_or_else(|| wrong("a probability from 0 to 1"))?);
            }
            ("word", word) if !word.is_empty() && word.chars().all(char::is_alphanumeric) => {
                self.word = Some(word.to_owned());
            }
            ("word", _) => return Err(wrong("one word of letters and digits")),
            ("stream", "") => self.only_streamed = true,
            ("once", path) if !path.is_empty() => self.once = Some(path.into()),
            ("once", _) => return Err(wrong("the path of a file that does not exist yet")),
            ("at", moment) => {
                self.moment = Some(match moment {
                    "start" => Moment::START,
                    "middle" => Moment::MIDDLE,
                    "end" => Moment::End,
                    _ => return Err(wrong("start, middle or end")),
                });
            }
            _ => return Err(format!("there is no condition '{condition}'")),
        }
        Ok(())
    }
}

/// What faults ask of a step.
#[derive(Debug)]
pub(crate) struct StepFacts<'a> {
    /// Counts the steps of this process, from 1.
    pub(crate) number: u64,
    pub(crate) prompt: &'a str,
    pub(crate) is_streamed: bool,
}

/// All faults of a process.
#[derive(Debug)]
pub(crate) struct Faults {
    specs: Vec<FaultSpec>,
    random: Mutex<fastrand::Rng>,
}

impl Faults {
    pub(crate) fn new(specs: Vec<FaultSpec>, seed: u64) -> Self {
        Self { specs, random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// Nothing will ever go wrong in a step.
    pub(crate) fn spare_steps(&self) -> bool {
        !self.specs.iter().any(FaultSpec::strikes_in_steps)
    }

    /// Those that happen now that the process starts.
    pub(crate) fn of_start(&self) -> Vec<FaultKind> {
        let specs = self.specs.iter().filter(|spec| spec.strikes_at_start() && self.comes_true(spec));
        specs.map(|spec| spec.kind).collect()
    }

    /// Those that happen when the tokens of a request with this prompt are to be counted.
    pub(crate) fn of_counting(&self, prompt: &str) -> Vec<FaultKind> {
        let request = StepFacts { number: 0, prompt, is_streamed: false };
        let specs = self.specs.iter().filter(|spec| spec.kind.is_of_counting() && spec.concerns(&request));
        specs.filter(|spec| self.comes_true(spec)).map(|spec| spec.kind).collect()
    }

    /// Those that happen in a step, in the order in which they do.
    pub(crate) fn of_step(&self, step: &StepFacts<'_>) -> Vec<(Moment, FaultKind)> {
        let specs = self.specs.iter().filter(|spec| spec.strikes_in_steps() && spec.concerns(step));
        let mut faults: Vec<_> = specs
            .filter(|spec| self.comes_true(spec))
            .map(|spec| (spec.moment.unwrap_or_else(|| spec.kind.usual_moment()), spec.kind))
            .collect();
        faults.sort_by_key(|(moment, _)| *moment);
        faults
    }

    /// Leaves the mark of a fault that happens once, so it comes last of all conditions.
    fn comes_true(&self, spec: &FaultSpec) -> bool {
        let drawn = || self.random.lock().unwrap_or_else(PoisonError::into_inner).f64();
        spec.probability.is_none_or(|probability| drawn() < probability)
            && spec.once.as_deref().is_none_or(leave_mark)
    }
}

/// Makes a file. False if it exists, or cannot be made: then nobody could tell that it has been.
fn leave_mark(path: &Path) -> bool {
    File::create_new(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(specs: &[&str]) -> Faults {
        Faults::new(specs.iter().map(|spec| spec.parse().unwrap()).collect(), 1)
    }

    fn step(number: u64, prompt: &str, is_streamed: bool) -> StepFacts<'_> {
        StepFacts { number, prompt, is_streamed }
    }

    #[test]
    fn a_fault_happens_in_every_step_that_fits_all_conditions() {
        let cases = [
            ("abort", step(1, "", false), true),
            ("abort:step=2", step(1, "", false), false),
            ("abort:step=2", step(2, "", false), true),
            ("abort:word=boom", step(1, "Then: boom!", false), true),
            ("abort:word=boom", step(1, "a boomerang", false), false),
            ("abort:stream", step(1, "", true), true),
            ("abort:stream", step(1, "", false), false),
            ("crash-streaming", step(1, "", false), false),
            ("crash-streaming", step(1, "", true), true),
            ("abort:step=2+word=boom", step(2, "", false), false),
            ("abort:step=2+word=boom", step(2, "boom", false), true),
            ("abort:p=0", step(1, "", false), false),
            ("abort:p=1", step(1, "", false), true),
            ("mute", step(1, "", false), false),
            ("mute:step=1", step(1, "", false), true),
            ("no-ready", step(1, "", false), false),
        ];
        for (spec, step, happens) in cases {
            assert_eq!(!faults(&[spec]).of_step(&step).is_empty(), happens, "{spec} {step:?}");
        }
    }

    #[test]
    fn faults_of_a_step_come_in_the_order_of_their_moments() {
        let faults = faults(&["exit0:at=end", "crash-streaming", "hang", "leak", "spin:at=start"]);
        let kinds = faults.of_step(&step(1, "", true)).into_iter().map(|(_, kind)| kind);
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [FaultKind::Leak, FaultKind::Spin, FaultKind::Hang, FaultKind::CrashStreaming, FaultKind::Exit0]
        );
    }

    #[test]
    fn faults_of_counting_do_not_happen_in_steps() {
        let faults = faults(&["crash-counting:word=boom", "skip-counting", "abort"]);
        assert_eq!(faults.of_counting("boom"), [FaultKind::CrashCounting, FaultKind::SkipCounting]);
        assert_eq!(faults.of_counting("calm"), [FaultKind::SkipCounting]);
        assert_eq!(faults.of_step(&step(1, "boom", false)).len(), 1);
    }

    #[test]
    fn faults_of_the_start_are_not_about_steps() {
        let faults = faults(&["bad-version", "mute", "mute:step=3", "no-ready:p=0", "abort"]);
        assert_eq!(faults.of_start(), [FaultKind::BadVersion, FaultKind::Mute]);
    }

    #[test]
    fn a_fault_with_a_mark_happens_once_in_all_processes() {
        let folder = tempfile::tempdir().unwrap();
        let spec = format!("kill:once={}", folder.path().join("mark").display());
        let happened: Vec<_> = (0..3).map(|_| faults(&[&spec]).of_step(&step(1, "", false)).len()).collect();
        assert_eq!(happened, [1, 0, 0]);
    }

    #[test]
    fn the_draws_follow_from_the_seed() {
        let draws = |seed| {
            let faults = Faults::new(vec!["abort:p=0.5".parse().unwrap()], seed);
            (0..64).map(|number| faults.of_step(&step(number, "", false)).len()).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn what_is_no_fault_is_told() {
        let cases = [
            ("abort:", "there is no condition ''"),
            ("abort:later", "there is no condition 'later'"),
            ("abort:stream=1", "there is no condition 'stream=1'"),
            ("abort:step=0", "'step=0' must be the number of a step, from 1"),
            ("abort:p=1.5", "'p=1.5' must be a probability from 0 to 1"),
            ("abort:p=NaN", "'p=NaN' must be a probability from 0 to 1"),
            ("abort:word=", "'word=' must be one word of letters and digits"),
            ("abort:once", "'once' must be the path of a file that does not exist yet"),
            ("abort:at=noon", "'at=noon' must be start, middle or end"),
            ("no-ready:step=1", "it happens when the process starts, so only 'p' and 'once' say something"),
        ];
        for (text, message) in cases {
            assert_eq!(text.parse::<FaultSpec>(), Err(message.to_owned()));
        }
    }

    #[test]
    fn who_misspells_a_fault_is_told_all_names() {
        for text in ["", "Abort", "abrt:p=1"] {
            let message = text.parse::<FaultSpec>().unwrap_err();
            assert!(message.starts_with("there is no fault '"), "{message}");
            assert!(
                message.contains("abort, segv, kill, ") && message.ends_with("die-before-ready"),
                "{message}"
            );
        }
    }
}
