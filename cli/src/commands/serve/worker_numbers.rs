//! The workers in `GET /metrics`.

use std::collections::BTreeMap;

use oam_server::{Sample, SampleKind};
use oam_workers::{BreakerState, Counters, PoolStatus, WorkerActivity, WorkerPool};

/// The numbers of the moment; none when the pool has ended.
pub(super) async fn of(pool: WorkerPool) -> Vec<Sample> {
    pool.status().await.as_ref().map(samples).unwrap_or_default()
}

fn samples(status: &PoolStatus) -> Vec<Sample> {
    let mut by_state = BTreeMap::from(WorkerActivity::ALL.map(|state| (state, 0)));
    for worker in &status.workers {
        *by_state.entry(worker.state).or_default() += 1;
    }
    let workers = by_state.into_iter().map(|(state, count)| Sample {
        labels: vec![("state", state.as_str().to_owned())],
        ..gauge("oam_workers", "Workers by what they do.", count)
    });
    let Counters { steps, crashes, hangs, violations, replays, quarantined, recycled, started } =
        &status.counters;
    let crashes = crashes.iter().map(|(cause, count)| Sample {
        labels: vec![("cause", cause.clone())],
        ..counter("oam_worker_crashes_total", "Workers that died unasked, by how.", *count)
    });
    let waiting = u64::try_from(status.waiting_steps).unwrap_or(u64::MAX);
    let is_paused = u64::from(status.breaker != BreakerState::Closed);
    let others = [
        gauge("oam_worker_steps_waiting", "Steps that wait for a worker.", waiting),
        gauge("oam_worker_starts_paused", "1 while workers die too often to start more.", is_paused),
        counter("oam_worker_steps_total", "Steps that workers have ended.", *steps),
        counter("oam_worker_hangs_total", "Workers that hung.", *hangs),
        counter("oam_worker_violations_total", "Workers that broke the protocol.", *violations),
        counter("oam_worker_replays_total", "Steps played again on another worker.", *replays),
        counter(
            "oam_worker_quarantined_steps_total",
            "Steps given up since they crashed workers.",
            *quarantined,
        ),
        counter("oam_worker_recycled_total", "Workers replaced in good order.", *recycled),
        counter("oam_worker_started_total", "Workers started.", *started),
    ];
    workers.chain(crashes).chain(others).collect()
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Sample {
    Sample { kind: SampleKind::Gauge, ..counter(name, help, value) }
}

#[expect(clippy::cast_precision_loss, reason = "no such number of workers or steps")]
fn counter(name: &'static str, help: &'static str, value: u64) -> Sample {
    Sample { name, help, kind: SampleKind::Counter, labels: Vec::new(), value: value as f64 }
}
