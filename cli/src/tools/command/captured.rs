//! What a process prints: as much of it as is wanted, and how much there was. Reading never stops before the end, so a
//! process that prints more is not held up.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// Which part is kept, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    First(usize),
    Last(usize),
}

/// One of a process's outputs, while it is read.
pub(super) struct Reading<R> {
    /// Gone once its end was read.
    pipe: Option<R>,
    keep: Keep,
    kept: VecDeque<u8>,
    total: u64,
    piece: Vec<u8>,
}

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) kept: Vec<u8>,
    /// How many bytes there were in all.
    pub(super) total: u64,
}

impl<R: AsyncRead + Unpin> Reading<R> {
    pub(super) fn new(pipe: Option<R>, keep: Keep) -> Self {
        Self { pipe, keep, kept: VecDeque::new(), total: 0, piece: Vec::new() }
    }

    /// Reads to the end. May be dropped and called again: nothing is lost.
    pub(super) async fn read_to_end(&mut self) {
        self.piece.resize(PIECE, 0);
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut self.piece).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(length) => self.take(length),
            }
        }
    }

    fn take(&mut self, length: usize) {
        self.total += length as u64;
        let piece = &self.piece[..length];
        match self.keep {
            Keep::First(limit) => {
                let room = limit - self.kept.len();
                self.kept.extend(&piece[..room.min(length)]);
            }
            Keep::Last(limit) => {
                let piece = &piece[length.saturating_sub(limit)..];
                let excess = (self.kept.len() + piece.len()).saturating_sub(limit);
                self.kept.drain(..excess);
                self.kept.extend(piece);
            }
        }
    }

    pub(super) fn captured(self) -> Captured {
        Captured { kept: self.kept.into(), total: self.total }
    }
}

impl Captured {
    /// The beginning as text of at most `longest` bytes, and how many bytes of the output are not in it. What is no
    /// UTF-8 is replaced; no character is cut in two.
    pub(super) fn beginning(&self, longest: usize) -> (String, u64) {
        let is_whole = self.kept.len() as u64 == self.total;
        let mut text = String::new();
        let mut taken = 0;
        'text: for chunk in self.kept.utf8_chunks() {
            for character in chunk.valid().chars() {
                if text.len() + character.len_utf8() > longest {
                    break 'text;
                }
                text.push(character);
                taken += character.len_utf8();
            }
            let invalid = chunk.invalid().len();
            let is_cut = !is_whole && taken + invalid == self.kept.len();
            let replacement = char::REPLACEMENT_CHARACTER;
            if invalid > 0 {
                if is_cut || text.len() + replacement.len_utf8() > longest {
                    break;
                }
                text.push(replacement);
                taken += invalid;
            }
        }
        (text, self.total - taken as u64)
    }

    /// What was kept, as text.
    pub(super) fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
