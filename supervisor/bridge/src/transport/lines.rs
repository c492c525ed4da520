//! Splitting a stream of bytes into lines, however the bytes arrive.

/// The longest line that is read, in bytes without its end.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// A line of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line without its newline. A carriage return before that is still there; to JSON it is white space.
    Complete(&'a [u8]),
    /// A line beyond the limit. It is told once, when it passes the limit; the rest of it is dropped.
    Oversized,
}

/// Splits chunks of bytes into lines. A line that lies within a chunk is not copied.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The line in progress was oversized: its bytes are dropped.
    is_draining: bool,
}

impl LineSplitter {
    /// A splitter for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, partial: Vec::new(), is_draining: false }
    }

    /// Takes the next bytes and gives `take` the lines that they complete.
    pub fn feed(&mut self, chunk: &[u8], mut take: impl FnMut(Line<'_>)) {
        let taken = self.feed_while(chunk, |line| {
            take(line);
            true
        });
        debug_assert_eq!(taken, chunk.len());
    }

    /// Takes bytes and gives `take` the lines that they complete, until it answers `false`. Returns how many bytes were
    /// taken; the others are to be given again.
    pub fn feed_while(&mut self, chunk: &[u8], mut take: impl FnMut(Line<'_>) -> bool) -> usize {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let line = &chunk[start..end];
            start = end + 1;
            let goes_on = if self.is_draining {
                self.is_draining = false;
                true
            } else if line.len() > self.limit - self.partial.len() {
                self.forget_partial();
                take(Line::Oversized)
            } else if self.partial.is_empty() {
                take(Line::Complete(line))
            } else {
                self.partial.extend_from_slice(line);
                let goes_on = take(Line::Complete(&self.partial));
                self.forget_partial();
                goes_on
            };
            if !goes_on {
                return start;
            }
        }
        let rest = &chunk[start..];
        if !self.is_draining {
            if rest.len() > self.limit - self.partial.len() {
                self.forget_partial();
                self.is_draining = true;
                take(Line::Oversized);
            } else {
                self.partial.extend_from_slice(rest);
            }
        }
        chunk.len()
    }

    /// The stream has ended: a line without its newline is a line all the same.
    pub fn finish(&mut self, mut take: impl FnMut(Line<'_>)) {
        if !self.partial.is_empty() {
            take(Line::Complete(&self.partial));
        }
        self.forget_partial();
        self.is_draining = false;
    }

    fn forget_partial(&mut self) {
        const KEEP_AT_MOST: usize = 1 << 20;
        if self.partial.capacity() > KEEP_AT_MOST {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lines as text, `!` for an oversized one.
    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut take = |line: Line<'_>| {
            lines.push(match line {
                Line::Complete(line) => String::from_utf8_lossy(line).into_owned(),
                Line::Oversized => "!".to_owned(),
            });
        };
        let mut splitter = LineSplitter::new(limit);
        for chunk in chunks {
            splitter.feed(chunk, &mut take);
        }
        splitter.finish(&mut take);
        lines
    }

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        assert_eq!(split(9, &[b"one\n\ntwo\r\nlast"]), ["one", "", "two\r", "last"]);
        assert_eq!(split(9, &[b"o", b"ne\ntw", b"o", b"\n"]), ["one", "two"]);
        assert_eq!(split(9, &[]), [""; 0]);
    }

    #[test]
    fn a_line_beyond_the_limit_is_told_once_and_dropped() {
        assert_eq!(split(3, &[b"123\n1234\n123"]), ["123", "!", "123"]);
        assert_eq!(split(3, &[b"12", b"34", b"5678", b"\nok\n"]), ["!", "ok"]);
        assert_eq!(split(3, &[b"123", b"4\nok"]), ["!", "ok"]);
        assert_eq!(split(3, &[b"123", b"4"]), ["!"]);
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(b'\r')], 0..200),
            cuts in proptest::collection::vec(0..200_usize, 0..20),
            limit in 0..12_usize,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let text = String::from_utf8(bytes.clone()).unwrap();
            let mut expected: Vec<_> = text
                .split('\n')
                .map(|line| if line.len() > limit { "!".to_owned() } else { line.to_owned() })
                .collect();
            if expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(split(limit, &chunks), expected);
        }
    }
}
