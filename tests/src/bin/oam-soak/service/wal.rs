//! What a power cut does to the end of `SQLite`'s write-ahead log: bytes that nobody waited for are there in part, or garbage.
//!
//! The log has a header of 32 bytes with two salts, then frames of a header of 24 bytes, which repeats the salts, and a page.
//! Once all of it is in the database it is written anew from its start, with other salts. What goes into the database was
//! on disk before, so no power cut takes it out of the log again: how many frames that are, the index beside the log tells.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use fastrand::Rng;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const SALTS: usize = 8;

/// Where the index has the number of frames that went into the database, or are on their way there (`nBackfillAttempted`).
const BACKFILLED: usize = 128;

/// How far the log was written at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    salts: [u8; SALTS],
    end: usize,
    frame: usize,
}

fn file(data: &Path) -> PathBuf {
    data.join("realms.db-wal")
}

/// How far the log is written now; `None` when there is none.
pub(super) fn mark(data: &Path) -> Option<Mark> {
    let log = fs::read(file(data)).ok()?;
    let salts: [u8; SALTS] = log.get(16..24)?.try_into().ok()?;
    let page = u32::from_be_bytes(log.get(8..12)?.try_into().ok()?) as usize;
    let frame = FRAME_HEADER + page;
    let whole = log[HEADER..].chunks_exact(frame).take_while(|frame| frame[8..16] == salts).count();
    Some(Mark { salts, end: HEADER + whole * frame, frame })
}

/// How many frames of the log a power cut cannot reach any more.
fn backfilled(data: &Path) -> io::Result<usize> {
    let index = fs::read(data.join("realms.db-shm"))?;
    let count = index.get(BACKFILLED..BACKFILLED + 4).and_then(|bytes| bytes.try_into().ok());
    count
        .map(|bytes| u32::from_ne_bytes(bytes) as usize)
        .ok_or_else(|| io::Error::other("the index of the log is short"))
}

/// Damages what was written since `before`, somewhere; false when there is nothing that may be damaged.
pub(super) fn tear(data: &Path, before: Mark, rng: &mut Rng) -> io::Result<bool> {
    let begin = before.end.max(HEADER + backfilled(data)? * before.frame);
    let Some(now) = mark(data).filter(|now| now.salts == before.salts && now.end > begin) else {
        return Ok(false);
    };
    let from = rng.usize(begin..now.end);
    let log = OpenOptions::new().write(true).open(file(data))?;
    let (at, bytes) = (from as u64, now.end - from);
    let garbage = |rng: &mut Rng, bytes: usize| (0..bytes).map(|_| rng.u8(..)).collect::<Vec<_>>();
    match rng.u8(..4) {
        0 => log.set_len(at)?,
        1 => log.write_all_at(&garbage(rng, bytes), at)?,
        2 => log.write_all_at(&vec![0; bytes], at)?,
        // The end has come to the disk, the middle has not.
        _ => log.write_all_at(&garbage(rng, bytes.min(512)), at)?,
    }
    Ok(true)
}
