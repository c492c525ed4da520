//! A model whose steps are counted.

use std::{sync::Arc, time::Instant};

use oam_agent::{BoxFuture, Model, ModelError, ModelLayer, StepOutcome, StepRequest, StepSink};
use serde_json::Value;

use super::Metrics;

/// A model that counts its steps.
pub(super) struct MeteredModel {
    model: Arc<dyn Model>,
    metrics: Metrics,
}

impl MeteredModel {
    pub(super) fn new(model: Arc<dyn Model>, metrics: Metrics) -> Self {
        Self { model, metrics }
    }
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
        self.metrics.step_replayed();
        self.sink.interrupted(why);
    }
}

impl ModelLayer for MeteredModel {
    fn below(&self) -> &dyn Model {
        &*self.model
    }

    fn pass_step<'a>(
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
}
