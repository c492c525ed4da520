//! What the codec promises for any message, any bytes and any way they come in pieces.
#![allow(clippy::unwrap_used)]

mod messages;

use std::io::{self, Read};

use oam_ipc::{
    DecodeError, EncodeError, FrameReader, FromWorker, MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES, Message,
    ReadError, StepId, ToWorker, decode, encode, read_message, write_message,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn frame<M: Message>(message: &M) -> Vec<u8> {
    let mut buffer = Vec::new();
    encode(message, &mut buffer).unwrap();
    buffer
}

fn partial(value: Value) -> FromWorker {
    FromWorker::Partial { id: StepId(1), value }
}

/// An array in an array …, of this many levels.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |value, _| Value::Array(vec![value]))
}

/// The bytes of `partial(value)`, given those of the value.
fn partial_body(value: &[u8]) -> Vec<u8> {
    let frame = frame(&partial(Value::Null));
    [&frame[4..frame.len() - 1], value].concat()
}

fn reason(result: Result<FromWorker, DecodeError>) -> String {
    match result {
        Err(DecodeError::Malformed { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Everything that comes out of a stream cut into pieces, up to the first error.
fn read_all<M: Message>(pieces: &[&[u8]]) -> (Vec<M>, Result<(), DecodeError>) {
    let (mut reader, mut messages) = (FrameReader::new(), Vec::new());
    for piece in pieces {
        reader.feed(piece);
        loop {
            match reader.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    let end = reader.finish();
    (messages, end)
}

#[test]
fn a_length_over_the_limit_is_refused_before_its_bytes_come() {
    let len = u32::try_from(MAX_FRAME_BYTES + 1).unwrap();
    let too_large = DecodeError::TooLarge { len: MAX_FRAME_BYTES + 1 };
    let mut reader = FrameReader::<ToWorker>::new();
    reader.feed(&len.to_be_bytes());
    assert_eq!(reader.next_message(), Err(too_large.clone()));
    assert_eq!(reader.next_message(), Err(too_large.clone()), "it stays");

    let read = read_message::<ToWorker>(&mut len.to_be_bytes().as_slice());
    assert!(matches!(read, Err(ReadError::Decode(error)) if error == too_large));

    let mut reader = FrameReader::<ToWorker>::new();
    reader.feed(&(len - 1).to_be_bytes());
    assert_eq!(reader.next_message(), Ok(None));
}

#[test]
fn a_message_over_the_limit_is_not_written() {
    let mut buffer = b"before".to_vec();
    let text = "x".repeat(MAX_FRAME_BYTES);
    let error = encode(&FromWorker::Delta { id: StepId(1), text }, &mut buffer).unwrap_err();
    assert!(matches!(error, EncodeError::TooLarge { len } if len > MAX_FRAME_BYTES));
    assert_eq!(buffer, b"before");
}

#[test]
fn nesting_is_bounded_in_both_directions() {
    let deepest = partial(nested(MAX_DEPTH - 1));
    assert_eq!(decode(&frame(&deepest)[4..]), Ok(deepest));
    let error = encode(&partial(nested(MAX_DEPTH)), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), format!("the message nests deeper than {MAX_DEPTH}"));

    for opening in [&[0x91][..], &[0x81, 0xa1, b'a'], &[0xdd, 0, 0, 0, 1]] {
        let value = [opening.repeat(MAX_DEPTH), vec![0xc0]].concat();
        assert_eq!(reason(decode(&partial_body(&value))), format!("nests deeper than {MAX_DEPTH}"));
        let value = opening.repeat(10_000);
        assert_eq!(reason(decode(&partial_body(&value))), format!("nests deeper than {MAX_DEPTH}"));
    }
}

#[test]
fn the_number_of_values_is_bounded_in_both_directions() {
    // The map, its three keys, their values, one of them the array.
    let room = MAX_VALUES - 7;
    let most = partial(Value::Array(vec![Value::Null; room]));
    assert_eq!(decode(&frame(&most)[4..]), Ok(most));
    let error = encode(&partial(Value::Array(vec![Value::Null; room + 1])), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), format!("the message holds more than {MAX_VALUES} values"));

    let len = u32::try_from(room + 1).unwrap().to_be_bytes();
    let value = [&[0xdd][..], &len, &vec![0xc0; room + 1]].concat();
    assert_eq!(reason(decode(&partial_body(&value))), format!("holds more than {MAX_VALUES} values"));
}

#[test]
fn the_frames_behind_a_malformed_one_are_read() {
    let ping = ToWorker::Ping { n: 1 };
    let mut reader = FrameReader::new();
    reader.feed(&[&[0, 0, 0, 1, 0xc0][..], &frame(&ping)].concat());
    assert!(
        matches!(reader.next_message(), Err(DecodeError::Malformed { reason }) if reason == "is not a map")
    );
    assert_eq!(reader.next_message(), Ok(Some(ping)));
    assert_eq!(reader.next_message(), Ok(None));
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn a_stream_may_end_only_between_frames() {
    let bytes = frame(&ToWorker::Ping { n: 1 });
    for end in 1..bytes.len() {
        assert_eq!(read_all::<ToWorker>(&[&bytes[..end]]), (vec![], Err(DecodeError::Truncated)));
        let read = read_message::<ToWorker>(&mut &bytes[..end]);
        assert!(matches!(read, Err(ReadError::Decode(DecodeError::Truncated))));
    }
    assert_eq!(read_message::<ToWorker>(&mut io::empty()).unwrap(), None);
}

#[test]
fn a_message_of_two_types_is_refused() {
    for (first, second) in [("delta", "delta"), ("delta", "pong"), ("finished", "delta"), ("pong", "delta")] {
        let members = [
            ("type", json!(first)),
            ("id", json!(1)),
            ("text", json!("a")),
            ("outcome", json!({"type": "text", "text": "a"})),
            ("n", json!(1)),
            ("type", json!(second)),
        ];
        let mut body = vec![0x80 | u8::try_from(members.len()).unwrap()];
        for member in members {
            // Without the mark of an array of two.
            body.extend_from_slice(&rmp_serde::to_vec(&member).unwrap()[1..]);
        }
        reason(decode(&body));
    }
}

/// Gives one byte at a time, with interruptions.
struct Dripping<'a> {
    bytes: &'a [u8],
    interrupt: bool,
}

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.bytes.read(&mut buffer[..len])
    }
}

#[test]
fn blocking_reads_wait_for_the_whole_message_and_take_no_more() {
    let messages = [ToWorker::Ping { n: 1 }, ToWorker::Shutdown { grace_ms: 5 }];
    let mut bytes = Vec::new();
    for message in &messages {
        write_message(&mut bytes, message).unwrap();
    }
    let mut reader = Dripping { bytes: &bytes, interrupt: false };
    for message in messages {
        assert_eq!(read_message(&mut reader).unwrap(), Some(message));
    }
    assert_eq!(read_message::<ToWorker>(&mut reader).unwrap(), None);
}

/// Where to cut, in a thousandth of the whole.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..1000_usize, 0..10)
}

fn cut<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces: Vec<_> = cuts
        .iter()
        .map(|cut| {
            let (piece, rest) = bytes.split_at(bytes.len() * cut / 1000);
            bytes = rest;
            piece
        })
        .collect();
    pieces.push(bytes);
    pieces
}

fn reads_as_written<M: Message + Clone + PartialEq + std::fmt::Debug>(
    messages: &[M],
    cuts: &[usize],
) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    for message in messages {
        encode(message, &mut bytes).unwrap();
    }
    prop_assert_eq!(read_all(&cut(&bytes, cuts)), (messages.to_vec(), Ok(())));
    Ok(())
}

/// A message reads the same with its first `count` members put last.
fn reads_in_any_order<M: Message + PartialEq + std::fmt::Debug>(
    message: &M,
    count: prop::sample::Index,
) -> Result<(), TestCaseError> {
    let Value::Object(members) = serde_json::to_value(message).unwrap() else { panic!("a map") };
    let mut members: Vec<_> = members.into_iter().collect();
    let count = count.index(members.len());
    members.rotate_left(count);
    let members: serde_json::Map<_, _> = members.into_iter().collect();
    prop_assert_eq!(&decode::<M>(&rmp_serde::to_vec(&members).unwrap()).unwrap(), message);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_supervisor_writes_is_read(
        messages in prop::collection::vec(messages::to_worker(), 0..5),
        cuts in cuts(),
    ) {
        reads_as_written(&messages, &cuts)?;
    }

    #[test]
    fn what_a_worker_writes_is_read(
        messages in prop::collection::vec(messages::from_worker(), 0..5),
        cuts in cuts(),
    ) {
        reads_as_written(&messages, &cuts)?;
    }

    #[test]
    fn the_order_of_members_means_nothing(
        to_worker in messages::to_worker(),
        from_worker in messages::from_worker(),
        count in any::<prop::sample::Index>(),
    ) {
        reads_in_any_order(&to_worker, count)?;
        reads_in_any_order(&from_worker, count)?;
    }

    #[test]
    fn any_bytes_are_read_the_same_however_they_come(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        len in 0..40_u8,
        cuts in cuts(),
    ) {
        let bytes = [&[0, 0, 0, len][..], &bytes].concat();
        prop_assert_eq!(read_all::<ToWorker>(&[&bytes]), read_all(&cut(&bytes, &cuts)));
        prop_assert_eq!(read_all::<FromWorker>(&[&bytes]), read_all(&cut(&bytes, &cuts)));
    }

    #[test]
    fn a_damaged_message_is_read_or_refused(
        message in messages::to_worker(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut body = frame(&message).split_off(4);
        for (index, byte) in damage {
            *index.get_mut(&mut body) = byte;
        }
        if let Ok(message) = decode::<ToWorker>(&body) {
            frame(&message);
        }
    }
}
