//! Where the body of a request ends.
//!
//! hyper takes chunks apart; here they are only followed, to know where the next request begins, and checked more strictly:
//! what another reader could take for another length is an error.

use super::head::body_too_large;
use crate::ApiError;

/// Digits of a chunk's size, so that a sum of sizes cannot overflow.
const MOST_SIZE_DIGITS: usize = 15;
/// Bytes of the line with a chunk's size.
const LONGEST_SIZE_LINE: usize = 1024;
/// Bytes of all trailer fields, which is what hyper takes.
const LARGEST_TRAILERS: usize = 16 * 1024;

/// How far the body of a request has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Framing(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// So many bytes are left.
    Length(u64),
    Chunked(Chunks),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunks {
    at: At,
    /// What is left of the chunk's data, or its size so far.
    size: u64,
    digits: usize,
    line: usize,
    trailers: usize,
    total: u64,
    largest: u64,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Size,
    BlankBehindSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
    End,
}

impl Framing {
    /// A body of `length` bytes.
    pub(super) fn length(length: u64) -> Self {
        Self(Kind::Length(length))
    }

    /// A body in chunks, of at most `largest` bytes.
    pub(super) fn chunked(largest: u64) -> Self {
        let (at, size, digits, line, trailers, total) = (At::Size, 0, 0, 0, 0, 0);
        Self(Kind::Chunked(Chunks { at, size, digits, line, trailers, total, largest }))
    }

    /// Whether all of the body has been seen.
    pub(super) fn is_complete(&self) -> bool {
        match &self.0 {
            Kind::Length(left) => *left == 0,
            Kind::Chunked(chunks) => chunks.at == At::End,
        }
    }

    /// How many of the next bytes belong to the body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, ApiError> {
        match &mut self.0 {
            Kind::Length(_) => Ok(self.take_counted(bytes)),
            Kind::Chunked(chunks) => chunks.take(bytes),
        }
    }

    /// The same where its length says so: none of a body in chunks.
    pub(super) fn take_counted(&mut self, bytes: &[u8]) -> usize {
        let Kind::Length(left) = &mut self.0 else { return 0 };
        let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        *left -= taken as u64;
        taken
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, ApiError> {
        let mut taken = 0;
        while taken < bytes.len() && self.at != At::End {
            if self.at == At::Data {
                taken += self.skip_data(bytes.len() - taken);
            } else {
                self.at = self.step(bytes[taken])?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    fn skip_data(&mut self, available: usize) -> usize {
        let skipped = usize::try_from(self.size).unwrap_or(usize::MAX).min(available);
        self.size -= skipped as u64;
        if self.size == 0 {
            self.at = At::DataCr;
        }
        skipped
    }

    fn step(&mut self, byte: u8) -> Result<At, ApiError> {
        match (self.at, byte) {
            (At::Size | At::BlankBehindSize | At::Extension, _) => self.step_size_line(byte),
            (At::SizeLf, b'\n') => self.start_data(),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => {
                (self.size, self.digits, self.line) = (0, 0, 0);
                Ok(At::Size)
            }
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::TrailerStart | At::Trailer, _) => self.step_trailer(byte),
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::LastLf, b'\n') => Ok(At::End),
            (At::DataCr | At::DataLf, _) => {
                Err(bad_chunk("The data of a chunk does not end where its size says."))
            }
            _ => Err(bad_chunk("A line between chunks does not end with CRLF.")),
        }
    }

    fn step_size_line(&mut self, byte: u8) -> Result<At, ApiError> {
        self.line += 1;
        if self.line > LONGEST_SIZE_LINE {
            return Err(bad_chunk("The line with the size of a chunk is too long."));
        }
        match (self.at, byte) {
            (At::Size, _) if byte.is_ascii_hexdigit() && self.digits < MOST_SIZE_DIGITS => {
                self.digits += 1;
                self.size = self.size * 16 + u64::from(hex_value(byte));
                Ok(At::Size)
            }
            (At::Size, b' ' | b'\t') if self.digits > 0 => Ok(At::BlankBehindSize),
            (At::BlankBehindSize, b' ' | b'\t') => Ok(At::BlankBehindSize),
            (At::Size, b';') if self.digits > 0 => Ok(At::Extension),
            (At::Size, b'\r') if self.digits > 0 => Ok(At::SizeLf),
            (At::Extension, b'\r') => Ok(At::SizeLf),
            (At::BlankBehindSize, b';') | (At::Extension, b'\t' | b' '..=b'~' | 0x80..) => Ok(At::Extension),
            _ => Err(bad_chunk("The size of a chunk is not a hexadecimal number.")),
        }
    }

    fn start_data(&mut self) -> Result<At, ApiError> {
        if self.size == 0 {
            return Ok(At::TrailerStart);
        }
        self.total += self.size;
        if self.total > self.largest { Err(body_too_large(self.largest)) } else { Ok(At::Data) }
    }

    fn step_trailer(&mut self, byte: u8) -> Result<At, ApiError> {
        self.trailers += 1;
        if self.trailers > LARGEST_TRAILERS {
            let message = format!("The trailer fields are larger than {LARGEST_TRAILERS} bytes.");
            return Err(ApiError::malformed_request(431, message));
        }
        match byte {
            b'\r' => Ok(At::TrailerLf),
            b'\n' => Err(bad_chunk("A trailer field does not end with CRLF.")),
            _ => Ok(At::Trailer),
        }
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn bad_chunk(message: &str) -> ApiError {
    ApiError::malformed_request(400, message)
}
