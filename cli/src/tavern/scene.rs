//! The evening itself: a bark, some turns of dialogue, a decision.
//!
//! A turn is one call, [`Npc::talk`]. What happens meanwhile comes through a [`DialogueHost`]; this one passes it on into a
//! channel, so that showing it, typing letters and hearing of workers go on side by side while the model thinks.

use std::{
    future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use oam_agent::{Model, NoHost, ToolCall, ToolOutput, TurnClient};
use oam_game::{DecisionEngine, DialogueEvent, DialogueHost, DialogueTurn, Npc, NpcError, PlayerLine};
use oam_workers::{PoolEvent, WorkerPool};
use tokio::sync::{mpsc, oneshot};

use super::{
    cast,
    house::{House, ROOM},
    player::{Move, Player, sounds_like_farewell},
    playwright::Playwright,
    show::{Show, Totals, TurnNotes},
};
use crate::failure::Failure;

/// So much of a line has been said when its worker is killed in the middle of it, in characters.
const MIDDLE_OF_A_LINE: usize = 16;
/// The turn in which the worker is killed, if there are so many: the one in which the order is taken, if the canned
/// lines are said.
const KILLING_TURN: usize = 2;

/// All that an evening takes.
pub(crate) struct Evening {
    pub(crate) model: Arc<dyn Model>,
    /// The workers behind the model, if there are any.
    pub(crate) pool: Option<WorkerPool>,
    /// Whether Mira needs to be told what to say.
    pub(crate) is_scripted: bool,
    pub(crate) player: Player,
    pub(crate) max_turns: usize,
    pub(crate) killing: Killing,
    /// A line about who plays Mira.
    pub(crate) announcement: String,
}

/// Whether a worker is killed to show what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killing {
    Never,
    /// In the middle of a line of this turn, counted from 1. If that does not work out, at the next occasion.
    InTurn(usize),
    Done,
}

/// How an evening ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Played,
    /// The player pressed Ctrl-C.
    Interrupted,
}

struct Scene {
    house: House,
    mira: Npc,
    model: Arc<dyn Model>,
    pool: Option<WorkerPool>,
    happened_to_workers: mpsc::UnboundedReceiver<PoolEvent>,
    playwright: Option<Playwright>,
    killing: Killing,
    show: Show,
    totals: Totals,
}

impl Killing {
    /// For an evening of so many turns.
    pub(crate) fn once(turns: usize) -> Self {
        Self::InTurn(turns.min(KILLING_TURN))
    }
}

impl Evening {
    /// Plays the evening. Fails when the NPC cannot be made or the terminal cannot be read; what goes wrong on stage is
    /// shown, and the show goes on.
    pub(crate) async fn play(self) -> Result<Ending, Failure> {
        let Self { model, pool, is_scripted, mut player, max_turns, killing, announcement } = self;
        let house = House::open();
        let mira = Npc::new(Arc::clone(&model), cast::mira(&house));
        let mira = mira.map_err(|error| Failure::invalid_input(error.to_string()))?;
        let totals = Totals { turns: 0, tool_calls: 0, tokens: 0, took: Duration::ZERO };
        let (report, happened_to_workers) = mpsc::unbounded_channel();
        let _listening = pool.as_ref().map(|pool| {
            pool.listen(move |event| {
                // The scene is over when nobody listens.
                let _ = report.send(event.clone());
            })
        });
        let playwright = is_scripted.then(Playwright::new);
        let show = Show::new();
        show.title("The Sleeping Stag, late evening, cold rain", &announcement);
        let mut scene =
            Scene { house, mira, model, pool, happened_to_workers, playwright, killing, show, totals };
        let started = Instant::now();

        scene.bark().await;
        let mut suggestions = cast::OPENERS.map(str::to_owned).to_vec();
        while scene.totals.turns < max_turns && player.is_there() {
            scene.show.suggestions(&suggestions);
            let said = match player.next(&scene.show, &suggestions).await? {
                Move::Say(line) => line,
                Move::Leave => break,
                Move::Interrupt => return Ok(Ending::Interrupted),
            };
            let Some(turn) = scene.turn(&said).await else { continue };
            if turn.ends_conversation && sounds_like_farewell(&said) {
                break;
            }
            suggestions = turn.player_options;
        }
        // Nobody types any more: the terminal is given back before the rest is shown.
        drop(player);
        scene.closing_time().await;
        scene.totals.took = started.elapsed();
        scene.summary().await;
        Ok(Ending::Played)
    }
}

impl Scene {
    /// Mira says something to nobody in particular. If she does not, nothing is missing.
    async fn bark(&mut self) {
        if let Some(playwright) = &self.playwright {
            let script = playwright.bark();
            self.instruct(script);
        }
        if let Ok(line) = self.mira.bark(Some(&cast::ARRIVAL.into())).await {
            self.show.bark(&line);
        }
    }

    /// The player says something, and Mira answers. `None` when she has no answer; then it is as if nothing had been said.
    async fn turn(&mut self, said: &str) -> Option<DialogueTurn> {
        if let Some(playwright) = &mut self.playwright {
            let script = playwright.turn(said, &self.house);
            self.instruct(script);
        }
        let (gold, feelings) = (self.house.gold(), self.mira.memory().relationship);
        let started = Instant::now();
        self.totals.turns += 1;
        let turn = match self.talk(said).await {
            Ok(turn) => turn,
            Err(error) => {
                self.show.turn_failed(&error);
                return None;
            }
        };
        if let Some(playwright) = self.playwright.as_mut().filter(|_| !turn.is_fallback) {
            playwright.turn_stands();
        }
        self.totals.tool_calls += turn.tool_calls.len();
        self.totals.tokens += turn.usage.total_tokens();
        let notes = TurnNotes {
            took: started.elapsed(),
            gold: (gold, self.house.gold()),
            feelings: (feelings, turn.relationship),
        };
        self.show.turn_done(&turn, &notes).await;
        Some(turn)
    }

    /// Asks Mira, and shows what happens until she has answered.
    async fn talk(&mut self, said: &str) -> Result<DialogueTurn, oam_agent::AgentError> {
        let line = PlayerLine { stream: true, ..PlayerLine::new(said) };
        let (host, mut events) = mpsc::unbounded_channel();
        let mut host = Passer(host);
        let mira = self.mira.clone();
        let mut talk = pin!(mira.talk(&line, &mut host));
        // What Mira says while a killed worker has not been buried is shown when it has.
        let mut held = None;
        let streams = self.model.capabilities().streaming;
        let is_missed = matches!(self.killing, Killing::InTurn(turn) if self.totals.turns > turn);
        let (waits_for_words, mut is_asked) = (streams && !is_missed, false);
        let end = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => match &mut held {
                    Some(held) => Vec::push(held, event),
                    None => self.show_event(event),
                },
                Some(event) = self.happened_to_workers.recv() => {
                    self.show_pool_event(&event);
                    self.show_pool_events();
                    held.take().into_iter().flatten().for_each(|event| self.show_event(event));
                }
                () = self.show.go_on() => {}
                end = &mut talk => break end,
                // The turn has been polled, so its first step is on its way.
                () = future::ready(()), if !is_asked => is_asked = true,
            }
            let is_time =
                is_asked && (!waits_for_words || self.show.said().chars().count() >= MIDDLE_OF_A_LINE);
            if held.is_none() && is_time && self.kill_worker().await {
                held = Some(Vec::new());
            }
        };
        held.take().into_iter().flatten().for_each(|event| self.show_event(event));
        while let Ok(event) = events.try_recv() {
            self.show_event(event);
        }
        end
    }

    /// Kills the worker that speaks for Mira, if that is due and there is one.
    async fn kill_worker(&mut self) -> bool {
        let is_due = matches!(self.killing, Killing::InTurn(turn) if self.totals.turns >= turn);
        let Some(pool) = self.pool.as_ref().filter(|_| is_due) else { return false };
        let Some(killed) = pool.kill_busy_worker().await else { return false };
        self.killing = Killing::Done;
        self.show.killed(killed);
        true
    }

    fn show_event(&mut self, event: DialogueEvent) {
        match event {
            DialogueEvent::Emotion { emotion } => self.show.emotion(emotion),
            DialogueEvent::LineDelta { delta } => self.show.words(&delta),
            DialogueEvent::LineReset { line } => self.show.reworded(&line),
            DialogueEvent::ToolCallStarted { call, .. } => self.show.call(&call),
            DialogueEvent::ToolCallCompleted { record } => self.show.record(&record),
        }
    }

    fn show_pool_event(&mut self, event: &PoolEvent) {
        match event {
            PoolEvent::WorkerDied { worker, exit, .. } => {
                self.show.worker_died(&worker.to_string(), &exit.cause);
            }
            PoolEvent::StepReplayed { .. } => self.show.step_replayed(),
            _ => {}
        }
    }

    fn show_pool_events(&mut self) {
        while let Ok(event) = self.happened_to_workers.try_recv() {
            self.show_pool_event(&event);
        }
    }

    /// Mira decides what to do about a guest without a bed.
    async fn closing_time(&mut self) {
        const ROOMS: i64 = 2;
        let menu = self.house.menu();
        let rooms_free = menu.iter().find(|dish| dish.item == ROOM).map_or(0, |room| room.left);
        if rooms_free < ROOMS {
            return self.show.bed_is_paid_for();
        }
        let feelings = self.mira.memory().relationship;
        let request = cast::closing_time(&self.house, self.mira.persona(), feelings, rooms_free);
        let engine = DecisionEngine {
            instructions: self.playwright.as_ref().map(|playwright| {
                let script = playwright.closing_time(feelings);
                format!("{}\n{script}", DecisionEngine::BUILT_IN_INSTRUCTIONS)
            }),
            temperature: Some(cast::DECISION_TEMPERATURE),
            ..DecisionEngine::new(Arc::clone(&self.model))
        };
        self.show.closing_time(&request.options);
        let started = Instant::now();
        let mut host = NoHost;
        let mut decide = pin!(engine.decide(&request, &mut host));
        let decided = tokio::select! {
            biased;
            decided = &mut decide => decided,
            () = future::ready(()) => {
                self.kill_worker().await;
                decide.await
            }
        };
        self.show_pool_events();
        match decided {
            Ok(decision) => {
                self.totals.tokens += decision.usage.total_tokens();
                self.show.decision(&decision, started.elapsed());
            }
            Err(error) => self.show.trouble(&format!("Mira cannot decide: {error}")),
        }
    }

    async fn summary(&mut self) {
        self.show_pool_events();
        let status = match &self.pool {
            Some(pool) => pool.status().await,
            None => None,
        };
        self.show.summary(&self.totals, status.as_ref().map(|status| &status.counters));
        if matches!(self.killing, Killing::InTurn(_)) {
            self.show.trouble("No worker was killed: none was busy when it was time.");
        }
    }

    /// Puts a script into Mira's instructions.
    fn instruct(&self, script: String) {
        let instructed = self.mira.revise::<NpcError>(|draft| {
            draft.options.extra_instructions = Some(script);
            // A summary would take turns away that the script counts.
            draft.options.compact_after_turns = 0;
            Ok(())
        });
        // Neither tools nor what options name of them has changed.
        debug_assert!(instructed.is_ok());
    }
}

/// Passes on what happens in a turn.
struct Passer(mpsc::UnboundedSender<DialogueEvent>);

impl DialogueHost for Passer {
    fn event(&mut self, event: DialogueEvent) {
        // Whoever hears it waits for the turn.
        let _ = self.0.send(event);
    }
}

impl TurnClient for Passer {
    /// All tools of the tavern are functions of this program; a client tool would be carried out by somebody else.
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        NoHost.call_client(call)
    }
}
