//! Workers that are shells. What one has said counts, however soon it dies afterwards; one can be killed on demand; and how
//! many steps they play is known.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use oam_agent::{
    GenerationOptions, Model, StepContent, StepRequest, StepSink, ToolMode, transcript::Transcript,
};
use oam_ipc::{
    Availability, Capabilities, FromWorker, Outcome, PROTOCOL_VERSION, Ready, StepId, TokenUsage, WorkerInfo,
    encode,
};
use oam_workers::{PoolConfig, WorkerCommand, WorkerPool};
use serde_json::Value;

/// Hears nothing.
struct Deaf;

impl StepSink for Deaf {
    fn text(&mut self, _delta: &str) {}
    fn reset(&mut self, _text: &str) {}
    fn partial(&mut self, _value: Value) {}
}

fn write_frames(path: &Path, messages: &[FromWorker]) {
    let mut frames = Vec::new();
    for message in messages {
        encode(message, &mut frames).unwrap();
    }
    fs::write(path, frames).unwrap();
}

fn request() -> StepRequest {
    StepRequest {
        instructions: None,
        transcript: Transcript::default().view_from(0),
        tools: Vec::new(),
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: false,
        cache_key: 0,
    }
}

fn ready() -> FromWorker {
    ready_for(1)
}

fn ready_for(parallel_steps: u32) -> FromWorker {
    FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        worker: WorkerInfo { name: "shell".into(), version: "1".into(), pid: 1 },
        capabilities: Capabilities { parallel_steps, ..Capabilities::default() },
        availability: Availability {
            available: true,
            reason: None,
            context_size: None,
            variant: None,
            supported_languages: Vec::new(),
        },
    })
}

fn finished(text: &str) -> FromWorker {
    let outcome = Outcome::Text { text: text.into() };
    FromWorker::Finished { id: StepId(1), outcome, usage: TokenUsage::default() }
}

/// A pool of one worker: a shell that plays this script, with paths as its arguments.
fn shell(script: &str, paths: impl IntoIterator<Item = PathBuf>) -> PoolConfig {
    let arguments = ["-c", script, "worker"].into_iter().map(Into::into);
    let arguments = arguments.chain(paths.into_iter().map(Into::into)).collect();
    PoolConfig { spare: false, ..PoolConfig::new(WorkerCommand { program: "sh".into(), arguments }) }
}

#[tokio::test]
async fn an_answer_counts_although_its_worker_died_right_behind_it() {
    const TIMES: usize = 30;
    let folder = tempfile::tempdir().unwrap();
    let (ready, finished) = (folder.path().join("ready"), folder.path().join("finished"));
    write_frames(&ready, &[self::ready()]);
    // Enough of it that it takes several reads.
    let pieces = (0..2000).map(|_| FromWorker::Delta { id: StepId(1), text: "a piece ".repeat(8) });
    write_frames(&finished, &pieces.chain([self::finished("the answer")]).collect::<Vec<_>>());
    let script = "cat \"$1\" >&0; dd bs=1 count=4 of=/dev/null status=none; cat \"$2\" >&0; kill -KILL $$";
    let config = shell(script, [ready, finished]);
    for time in 0..TIMES {
        let pool = WorkerPool::start(config.clone());
        let outcome = pool.step(request(), &mut Deaf).await.unwrap();
        assert_eq!(outcome.content, StepContent::Text("the answer".to_owned()));
        assert_eq!(pool.status().await.unwrap().counters.replays, 0, "time {time}");
        pool.stop().await;
    }
}

#[tokio::test]
async fn a_busy_worker_can_be_killed_and_an_idle_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [ready, finished, mark] = ["ready", "finished", "mark"].map(|name| folder.path().join(name));
    write_frames(&ready, &[self::ready()]);
    write_frames(&finished, &[self::finished("once more")]);
    // The first one never answers.
    let script = "mkdir \"$3\" && first=1; cat \"$1\" >&0; test \"$first\" && sleep 600; \
        dd bs=1 count=4 of=/dev/null status=none; cat \"$2\" >&0; cat >/dev/null";
    let pool = WorkerPool::start(shell(script, [ready, finished, mark]));
    pool.settled().await;
    assert_eq!(pool.kill_busy_worker().await, None);
    let worker = pool.status().await.unwrap().workers.remove(0);
    let mut deaf = Deaf;
    let (outcome, killed) = tokio::join!(biased; pool.step(request(), &mut deaf), pool.kill_busy_worker());
    let killed = killed.unwrap();
    assert_eq!((killed.worker.to_string(), Some(killed.pid)), (worker.worker, worker.pid));
    assert_eq!(outcome.unwrap().content, StepContent::Text("once more".to_owned()));
    let counters = pool.status().await.unwrap().counters;
    assert_eq!((counters.crashes.get("SIGKILL"), counters.replays), (Some(&1), 1));
    pool.stop().await;
    assert_eq!(pool.kill_busy_worker().await, None);
}

#[tokio::test]
async fn a_pool_learns_from_its_workers_how_many_steps_it_plays_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let [ready, go] = ["ready", "go"].map(|name| folder.path().join(name));
    write_frames(&ready, &[ready_for(4)]);
    let script = "until test -e \"$2\"; do sleep 0.01; done; cat \"$1\" >&0; cat >/dev/null";
    let pool = WorkerPool::start(PoolConfig { workers: 3, ..shell(script, [ready, go.clone()]) });
    let mut parallel_steps = pool.parallel_steps();
    assert_eq!(parallel_steps.borrow().get(), 3);
    fs::write(go, "").unwrap();
    assert_eq!(parallel_steps.wait_for(|count| count.get() != 3).await.unwrap().get(), 12);
    pool.stop().await;
}
