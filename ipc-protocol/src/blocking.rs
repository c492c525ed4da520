//! Messages over blocking streams.

use std::io::{self, Read, Write};

use crate::frame::{DecodeError, EncodeError, HEADER_BYTES, Message, body_len, decode, encode};

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What came is no message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Why a message could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The message cannot be sent. Nothing was written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Waits for a message; `None` at the end of the stream.
///
/// Reads no further than the message, in two small reads at least: give it a [`BufReader`](io::BufReader).
pub fn read_message<M: Message>(reader: &mut impl Read) -> Result<Option<M>, ReadError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let header = match <[u8; HEADER_BYTES]>::try_from(header.as_slice()) {
        Ok(header) => header,
        Err(_) if header.is_empty() => return Ok(None),
        Err(_) => return Err(DecodeError::Truncated.into()),
    };
    let len = body_len(header)?;
    let mut body = Vec::new();
    if reader.by_ref().take(len as u64).read_to_end(&mut body)? < len {
        return Err(DecodeError::Truncated.into());
    }
    Ok(Some(decode(&body)?))
}

/// Writes a message and flushes.
pub fn write_message<M: Message>(writer: &mut impl Write, message: &M) -> Result<(), WriteError> {
    let mut frame = Vec::new();
    encode(message, &mut frame)?;
    writer.write_all(&frame)?;
    Ok(writer.flush()?)
}
