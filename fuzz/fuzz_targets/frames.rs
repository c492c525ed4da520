//! Any stream from a worker or a supervisor: reading it never panics, and what was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oam_ipc::{DecodeError, FrameReader, FromWorker, Message, ToWorker, decode, encode};

fuzz_target!(|stream: &[u8]| {
    read::<ToWorker>(stream);
    read::<FromWorker>(stream);
});

fn read<M: Message>(stream: &[u8]) {
    // Frames without their lengths are read too: most of what is tried has a wrong length.
    if let Ok(message) = decode::<M>(stream) {
        write(&message);
    }
    let mut reader = FrameReader::<M>::new();
    reader.feed(stream);
    loop {
        match reader.next_message() {
            Ok(Some(message)) => write(&message),
            Ok(None) | Err(DecodeError::TooLarge { .. }) => break,
            Err(_) => {}
        }
    }
}

fn write<M: Message>(message: &M) {
    let mut frame = Vec::new();
    encode(message, &mut frame).expect("what was read can be written");
    let again: M = decode(&frame[4..]).expect("what was written can be read");
    let mut frame_again = Vec::new();
    encode(&again, &mut frame_again).expect("it can be written once more");
    assert_eq!(frame, frame_again);
}
