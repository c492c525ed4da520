//! What the audience sees: every line of output of the tavern, in colours and letter by letter on a terminal, plain
//! elsewhere.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use oam_agent::{AgentError, ToolCall, ToolRecord};
use oam_game::{Decision, DecisionOptions, DialogueTurn, Emotion, Relationship};
use oam_workers::{Counters, ExitCause, KilledWorker};

use super::typewriter::Typewriter;
use crate::{
    console::{self, Console, counted},
    tool_activity,
};

const TITLE: Style = AnsiColor::Yellow.on_default().bold();
const MIRA: Style = AnsiColor::Magenta.on_default().bold();
const TROUBLE: Style = AnsiColor::Red.on_default();

pub(super) const PLAYER_PROMPT: &str = "you › ";

/// The stage's front.
#[derive(Debug)]
pub(super) struct Show {
    console: Console,
    typewriter: Typewriter,
    line: Line,
}

/// How far Mira's line has come.
#[derive(Debug, Default)]
struct Line {
    emotion: Option<Emotion>,
    /// All that she has said of it so far.
    said: String,
    /// The cursor stands behind words.
    is_open: bool,
    /// Something came between its words.
    is_interrupted: bool,
}

/// What was worth noting about a turn.
pub(super) struct TurnNotes {
    pub(super) took: Duration,
    pub(super) gold: (i64, i64),
    pub(super) feelings: (Relationship, Relationship),
}

/// What there was of everything.
pub(super) struct Totals {
    pub(super) turns: usize,
    pub(super) tool_calls: usize,
    pub(super) tokens: u64,
    pub(super) took: Duration,
}

impl Show {
    pub(super) fn new() -> Self {
        let console = Console::stdout();
        Self { console, typewriter: Typewriter::new(console), line: Line::default() }
    }

    pub(super) fn title(&self, place: &str, announcement: &str) {
        self.console.line(&self.console.painted(TITLE, place));
        self.aside(announcement);
    }

    /// Something said beside the scene.
    pub(super) fn aside(&self, text: &str) {
        self.console.line(&self.console.painted(console::ASIDE, &self.console.shown(text)));
    }

    pub(super) fn trouble(&mut self, text: &str) {
        self.close_line();
        self.console.line(&format!("  {}", self.console.painted(TROUBLE, &self.console.shown(text))));
    }

    pub(super) fn bark(&self, line: &str) {
        let name = self.console.painted(MIRA, "Mira");
        self.console.line(&format!("\n{name}, to nobody: {}", self.console.shown(line)));
    }

    pub(super) fn suggestions(&self, suggestions: &[String]) {
        let numbered = suggestions.iter().zip(1..).map(|(line, number)| format!("{number}) {line}"));
        let listed = numbered.collect::<Vec<_>>().join("  ");
        self.console.line("");
        if !listed.is_empty() {
            self.aside(&listed);
        }
    }

    /// What the player says who does not type it here.
    pub(super) fn player(&self, line: &str) {
        let prompt = self.console.painted(console::PROMPT, PLAYER_PROMPT);
        self.console.line(&format!("{prompt}{}", self.console.shown(line)));
    }

    pub(super) fn call(&mut self, call: &ToolCall) {
        self.close_line();
        self.aside(&format!("  {}", tool_activity::asked(call)));
    }

    pub(super) fn record(&mut self, record: &ToolRecord) {
        self.close_line();
        self.aside(&format!("  ← {}", tool_activity::output(record)));
    }

    pub(super) fn emotion(&mut self, emotion: Emotion) {
        self.line.emotion = Some(emotion);
    }

    /// More of Mira's line.
    pub(super) fn words(&mut self, words: &str) {
        if !self.line.is_open {
            let name = self.console.painted(MIRA, "Mira");
            let feeling = self.line.emotion.map(|emotion| format!(" ({})", emotion.as_str()));
            let start = match (self.line.is_interrupted, self.line.said.is_empty()) {
                (true, false) => "  …".to_owned(),
                _ => format!("{name}{}: ", feeling.unwrap_or_default()),
            };
            self.console.write(&start);
        }
        self.line.is_open = true;
        self.line.said.push_str(words);
        self.typewriter.type_text(&self.console.shown(words));
    }

    /// Mira words her line anew.
    pub(super) fn reworded(&mut self, line: &str) {
        self.close_line();
        self.line.said.clear();
        self.words(line);
    }

    /// The words of the line that have been said so far.
    pub(super) fn said(&self) -> &str {
        &self.line.said
    }

    /// Does the next thing that takes time, if there is one.
    pub(super) async fn go_on(&mut self) {
        self.typewriter.stroke().await;
    }

    pub(super) fn killed(&mut self, killed: KilledWorker) {
        let KilledWorker { worker, pid } = killed;
        self.trouble(&format!("✗ kill -9 {pid}: that was {worker}, the worker that speaks for Mira"));
    }

    pub(super) fn worker_died(&mut self, worker: &str, cause: &ExitCause) {
        self.trouble(&format!("✗ {worker} {cause}"));
    }

    pub(super) fn step_replayed(&mut self) {
        self.close_line();
        self.aside("  ↻ another worker plays the step again; what was said and done stays");
    }

    pub(super) async fn turn_done(&mut self, turn: &DialogueTurn, notes: &TurnNotes) {
        self.typewriter.finish().await;
        self.close_line();
        let TurnNotes { took, gold, feelings } = notes;
        let opinion = |feelings: Relationship| format!("{} {}", feelings.attitude(), feelings.get());
        let mut parts = vec![
            seconds(*took),
            change("gold", &gold.0.to_string(), &gold.1.to_string()),
            change("opinion of you", &opinion(feelings.0), &opinion(feelings.1)),
        ];
        if turn.is_fallback {
            parts.push("a fallback line: the model would not answer".to_owned());
        }
        self.aside(&format!("  {}", parts.join(" · ")));
        self.line = Line::default();
    }

    pub(super) fn turn_failed(&mut self, error: &AgentError) {
        self.trouble(&format!("Mira has no answer: {error}"));
        self.line = Line::default();
    }

    pub(super) fn closing_time(&self, options: &DecisionOptions) {
        self.closing_title();
        let ids: Vec<_> = options.as_slice().iter().map(|option| option.id.as_str()).collect();
        self.aside(&format!("It is late, it rains, and you have no bed. Mira decides: {}?", ids.join(", ")));
    }

    pub(super) fn bed_is_paid_for(&self) {
        self.closing_title();
        self.aside("Your bed is paid for, so Mira has nothing to decide.");
    }

    pub(super) fn decision(&self, decision: &Decision, took: Duration) {
        let name = self.console.painted(MIRA, "Mira");
        let sureness = if decision.is_fallback {
            "the fallback: the model would not decide".to_owned()
        } else {
            format!("{}% sure", decision.confidence)
        };
        self.console.line(&format!("{name} chooses {} ({sureness}, {})", decision.option, seconds(took)));
        if !decision.reasoning.is_empty() {
            self.aside(&format!("  “{}”", decision.reasoning.trim()));
        }
    }

    pub(super) fn summary(&self, totals: &Totals, workers: Option<&Counters>) {
        let Totals { turns, tool_calls, tokens, took } = totals;
        let totals = [
            counted(*turns as u64, "turn"),
            counted(*tool_calls as u64, "tool call"),
            counted(*tokens, "token"),
            seconds(*took),
        ];
        self.console.line(&format!("\n{}", totals.join(", ")));
        if let Some(Counters { started, crashes, replays, .. }) = workers {
            let died: u64 = crashes.values().sum();
            let (started, replays) = (counted(*started, "worker"), counted(*replays, "step"));
            self.console.line(&format!("{started} started, {died} died, {replays} played again"));
        }
        self.aside("What happened here is told by docs/GAMES.md; `oam agent-readme` is for AI agents.");
    }

    fn closing_title(&self) {
        self.console.line(&format!("\n{}", self.console.painted(TITLE, "Closing time")));
    }

    fn close_line(&mut self) {
        if self.line.is_open {
            self.typewriter.flush();
            self.console.write("\n");
            self.line.is_open = false;
            self.line.is_interrupted = true;
        }
    }
}

fn change(what: &str, before: &str, after: &str) -> String {
    if before == after { format!("{what} {after}") } else { format!("{what} {before} → {after}") }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
