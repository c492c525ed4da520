//! The steps: which there are, and how one is played.

use std::{
    collections::HashMap,
    pin::pin,
    process,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
    time::Duration,
};

use oam_agent::ErrorCode;
use oam_ipc::{FromWorker, Generate, Outcome, StepId, TokenUsage};
use tokio_util::sync::CancellationToken;

use crate::{
    fault::{FaultKind, Moment, StepFacts},
    model::{Failure, Model, Piece, Played},
    output::{Output, Pace},
    request::last_prompt,
    strike::strike,
    worker::Shared,
};

/// The steps that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: HashMap<StepId, CancellationToken>,
    begun: u64,
    is_closing: bool,
}

/// A step to be played.
#[derive(Debug)]
pub(crate) struct Job {
    request: Box<Generate<'static>>,
    /// Counts the steps of this process, from 1.
    number: u64,
    cancel: CancellationToken,
}

impl Steps {
    pub(crate) fn begin(&self, request: Box<Generate<'static>>) -> Job {
        let mut state = self.state();
        state.begun += 1;
        let cancel = CancellationToken::new();
        if state.is_closing {
            cancel.cancel();
        }
        state.running.insert(request.id, cancel.clone());
        Job { request, number: state.begun, cancel }
    }

    pub(crate) fn cancel(&self, step: StepId) {
        if let Some(cancel) = self.state().running.get(&step) {
            cancel.cancel();
        }
    }

    /// Cancels what runs and whatever still comes. The process ends with the last step.
    pub(crate) fn close(&self, output: &Output) {
        let mut state = self.state();
        state.is_closing = true;
        state.running.values().for_each(CancellationToken::cancel);
        exit_if_closed(&state, output);
    }

    fn end(&self, step: StepId, output: &Output) {
        let mut state = self.state();
        state.running.remove(&step);
        exit_if_closed(&state, output);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exit_if_closed(state: &State, output: &Output) {
    if state.is_closing && state.running.is_empty() {
        output.flush();
        process::exit(0);
    }
}

/// A step on the stage.
#[derive(Debug)]
pub(crate) struct Performance<'a> {
    pub(crate) id: StepId,
    pub(crate) shared: &'a Shared,
    model: &'a Model,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) pace: Pace,
    /// How often the step ends.
    pub(crate) ends: usize,
    /// What will go wrong, the next one last.
    faults: Vec<(Moment, FaultKind)>,
}

/// Plays a step and ends it.
pub(crate) async fn play(job: Job, shared: &Shared, model: &Model) {
    play_at(Pace::AtOnce, job, shared, model).await;
}

/// Plays a step in which nothing waits, and leaves what it says to be written with what else is said.
pub(crate) fn play_instantly(job: Job, shared: &Shared, model: &Model) {
    let playing = pin!(play_at(Pace::Together, job, shared, model));
    let is_played = playing.poll(&mut Context::from_waker(Waker::noop())).is_ready();
    debug_assert!(is_played, "nothing in the step waits");
}

async fn play_at(pace: Pace, job: Job, shared: &Shared, model: &Model) {
    let Job { request, number, cancel } = job;
    let facts = StepFacts { number, prompt: &last_prompt(&request), is_streamed: request.stream };
    let mut faults = shared.faults.of_step(&facts);
    faults.reverse();
    let id = request.id;
    let mut performance = Performance { id, shared, model, cancel: &cancel, pace, ends: 1, faults };

    let played = cancel.run_until_cancelled(performance.perform(&request)).await;
    let cancelled = || Err(Failure::new(ErrorCode::Cancelled, "The step was cancelled."));
    let end = match played.unwrap_or_else(cancelled) {
        Ok((outcome, usage)) => FromWorker::Finished { id, outcome, usage },
        Err(failure) => failed(id, failure),
    };
    for _ in 0..performance.ends {
        performance.say(&end);
    }
    shared.steps.end(id, &shared.output);
}

impl Performance<'_> {
    async fn perform(&mut self, request: &Generate<'_>) -> Result<(Outcome, TokenUsage), Failure> {
        self.come_to(Moment::START).await;
        pause(self.shared.step_delay).await;
        let Played { pieces, end } = self.model.play(request).await;
        if pieces.is_empty() {
            // It is about streamed answers, and this is none: a round of tool calls, say.
            self.faults.retain(|(_, fault)| *fault != FaultKind::CrashStreaming);
        }
        for (index, piece) in pieces.into_iter().enumerate() {
            pause(self.shared.piece_delay).await;
            self.say(&self.message(piece));
            self.come_to(Moment::AfterPieces(index + 1)).await;
        }
        self.come_to(Moment::End).await;
        end
    }

    /// Lets everything go wrong that was to until this moment.
    async fn come_to(&mut self, moment: Moment) {
        while let Some((_, fault)) = self.faults.pop_if(|(due, _)| *due <= moment) {
            strike(fault, self).await;
        }
    }

    fn message(&self, piece: Piece) -> FromWorker {
        let id = self.id;
        match piece {
            Piece::Delta(text) => FromWorker::Delta { id, text },
            Piece::Reset(text) => FromWorker::Reset { id, text },
            Piece::Partial(value) => FromWorker::Partial { id, value },
        }
    }

    /// Says something. When no supervisor would read it, it is an end that failed, or a piece that is left out.
    pub(crate) fn say(&self, message: &FromWorker) {
        if let (Err(error), FromWorker::Finished { .. }) =
            (self.shared.output.send(message, self.pace), message)
        {
            let failure =
                Failure::new(ErrorCode::GenerationFailed, format!("The answer cannot be sent: {error}."));
            // This one can.
            let _ = self.shared.output.send(&failed(self.id, failure), self.pace);
        }
    }
}

fn failed(id: StepId, Failure { code, message }: Failure) -> FromWorker {
    FromWorker::Failed { id, code: code.as_str().to_owned(), message, data: None }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
