//! Durations, counted by their size.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The upper ends of the histograms' buckets, in seconds.
const BUCKETS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Durations, counted by their size.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS.partition_point(|&end| end < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// How many were at most so long, for each end of a bucket; `None` is the end of the last.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let ends = BUCKETS.into_iter().map(Some).chain([None]);
        ends.zip(&self.counts).scan(0, |count, (end, bucket)| {
            *count += bucket.load(Ordering::Relaxed);
            Some((end, *count))
        })
    }

    /// How long all of them were together, in seconds.
    pub(super) fn sum(&self) -> f64 {
        Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64()
    }
}
