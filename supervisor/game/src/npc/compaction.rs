//! Compaction: after a turn, older turns become the summary in the character's memory, in the background.
//!
//! The turn hands its hold on the conversation over to the compaction, so the next turn waits for it and nothing
//! comes in between. A compaction that fails changes nothing; the next turn's tries again.

use oam_agent::{Compaction, Speakers, SummaryKeeper};
use tokio::{sync::OwnedMutexGuard, task::AbortHandle};

use super::Npc;
use crate::wording;

/// The compaction that runs, if one does. Ends with the NPC.
#[derive(Debug, Default)]
pub(super) struct RunningCompaction(Option<AbortHandle>);

impl RunningCompaction {
    fn abort(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Npc {
    /// Starts a compaction if the conversation has become long enough. `conversation` is the hold on it.
    pub(super) fn compact_when_due(&self, conversation: OwnedMutexGuard<()>) {
        let Some(compaction) = self.due_compaction() else { return };
        let npc = self.clone();
        let task = tokio::spawn(async move {
            let _conversation = conversation;
            npc.compact(&compaction).await;
        });
        let mut running = self.running_compaction();
        running.0 = Some(task.abort_handle());
    }

    /// Ends a compaction that is under way, without effect. For a character that is deleted.
    pub fn stop_compaction(&self) {
        self.running_compaction().abort();
    }

    fn running_compaction(&self) -> std::sync::MutexGuard<'_, RunningCompaction> {
        self.inner.compaction.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn due_compaction(&self) -> Option<Compaction> {
        let character = self.character();
        let (after, keep) =
            (character.options.compact_after_turns, character.options.keep_recent_turns.max(0));
        let turns = i64::try_from(self.turn_count()).unwrap_or(i64::MAX);
        if after <= 0 || turns < after || turns <= keep {
            return None;
        }
        let name = &character.persona.name;
        Some(Compaction {
            keep_recent_turns: usize::try_from(keep).unwrap_or(usize::MAX),
            summary_instructions: Some(wording::summary_instructions(name)),
            speakers: Speakers { user: wording::PLAYER.to_owned(), assistant: name.clone() },
            keeper: SummaryKeeper::Host { so_far: character.mind.memory().summary },
        })
    }

    async fn compact(&self, compaction: &Compaction) {
        let keep_summary = |summary: &str| {
            let summary = summary.trim();
            if summary.is_empty() {
                return false;
            }
            // With the character locked, so that a revision of its memory does not overwrite it.
            self.character().mind.set_summary(summary.to_owned());
            true
        };
        if let Err(error) = self.inner.agent.compact(compaction, keep_summary).await {
            let name = &self.character().persona.name;
            tracing::warn!(npc = %name, "could not summarize older turns; the next turn tries again: {error}");
        }
    }
}
