//! The objects of a realm: their names, how much of them is on disk, and when that is worth writing anew.

use std::collections::HashMap;

use crate::{ChangeError, Sequence};

/// Records may have this many bytes, however small the snapshot, before a rewrite is due.
const SMALL: u64 = 64 * 1024;

/// What an object is called within its realm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// What it is: `world`, `session`.
    pub kind: Box<str>,
    /// Which of its kind.
    pub id: Box<str>,
}

impl ObjectName {
    /// The object `id` among those of `kind`.
    pub fn new(kind: impl Into<Box<str>>, id: impl Into<Box<str>>) -> Self {
        Self { kind: kind.into(), id: id.into() }
    }
}

/// The objects of an open realm.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) by_name: HashMap<ObjectName, Object>,
    /// A record was refused: what the owner has in memory is ahead of the records.
    pub(crate) is_behind: bool,
    /// The last change of the realm.
    pub(crate) last: Sequence,
}

impl Objects {
    pub(crate) fn must_be_abreast(&self) -> Result<(), ChangeError> {
        if self.is_behind { Err(ChangeError::Behind) } else { Ok(()) }
    }
}

/// What is known of an object without reading it.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its number in the database.
    pub(crate) number: i64,
    /// The earliest a snapshot of it can be of: its first record, or the snapshot it has.
    since: Sequence,
    last: Sequence,
    snapshot_bytes: u64,
    record_bytes: u64,
    /// When a rewrite was last asked for, and the bytes of its records then.
    asked: Option<(Sequence, u64)>,
}

impl Object {
    pub(crate) fn new(number: i64, first: Sequence) -> Self {
        Self { number, since: first, last: first, snapshot_bytes: 0, record_bytes: 0, asked: None }
    }

    pub(crate) fn has_record(&mut self, sequence: Sequence, bytes: u64) {
        self.last = sequence;
        self.record_bytes += bytes;
    }

    /// Refuses a snapshot that is older than the object or than the snapshot it has.
    pub(crate) fn must_take_snapshot(&self, up_to: Sequence) -> Result<(), ChangeError> {
        if up_to < self.since { Err(ChangeError::Stale) } else { Ok(()) }
    }

    pub(crate) fn has_snapshot(&mut self, up_to: Sequence, bytes: u64) {
        // Between the question for a snapshot and the snapshot lie few records; counting them twice is cheaper than keeping all sizes.
        self.record_bytes = match self.asked.take() {
            _ if up_to >= self.last => 0,
            Some((asked, bytes)) if asked <= up_to => self.record_bytes - bytes,
            _ => self.record_bytes,
        };
        self.since = up_to;
        self.last = self.last.max(up_to);
        self.snapshot_bytes = bytes;
    }

    /// Whether the records outweigh the snapshot. Says so once, and again after as many more bytes.
    pub(crate) fn asks_for_rewrite(&mut self) -> bool {
        let counted = self.asked.map_or(0, |(_, bytes)| bytes);
        let is_due = self.record_bytes - counted > self.snapshot_bytes.max(SMALL);
        if is_due {
            self.asked = Some((self.last, self.record_bytes));
        }
        is_due
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.snapshot_bytes + self.record_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(records: u64, bytes: u64) -> Object {
        let mut object = Object::new(1, Sequence(1));
        (1..=records).for_each(|sequence| object.has_record(Sequence(sequence), bytes));
        object
    }

    #[test]
    fn a_rewrite_is_due_when_records_outweigh_the_snapshot_and_64_kib() {
        for (snapshot, records, due) in [
            (0, SMALL, false),
            (0, SMALL + 1, true),
            (10 * SMALL, SMALL + 1, false),
            (10 * SMALL, 10 * SMALL, false),
            (10 * SMALL, 10 * SMALL + 1, true),
        ] {
            let mut object = object(1, 1);
            object.has_snapshot(Sequence(1), snapshot);
            object.has_record(Sequence(2), records);
            assert_eq!(object.asks_for_rewrite(), due, "{records} bytes after a snapshot of {snapshot}");
        }
    }

    #[test]
    fn a_rewrite_is_asked_for_again_only_after_as_many_bytes_more() {
        let mut object = object(1, SMALL + 1);
        assert!(object.asks_for_rewrite());
        object.has_record(Sequence(2), SMALL);
        assert!(!object.asks_for_rewrite());
        object.has_record(Sequence(3), 1);
        assert!(object.asks_for_rewrite());
    }

    #[test]
    fn records_made_while_a_snapshot_was_made_still_count() {
        let mut object = object(10, SMALL);
        assert!(object.asks_for_rewrite());
        object.has_record(Sequence(11), 7);
        object.has_snapshot(Sequence(10), 3);
        assert_eq!(object.bytes(), 3 + 7);
    }

    #[test]
    fn a_snapshot_from_before_the_object_or_its_snapshot_is_stale() {
        let mut object = Object::new(1, Sequence(5));
        object.has_record(Sequence(5), 1);
        assert!(object.must_take_snapshot(Sequence(4)).is_err());
        object.has_record(Sequence(6), 1);
        object.has_record(Sequence(7), 1);
        assert!(object.must_take_snapshot(Sequence(7)).is_ok());
        object.has_snapshot(Sequence(7), 1);
        assert!(object.must_take_snapshot(Sequence(6)).is_err());
    }
}
