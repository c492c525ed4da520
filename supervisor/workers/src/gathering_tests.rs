//! What is said to a worker is gathered: seen from the other end of its connection, which this test holds. It is a socket that
//! tells writes apart, as Linux has it.

use std::{
    future::{pending, ready},
    os::unix::net::UnixStream,
};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use oam_agent::{GenerationOptions, Model, StepRequest, StepSink, ToolMode, transcript::TranscriptView};
use oam_ipc::{
    Availability, Capabilities, FrameReader, FromWorker, PROTOCOL_VERSION, Ready, ToWorker, WorkerInfo,
    encode,
};
use tokio::{io::AsyncWriteExt, net::unix::pipe::Receiver, sync::mpsc};

use crate::{
    config::{PoolConfig, WorkerCommand},
    model::WorkerPool,
    process::Process,
};

/// Fewer than the rounds in which what is said is left to grow.
const STEPS: usize = 32;

struct Deaf;

impl StepSink for Deaf {
    fn text(&mut self, _delta: &str) {}
    fn reset(&mut self, _text: &str) {}
    fn partial(&mut self, _value: serde_json::Value) {}
}

fn request() -> StepRequest {
    StepRequest {
        instructions: None,
        transcript: TranscriptView::default(),
        tools: Vec::new(),
        tool_mode: ToolMode::Allowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: false,
        cache_key: 0,
    }
}

fn ready_message() -> FromWorker {
    let steps = u32::try_from(STEPS).unwrap();
    FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        worker: WorkerInfo { name: "fake".into(), version: String::new(), pid: 0 },
        capabilities: Capabilities { parallel_steps: steps, ..Capabilities::default() },
        availability: Availability {
            available: true,
            reason: None,
            context_size: None,
            variant: None,
            supported_languages: Vec::new(),
        },
    })
}

/// A process that does not exist, but has a connection; and its end of that.
fn fake_process() -> (Process, UnixStream) {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let (writing, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags).unwrap();
    let (writing, theirs) = (UnixStream::from(writing), UnixStream::from(theirs));
    let reading = Receiver::from_owned_fd_unchecked(writing.try_clone().unwrap().into()).unwrap();
    let (signals, _) = mpsc::unbounded_channel();
    let exit = tokio::spawn(pending());
    (Process { writing, reading, pid: std::process::id(), signals, exit }, theirs)
}

/// A pool with one worker, which is ready for all steps; and what it is sent.
async fn pool() -> (WorkerPool, tokio::net::UnixStream) {
    let command = WorkerCommand { program: "none".into(), arguments: Vec::new() };
    let config = PoolConfig { spare: false, ..PoolConfig::new(command) };
    let (started, mut starting) = mpsc::unbounded_channel();
    let pool = WorkerPool::start_with(config, move |_, _| {
        let (process, theirs) = fake_process();
        started.send(theirs).unwrap();
        Ok(process)
    });
    let mut worker = tokio::net::UnixStream::from_std(starting.recv().await.unwrap()).unwrap();
    let mut frame = Vec::new();
    encode(&ready_message(), &mut frame).unwrap();
    worker.write_all(&frame).await.unwrap();
    pool.settled().await;
    (pool, worker)
}

/// How many steps the worker gets with the first write.
async fn steps_of_first_write(worker: &tokio::net::UnixStream) -> usize {
    let mut buffer = vec![0; 1 << 20];
    worker.readable().await.unwrap();
    let count = worker.try_read(&mut buffer).unwrap();
    let mut frames = FrameReader::<ToWorker>::new();
    frames.feed(&buffer[..count]);
    let messages: Vec<_> = std::iter::from_fn(|| frames.next_message().unwrap()).collect();
    assert!(messages.iter().all(|message| matches!(message, ToWorker::Generate(_))), "{messages:?}");
    messages.len()
}

/// Asks for a step, then lets another task ask for the next one, until so many have been asked for.
fn ask_in_turn(pool: WorkerPool, steps: usize) {
    tokio::spawn(async move {
        let mut deaf = Deaf;
        let mut step = pool.step(request(), &mut deaf);
        tokio::select! {
            biased;
            end = &mut step => panic!("nobody has answered: {end:?}"),
            () = ready(()) => {}
        }
        if steps > 1 {
            ask_in_turn(pool.clone(), steps - 1);
        }
        step.await
    });
}

#[tokio::test]
async fn steps_that_are_asked_for_at_once_are_written_at_once() {
    let (pool, worker) = pool().await;
    for _ in 0..STEPS {
        ask_in_turn(pool.clone(), 1);
    }
    assert_eq!(steps_of_first_write(&worker).await, STEPS);
}

#[tokio::test]
async fn steps_of_tasks_that_go_on_one_after_another_are_written_at_once() {
    let (pool, worker) = pool().await;
    // Two to begin with: one alone is not left to wait.
    for _ in 0..2 {
        ask_in_turn(pool.clone(), STEPS / 2);
    }
    assert_eq!(steps_of_first_write(&worker).await, STEPS);
}
