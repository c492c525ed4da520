//! What the server has done, for Prometheus.
//!
//! The few numbers are kept here, without a library: counters, gauges and [histograms](histogram) are all there is, and the text
//! format ([`page`]) is a line each. [`metered`] counts the steps of a model.

mod histogram;
mod metered;
mod page;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use oam_agent::{BoxFuture, Model};

use histogram::Histogram;
use metered::MeteredModel;
use page::Page;
pub use page::{Sample, SampleKind};

/// The counters of a server. Cloning refers to the same ones.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Counters>);

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
        Arc::new(MeteredModel::new(model, self.clone()))
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
        let mut page = Page::default();
        page.family(
            "oam_requests_total",
            SampleKind::Counter,
            "HTTP requests by route and status; 0: given up.",
        );
        for ((route, status), count) in &*lock(&counters.requests) {
            page.sample("oam_requests_total", &[("route", route), ("status", &status.unwrap_or(0))], *count);
        }
        page.by_outcome("oam_turns_total", "Completions by outcome.", &lock(&counters.turns));
        page.histogram("oam_turn_seconds", "How long completions took.", &counters.turn_seconds);
        page.by_outcome("oam_steps_total", "Steps of the model by outcome.", &lock(&counters.steps));
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
        page.into_text()
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

    fn step_replayed(&self) {
        self.0.step_replays.fetch_add(1, Ordering::Relaxed);
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
