//! Frames: a big-endian `u32` length, then that many bytes of MessagePack.
//!
//! [`encode`] appends a frame to a buffer, so that several can be written at once. A [`FrameReader`] is fed bytes as
//! they come and gives messages back; it does no I/O, and serves blocking and asynchronous code alike.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    message::{FromWorker, ToWorker},
    structure,
};

/// The longest frame, without its length: 64 MiB. Checked as soon as the length is there.
pub const MAX_FRAME_BYTES: usize = 64 << 20;

/// Bytes of a frame's length.
pub(crate) const HEADER_BYTES: usize = size_of::<u32>();

/// What an idle [`FrameReader`] keeps of the memory that a long frame took.
const KEPT_CAPACITY: usize = 64 << 10;

/// Room for all but long messages.
const USUAL_BYTES: usize = 512;

/// What a frame may hold: [`ToWorker`] or [`FromWorker`].
pub trait Message: Serialize + DeserializeOwned + sealed::Sealed {}

impl Message for ToWorker<'_> {}
impl Message for FromWorker {}

mod sealed {
    use rmp_serde::{decode::Error, from_slice};
    use serde::{Deserialize, de::DeserializeOwned};
    use serde_json::{Map, Value};

    use crate::diagnosis;
    use crate::message::{FromWorker, Outcome, StepId, ToWorker, TokenUsage};

    pub trait Sealed: DeserializeOwned {
        /// Reads a message whose `type` may be known already. Those that steps are made of need not be kept in pieces
        /// then, as serde does with members whose type it has not seen yet.
        fn read(body: &[u8], kind: Option<&[u8]>) -> Result<Self, Error>;

        /// What is wrong with a message that could not be read, if that can be told better than the error does.
        fn diagnose(_message: &Map<String, Value>) -> Option<String> {
            None
        }
    }

    impl Sealed for ToWorker<'_> {
        fn read(body: &[u8], kind: Option<&[u8]>) -> Result<Self, Error> {
            match kind {
                Some(b"generate") => from_slice(body).map(Self::Generate),
                _ => from_slice(body),
            }
        }
    }

    #[derive(Deserialize)]
    struct Delta {
        id: StepId,
        text: String,
    }

    #[derive(Deserialize)]
    struct Finished {
        id: StepId,
        outcome: Outcome,
        #[serde(default)]
        usage: TokenUsage,
    }

    impl Sealed for FromWorker {
        fn read(body: &[u8], kind: Option<&[u8]>) -> Result<Self, Error> {
            match kind {
                Some(b"delta") => from_slice(body).map(|Delta { id, text }| Self::Delta { id, text }),
                Some(b"finished") => from_slice(body).map(|Finished { id, outcome, usage }| Self::Finished {
                    id,
                    outcome,
                    usage,
                }),
                _ => from_slice(body),
            }
        }

        fn diagnose(message: &Map<String, Value>) -> Option<String> {
            diagnosis::of_message(message)
        }
    }
}

/// A frame that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The frame is longer than [`MAX_FRAME_BYTES`]. What follows cannot be told apart, so the connection is done.
    #[error("the frame of {len} bytes is over the limit of {MAX_FRAME_BYTES}")]
    TooLarge {
        /// As announced.
        len: usize,
    },
    /// The frame is whole, but not a message. The next one can still be read.
    #[error("the frame {reason}")]
    Malformed {
        /// Completes "the frame …".
        reason: String,
    },
    /// The connection ended within a frame.
    #[error("the connection ended within a frame")]
    Truncated,
}

/// A message that cannot be sent, because no receiver would read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Its frame would be longer than [`MAX_FRAME_BYTES`].
    #[error("the message of {len} bytes is over the limit of {MAX_FRAME_BYTES}")]
    TooLarge {
        /// Without the length itself.
        len: usize,
    },
    /// It nests deeper than [`MAX_DEPTH`](crate::MAX_DEPTH), or consists of more than
    /// [`MAX_VALUES`](crate::MAX_VALUES).
    #[error("the message {reason}")]
    Unreadable {
        /// Completes "the message …".
        reason: String,
    },
}

/// Appends the frame of a message. After an error the buffer is as before.
pub fn encode<M: Message>(message: &M, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = buffer.len();
    let encoded = append(message, buffer, start);
    if encoded.is_err() {
        buffer.truncate(start);
    }
    encoded
}

fn append<M: Message>(message: &M, buffer: &mut Vec<u8>, start: usize) -> Result<(), EncodeError> {
    let unreadable = |reason: String| EncodeError::Unreadable { reason };
    buffer.reserve(USUAL_BYTES);
    buffer.extend([0; HEADER_BYTES]);
    rmp_serde::encode::write_named(buffer, message)
        .map_err(|error| unreadable(format!("has no form: {error}")))?;
    let body = &buffer[start + HEADER_BYTES..];
    let len = body.len();
    if len > MAX_FRAME_BYTES {
        return Err(EncodeError::TooLarge { len });
    }
    if !structure::is_surely_bounded(body) {
        structure::check(body).map_err(|reason| unreadable(reason.to_owned()))?;
    }
    let header = u32::try_from(len).expect("the limit of a frame fits its length");
    buffer[start..start + HEADER_BYTES].copy_from_slice(&header.to_be_bytes());
    Ok(())
}

/// Reads the content of one frame.
pub fn decode<M: Message>(body: &[u8]) -> Result<M, DecodeError> {
    let malformed = |reason: String| DecodeError::Malformed { reason };
    let kind = structure::check(body).map_err(|reason| malformed(reason.to_owned()))?;
    M::read(body, kind).map_err(|error| {
        let message = rmp_serde::from_slice(body).ok();
        let diagnosis = message.and_then(|message| M::diagnose(&message));
        malformed(diagnosis.unwrap_or_else(|| format!("is no message: {error}")))
    })
}

/// Reads a frame's length.
pub(crate) fn body_len(header: [u8; HEADER_BYTES]) -> Result<usize, DecodeError> {
    let len = usize::try_from(u32::from_be_bytes(header)).unwrap_or(usize::MAX);
    if len > MAX_FRAME_BYTES { Err(DecodeError::TooLarge { len }) } else { Ok(len) }
}

/// Cuts a stream of bytes into messages.
///
/// It holds what it was fed and has not given back, and reserves nothing for what a length announces.
#[derive(Debug)]
pub struct FrameReader<M> {
    buffer: Vec<u8>,
    /// Where the next frame begins.
    start: usize,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> FrameReader<M> {
    /// A reader at the beginning of a stream.
    pub fn new() -> Self {
        Self { buffer: Vec::new(), start: 0, message: PhantomData }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        // Moving what is left costs no more than what was read since the last move.
        if self.start > 0 && self.start >= self.buffer.len() - self.start {
            self.buffer.drain(..self.start);
            self.start = 0;
            if self.buffer.is_empty() {
                self.buffer.shrink_to(KEPT_CAPACITY);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, or `None` until more bytes are fed.
    ///
    /// A malformed frame is skipped, so the next call goes on behind it. One that is too large stays: every further
    /// call fails the same way.
    pub fn next_message(&mut self) -> Result<Option<M>, DecodeError> {
        let rest = &self.buffer[self.start..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let len = body_len(*header)?;
        let Some(body) = rest.get(..len) else { return Ok(None) };
        self.start += HEADER_BYTES + len;
        decode(body).map(Some)
    }

    /// Tells whether the stream may end here: [`Truncated`](DecodeError::Truncated) within a frame.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.start == self.buffer.len() { Ok(()) } else { Err(DecodeError::Truncated) }
    }
}

impl<M: Message> Default for FrameReader<M> {
    fn default() -> Self {
        Self::new()
    }
}
