//! How figures are shown.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One measured quantity.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
    /// What it is compared with.
    pub(crate) floor: Option<f64>,
    pub(crate) goal: Option<Goal>,
}

/// What a figure should reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    RatioAtLeast(f64),
    RatioAtMost(f64),
    Below(f64),
}

impl Figure {
    pub(crate) fn new(name: &'static str, unit: &'static str, value: f64) -> Self {
        Self { name, unit, value, floor: None, goal: None }
    }

    pub(crate) fn beside(self, floor: f64) -> Self {
        Self { floor: Some(floor), ..self }
    }

    pub(crate) fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.value / floor)
    }

    fn is_met(&self) -> Option<bool> {
        Some(match (self.goal?, self.ratio()) {
            (Goal::RatioAtLeast(least), Some(ratio)) => ratio >= least,
            (Goal::RatioAtMost(most), Some(ratio)) => ratio <= most,
            (Goal::Below(limit), _) => self.value < limit,
            (_, None) => return None,
        })
    }

    fn goal_text(&self) -> String {
        match self.goal {
            None => String::new(),
            Some(Goal::RatioAtLeast(least)) => format!("ratio >= {least}"),
            Some(Goal::RatioAtMost(most)) => format!("ratio <= {most}"),
            Some(Goal::Below(limit)) => format!("< {limit}"),
        }
    }
}

/// The figures as a table for people.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:<50} {:>12} {:<10} {:>12} {:>7}  goal", "", "measured", "", "beside", "ratio");
    for figure in figures {
        let _ = writeln!(
            out,
            "{:<50} {:>12} {:<10} {:>12} {:>7}  {:<13} {}",
            figure.name,
            digits(figure.value),
            figure.unit,
            figure.floor.map(digits).unwrap_or_default(),
            figure.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            figure.goal_text(),
            match figure.is_met() {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "",
            }
        );
    }
    out
}

/// The figures for programs.
pub(crate) fn json(figures: &[Figure]) -> Value {
    figures
        .iter()
        .map(|figure| {
            json!({"name": figure.name, "unit": figure.unit, "value": figure.value, "beside": figure.floor,
                "ratio": figure.ratio(), "goal": figure.goal_text(), "met": figure.is_met()})
        })
        .collect()
}

fn digits(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
