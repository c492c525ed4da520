//! Numbers in Prometheus' text format.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use super::histogram::Histogram;

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

/// A text in the making.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    pub(super) fn family(&mut self, name: &str, kind: SampleKind, help: &str) {
        let kind = match kind {
            SampleKind::Counter => "counter",
            SampleKind::Gauge => "gauge",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let start = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{start}{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    pub(super) fn by_outcome(&mut self, name: &str, help: &str, counts: &BTreeMap<&'static str, u64>) {
        self.family(name, SampleKind::Counter, help);
        for (outcome, count) in counts {
            self.sample(name, &[("outcome", outcome)], *count);
        }
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut count = 0;
        for (end, until_there) in histogram.cumulative() {
            count = until_there;
            let end = end.as_ref().map_or(&"+Inf" as &dyn Display, |end| end);
            self.sample(&format!("{name}_bucket"), &[("le", end)], count);
        }
        self.sample(&format!("{name}_sum"), &[], histogram.sum());
        self.sample(&format!("{name}_count"), &[], count);
    }

    pub(super) fn samples(&mut self, samples: &[Sample]) {
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

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
