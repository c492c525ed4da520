//! What a worker has said counts, however soon it dies afterwards.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

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

#[tokio::test]
async fn an_answer_counts_although_its_worker_died_right_behind_it() {
    const TIMES: usize = 30;
    let folder = tempfile::tempdir().unwrap();
    let (ready, finished) = (folder.path().join("ready"), folder.path().join("finished"));
    write_frames(
        &ready,
        &[FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            worker: WorkerInfo { name: "shell".into(), version: "1".into(), pid: 1 },
            capabilities: Capabilities { parallel_steps: 1, ..Capabilities::default() },
            availability: Availability {
                available: true,
                reason: None,
                context_size: None,
                variant: None,
                supported_languages: Vec::new(),
            },
        })],
    );
    // Enough of it that it takes several reads.
    let pieces = (0..2000).map(|_| FromWorker::Delta { id: StepId(1), text: "a piece ".repeat(8) });
    let end = FromWorker::Finished {
        id: StepId(1),
        outcome: Outcome::Text { text: "the answer".into() },
        usage: TokenUsage::default(),
    };
    write_frames(&finished, &pieces.chain([end]).collect::<Vec<_>>());
    let script = "cat \"$1\" >&0; dd bs=1 count=4 of=/dev/null status=none; cat \"$2\" >&0; kill -KILL $$";
    let arguments =
        ["-c", script, "worker"].into_iter().map(Into::into).chain([ready.into(), finished.into()]);
    let command = WorkerCommand { program: "sh".into(), arguments: arguments.collect() };
    let config = PoolConfig { spare: false, ..PoolConfig::new(command) };
    for time in 0..TIMES {
        let pool = WorkerPool::start(config.clone());
        let outcome = pool.step(request(), &mut Deaf).await.unwrap();
        assert_eq!(outcome.content, StepContent::Text("the answer".to_owned()));
        assert_eq!(pool.status().await.unwrap().counters.replays, 0, "time {time}");
        pool.stop().await;
    }
}
