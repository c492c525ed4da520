//! Listening to an answer in prose.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, NoHost, ToolCall, ToolOutput, TurnClient, TurnEnd, TurnEvent, TurnHost, TurnOptions,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, Restarted},
    generation::{End, Failure, Pieces},
};
use crate::api_error::ApiError;

/// Hears an answer in prose grow, and ends the turn when no more of it is wanted.
pub(super) struct Listener {
    answer: Answer,
    pieces: Option<Pieces>,
    /// What was sent does not hold any more.
    is_restarted: bool,
    /// Cancelled when no more is wanted.
    enough: CancellationToken,
}

impl Listener {
    pub(super) fn new(answer: Answer, pieces: Option<Pieces>) -> Self {
        Self { answer, pieces, is_restarted: false, enough: CancellationToken::new() }
    }

    pub(super) async fn run(
        mut self,
        agent: &Agent,
        prompt: &str,
        options: &TurnOptions,
    ) -> Result<End, Failure> {
        let enough = self.enough.clone();
        let turn = agent.respond_or_suspend(prompt, options, &mut self);
        let end = enough.run_until_cancelled(turn).await;
        let rest = match &end {
            _ if self.is_restarted || self.answer.is_stopped() => Ok(String::new()),
            Some(Ok(TurnEnd::Completed(response))) => self.answer.finish(&response.text),
            Some(Ok(TurnEnd::Suspended(_))) => self.answer.end_step(),
            Some(Err(_)) | None => Ok(String::new()),
        };
        self.send(rest);
        if self.is_restarted {
            return Err(Failure::Other(ApiError::generation_restarted()));
        }
        if self.answer.is_stopped() {
            return Ok(End::Text { text: self.answer.step_text().to_owned(), usage: None });
        }
        end.unwrap_or(Err(AgentError::Cancelled)).map(End::of).map_err(Failure::Agent)
    }

    fn send(&mut self, text: Result<String, Restarted>) {
        match text {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                if let Some(pieces) = &self.pieces {
                    // Nobody listens any more when the completion is about to be cancelled.
                    let _ = pieces.send(text);
                }
            }
            Err(Restarted) => self.is_restarted = true,
        }
        if self.is_restarted || self.answer.is_stopped() {
            self.enough.cancel();
        }
    }
}

impl TurnClient for Listener {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        NoHost.call_client(call)
    }

    fn step_interrupted(&mut self, why: &str) {
        tracing::info!("a step was interrupted and played again: {why}");
    }
}

impl TurnHost for Listener {
    fn event(&mut self, event: TurnEvent) {
        if self.is_restarted {
            return;
        }
        let text = match event {
            TurnEvent::ModelStep { step } => self.answer.begin_step(step.index),
            TurnEvent::Text(event) => self.answer.hear(&event),
            _ => return,
        };
        self.send(text);
    }
}
