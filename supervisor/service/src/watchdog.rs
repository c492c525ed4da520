//! Whether the service is well enough to say so to its manager.

use oam_store::{Sequence, Status};

/// How far the store had come when it was looked at before.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// What was on disk, when more was still to be written.
    behind: Option<Sequence>,
}

impl Progress {
    /// Whether the store's writer gets on: it has written something since it was asked before, or had nothing to write. A disk
    /// that reports failures is not a writer that hangs, and a new process would not find a better one.
    pub(crate) fn is_well(&mut self, now: Option<(Status, Sequence)>) -> bool {
        let before = self.behind.take();
        let Some((status, last)) = now else { return true };
        if status.failure.is_some() || status.durable >= last {
            return true;
        }
        self.behind = Some(status.durable);
        before != Some(status.durable)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use oam_store::{Failure, FailureKind};

    use super::*;

    #[test]
    fn a_writer_that_stands_still_with_work_to_do_is_not_well() {
        let failure = Arc::new(Failure {
            kind: FailureKind::DiskFull,
            path: "realms.db".into(),
            message: "full".to_owned(),
        });
        let mut progress = Progress::default();
        let mut look = |durable, last, fails: bool| {
            let durable = Sequence::of_number(durable);
            let status = Status { durable, failure: fails.then(|| failure.clone()) };
            progress.is_well(Some((status, Sequence::of_number(last))))
        };
        assert!(look(3, 3, false), "it has nothing to do");
        assert!(look(3, 9, false), "it has just begun");
        assert!(look(5, 9, false), "it gets on");
        assert!(!look(5, 12, false), "it stands still");
        assert!(look(5, 12, true), "the disk is known to fail");
        assert!(look(5, 12, false), "the disk is back");
        assert!(progress.is_well(None), "there is no store");
    }
}
