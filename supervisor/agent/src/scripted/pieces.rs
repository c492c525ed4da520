//! Cutting a text into the pieces it is streamed in.

use unicode_segmentation::UnicodeSegmentation;

/// The pieces of a text, each with its number of characters. They are of equal length but for the last, and no
/// character as a reader sees it (a grapheme cluster) is cut. The empty text is one empty piece.
pub(super) struct Pieces<'a> {
    rest: Option<&'a str>,
    /// Characters in a piece.
    size: usize,
    /// Every character is one byte.
    is_simple: bool,
}

impl<'a> Pieces<'a> {
    /// Cuts into `chunks` pieces, or fewer where they do not come out even; into one when there are not more
    /// characters than pieces.
    pub(super) fn new(text: &'a str, chunks: usize) -> Self {
        // Of ASCII, only a CR and LF make a character together.
        let is_simple = text.is_ascii() && !text.contains('\r');
        let size = if chunks == 1 {
            usize::MAX
        } else {
            let length = if is_simple { text.len() } else { text.graphemes(true).count() };
            if length > chunks { length.div_ceil(chunks) } else { usize::MAX }
        };
        Self { rest: Some(text), size, is_simple }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let (end, characters) = if self.is_simple {
            let end = self.size.min(rest.len());
            (end, end)
        } else {
            let lengths = rest.graphemes(true).take(self.size).map(str::len);
            lengths.fold((0, 0), |(end, characters), length| (end + length, characters + 1))
        };
        let (piece, rest) = rest.split_at(end);
        self.rest = (!rest.is_empty()).then_some(rest);
        Some((piece, characters))
    }
}
