//! Compaction: after a turn, older turns become the summary in the character's memory, in the background.
//!
//! The turn hands its hold on the conversation over to the compaction, so the next turn waits for it and nothing
//! comes in between. A compaction that fails changes nothing; the next turn's tries again.

use std::sync::{MutexGuard, PoisonError};

use oam_agent::{
    Compaction, ErrorCode, FinishedCompaction, ModelError, Speakers, SummaryKeeper,
    transcript::json::SavedTranscript,
};
use tokio::{sync::OwnedMutexGuard, task::AbortHandle};

use super::{Npc, NpcChange};
use crate::wording;

/// What runs in the background for a character. It keeps the character alive until it ends.
#[derive(Debug, Default)]
pub(super) enum Background {
    #[default]
    Idle,
    /// A compaction, perhaps one that has ended by now.
    Running(AbortHandle),
    /// Nothing runs, nor ever will.
    Stopped,
}

impl Npc {
    /// Starts a compaction if the conversation has become long enough. `conversation` is the hold on it.
    pub(super) fn compact_when_due(&self, conversation: OwnedMutexGuard<()>) {
        let Some(compaction) = self.due_compaction() else { return };
        let mut background = self.background();
        if let Background::Stopped = *background {
            return;
        }
        let npc = self.clone();
        let task = tokio::spawn(async move {
            let _conversation = conversation;
            npc.compact(&compaction).await;
        });
        *background = Background::Running(task.abort_handle());
    }

    /// Ends a compaction that is under way, without effect, and starts none any more. For a character that is
    /// deleted.
    pub fn stop_compaction(&self) {
        let before = std::mem::replace(&mut *self.background(), Background::Stopped);
        if let Background::Running(task) = before {
            task.abort();
        }
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        self.inner.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due_compaction(&self) -> Option<Compaction> {
        let character = self.character();
        let (after, keep) =
            (character.options.compact_after_turns, character.options.keep_recent_turns.max(0));
        let turns = i64::try_from(self.inner.agent.turn_count()).unwrap_or(i64::MAX);
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
        let agent = &self.inner.agent;
        let keep_summary = |compaction: FinishedCompaction<'_>| {
            let summary = compaction.summary.trim();
            if summary.is_empty() {
                let message = "The model gave an empty summary.";
                return Err(ModelError::new(ErrorCode::GenerationFailed, message).into());
            }
            // With the character locked, so that a revision of its memory does not overwrite it.
            let character = self.character();
            character.mind.set_summary(summary.to_owned());
            agent.set_context_note(character.memory_note());
            compaction.keep();
            self.tell(|| {
                let SavedTranscript { setup, transcript } = agent.saved_transcript();
                let first_kept = transcript.first().map(|entry| entry.id.clone());
                NpcChange::Compacted { first_kept, setup, summary }
            });
            Ok(())
        };
        if let Err(error) = agent.compact(compaction, keep_summary).await {
            let name = &compaction.speakers.assistant;
            tracing::warn!(npc = %name, "could not summarize older turns; the next turn tries again: {error}");
        }
    }
}
