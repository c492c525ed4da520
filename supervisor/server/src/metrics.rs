//! What the server has done, for Prometheus.
//!
//! The few numbers are kept here, without a library: counters, gauges and one histogram are all there is, and the text format
//! is a line each.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Write as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, Model, ModelError, StepOutcome, StepRequest, StepSink,
};
use serde_json::Value;

/// The upper ends of the histograms' buckets, in seconds.
const BUCKETS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// The counters of a server. Cloning refers to the same ones.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Counters>);

/// A number that somebody else keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The name of the family. Samples of one family stand together.
    pub name: &'static str,
    /// What it tells, in a sentence.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: SampleKind,
    /// What tells it from others of its family.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

/// How a number changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Tells the numbers of the moment.
type Source = Arc<dyn Fn() -> BoxFuture<'static, Vec<Sample>> + Send + Sync>;

#[derive(Default)]
struct Counters {
    requests: Mutex<BTreeMap<RequestKey, u64>>,
    turns: Mutex<BTreeMap<&'static str, u64>>,
    steps: Mutex<BTreeMap<&'static str, u64>>,
    turn_seconds: Histogram,
    step_seconds: Histogram,
    step_replays: AtomicU64,
    refused_connections: AtomicU64,
    malformed_requests: AtomicU64,
    sources: Mutex<Vec<Source>>,
}

/// The route, and the status if there was one.
type RequestKey = (&'static str, Option<u16>);

impl Metrics {
    /// A model whose steps are counted.
    pub fn metered(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(MeteredModel { model, metrics: self.clone() })
    }

    /// Shows the numbers that `source` tells, too: those of workers, for example. Who looks at the numbers waits for it.
    pub fn add_source<F>(&self, source: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Vec<Sample>> + Send + 'static,
    {
        lock(&self.0.sources).push(Arc::new(move || Box::pin(source())));
    }

    /// All numbers in Prometheus' text format.
    pub async fn text(&self) -> String {
        let counters = &*self.0;
        let mut page = Page(String::new());
        page.family(
            "oam_requests_total",
            SampleKind::Counter,
            "HTTP requests by route and status; 0: given up.",
        );
        for ((route, status), count) in &*lock(&counters.requests) {
            page.sample("oam_requests_total", &[("route", route), ("status", &status.unwrap_or(0))], *count);
        }
        page.by_outcome("oam_turns_total", "Completions by outcome.", &counters.turns);
        page.histogram("oam_turn_seconds", "How long completions took.", &counters.turn_seconds);
        page.by_outcome("oam_steps_total", "Steps of the model by outcome.", &counters.steps);
        page.histogram("oam_step_seconds", "How long steps took.", &counters.step_seconds);
        for (name, help, count) in [
            ("oam_step_replays_total", "Steps played again since a worker was lost.", &counters.step_replays),
            (
                "oam_connections_refused_total",
                "Connections refused at the limit.",
                &counters.refused_connections,
            ),
            ("oam_requests_malformed_total", "Requests that are no HTTP.", &counters.malformed_requests),
        ] {
            page.family(name, SampleKind::Counter, help);
            page.sample(name, &[], count.load(Ordering::Relaxed));
        }
        let sources = lock(&counters.sources).clone();
        for source in sources {
            page.samples(&source().await);
        }
        page.0
    }

    /// A request got its answer, or was given up.
    pub(crate) fn request_ended(&self, route: Option<&'static str>, status: Option<u16>) {
        *lock(&self.0.requests).entry((route.unwrap_or("none"), status)).or_default() += 1;
    }

    /// A completion ended.
    pub(crate) fn turn_ended(&self, outcome: &'static str, elapsed: Duration) {
        *lock(&self.0.turns).entry(outcome).or_default() += 1;
        self.0.turn_seconds.observe(elapsed);
    }

    pub(crate) fn connection_refused(&self) {
        self.0.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn request_malformed(&self) {
        self.0.malformed_requests.fetch_add(1, Ordering::Relaxed);
    }

    fn step_ended(&self, outcome: &'static str, elapsed: Duration) {
        *lock(&self.0.steps).entry(outcome).or_default() += 1;
        self.0.step_seconds.observe(elapsed);
    }
}

/// Counters stay true whatever happened to who held the lock.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}

/// Durations, counted by their size.
#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS.partition_point(|&end| end < seconds);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// A text in the making.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: SampleKind, help: &str) {
        let kind = match kind {
            SampleKind::Counter => "counter",
            SampleKind::Gauge => "gauge",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let start = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{start}{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn by_outcome(&mut self, name: &str, help: &str, counts: &Mutex<BTreeMap<&'static str, u64>>) {
        self.family(name, SampleKind::Counter, help);
        for (outcome, count) in &*lock(counts) {
            self.sample(name, &[("outcome", outcome)], *count);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut count = 0;
        let ends = BUCKETS.iter().map(|end| end as &dyn Display).chain([&"+Inf" as &dyn Display]);
        for (bucket, end) in histogram.buckets.iter().zip(ends) {
            count += bucket.load(Ordering::Relaxed);
            self.sample(&format!("{name}_bucket"), &[("le", end)], count);
        }
        let sum = Duration::from_micros(histogram.micros.load(Ordering::Relaxed)).as_secs_f64();
        self.sample(&format!("{name}_sum"), &[], sum);
        self.sample(&format!("{name}_count"), &[], count);
    }

    fn samples(&mut self, samples: &[Sample]) {
        let mut family = None;
        for sample in samples {
            if family != Some(sample.name) {
                self.family(sample.name, sample.kind, sample.help);
                family = Some(sample.name);
            }
            let labels: Vec<_> =
                sample.labels.iter().map(|(name, text)| (*name, text as &dyn Display)).collect();
            self.sample(sample.name, &labels, sample.value);
        }
    }
}

/// A model that counts its steps.
struct MeteredModel {
    model: Arc<dyn Model>,
    metrics: Metrics,
}

/// Counts a step when it is dropped.
struct StepClock<'a> {
    metrics: &'a Metrics,
    started: Instant,
    outcome: &'static str,
}

impl Drop for StepClock<'_> {
    fn drop(&mut self) {
        self.metrics.step_ended(self.outcome, self.started.elapsed());
    }
}

/// A sink that counts replays.
struct MeteredSink<'a> {
    sink: &'a mut dyn StepSink,
    metrics: &'a Metrics,
}

impl StepSink for MeteredSink<'_> {
    fn text(&mut self, delta: &str) {
        self.sink.text(delta);
    }

    fn reset(&mut self, text: &str) {
        self.sink.reset(text);
    }

    fn partial(&mut self, value: Value) {
        self.sink.partial(value);
    }

    fn interrupted(&mut self, why: &str) {
        self.metrics.0.step_replays.fetch_add(1, Ordering::Relaxed);
        self.sink.interrupted(why);
    }
}

impl Model for MeteredModel {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let mut clock =
                StepClock { metrics: &self.metrics, started: Instant::now(), outcome: "cancelled" };
            let mut sink = MeteredSink { sink, metrics: &self.metrics };
            let outcome = self.model.step(request, &mut sink).await;
            clock.outcome = if outcome.is_ok() { "finished" } else { "failed" };
            outcome
        })
    }

    fn availability(&self) -> Availability {
        self.model.availability()
    }

    fn context_size(&self) -> Option<u32> {
        self.model.context_size()
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        self.model.count_tokens(request)
    }

    fn prewarm(&self, instructions: Option<&str>) {
        self.model.prewarm(instructions);
    }

    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn numbers_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.request_ended(Some("chat_completions"), Some(200));
        metrics.request_ended(Some("chat_completions"), None);
        metrics.turn_ended("answered", Duration::from_millis(7));
        metrics.turn_ended("answered", Duration::from_mins(9));
        metrics.add_source(|| async {
            let crashes = |cause: &str, value| Sample {
                name: "oam_worker_crashes_total",
                help: "Workers that died.",
                kind: SampleKind::Counter,
                labels: vec![("cause", cause.to_owned())],
                value,
            };
            vec![crashes("SIGSEGV", 2.0), crashes("a \"quoted\"\nline", 1.0)]
        });
        let text = metrics.text().await;
        for line in [
            "# TYPE oam_requests_total counter",
            r#"oam_requests_total{route="chat_completions",status="200"} 1"#,
            r#"oam_requests_total{route="chat_completions",status="0"} 1"#,
            r#"oam_turns_total{outcome="answered"} 2"#,
            "# TYPE oam_turn_seconds histogram",
            r#"oam_turn_seconds_bucket{le="0.005"} 0"#,
            r#"oam_turn_seconds_bucket{le="0.01"} 1"#,
            r#"oam_turn_seconds_bucket{le="120"} 1"#,
            r#"oam_turn_seconds_bucket{le="+Inf"} 2"#,
            "oam_turn_seconds_sum 540.007",
            "oam_turn_seconds_count 2",
            r#"oam_worker_crashes_total{cause="SIGSEGV"} 2"#,
            r#"oam_worker_crashes_total{cause="a \"quoted\"\nline"} 1"#,
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n\n{text}");
        }
        assert_eq!(text.matches("# TYPE oam_worker_crashes_total").count(), 1);
    }
}
