//! What a soak with workers tells: a line a phase, and all of it as JSON.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

/// The pool's counters at one moment, by name; crashes by cause.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) crashes: BTreeMap<String, u64>,
}

impl Counters {
    /// Reads `counters` of a `supervisor/status`.
    pub(crate) fn of(status: &Value) -> Self {
        let numbers = |value: &Value| {
            let members = value.as_object().into_iter().flatten();
            members.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect()
        };
        Self { counts: numbers(&status["counters"]), crashes: numbers(&status["counters"]["crashes"]) }
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn all_crashes(&self) -> u64 {
        self.crashes.values().sum()
    }
}

/// What a phase came to.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) trouble: String,
    pub(crate) turns: u64,
    pub(crate) cancelled: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) crashes: u64,
    pub(crate) hangs: u64,
    pub(crate) violations: u64,
    pub(crate) replays: u64,
    pub(crate) recycled: u64,
    /// Turns of NPCs.
    pub(crate) lines: u64,
    pub(crate) barks: u64,
    pub(crate) decisions: u64,
    /// Changes of worlds.
    pub(crate) writes: u64,
    pub(crate) duration: Duration,
    pub(crate) slowest: Duration,
    pub(crate) rss_kib: u64,
}

/// The heading of the table.
pub(crate) fn heading() -> String {
    format!(
        "{:<24}{:>8}{:>10}{:>8}{:>8}{:>8}{:>7}{:>11}{:>9}{:>9}{:>8}{:>9}{:>11}{:>6}",
        "trouble",
        "turns",
        "cancelled",
        "failed",
        "refused",
        "deaths",
        "hangs",
        "violations",
        "replays",
        "recycled",
        "s",
        "turns/s",
        "slowest s",
        "MiB"
    )
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "for reading")]
    fn turns_per_second(&self) -> f64 {
        self.turns as f64 / self.duration.as_secs_f64()
    }

    /// The row for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "{:<24}{:>8}{:>10}{:>8}{:>8}{:>8}{:>7}{:>11}{:>9}{:>9}{:>8.1}{:>9.0}{:>11.2}{:>6}",
            self.trouble,
            self.turns,
            self.cancelled,
            self.failed,
            self.refused,
            self.crashes,
            self.hangs,
            self.violations,
            self.replays,
            self.recycled,
            self.duration.as_secs_f64(),
            self.turns_per_second(),
            self.slowest.as_secs_f64(),
            self.rss_kib / 1024
        )
    }

    /// How many of the turns were those of games.
    pub(crate) fn of_games(&self) -> String {
        format!(
            "of the turns {} are lines of NPCs, {} barks, {} decisions; worlds changed {} times",
            self.lines, self.barks, self.decisions, self.writes
        )
    }

    /// The row for programs.
    pub(crate) fn json(&self) -> Value {
        json!({"trouble": self.trouble, "turns": self.turns, "cancelled": self.cancelled, "failed": self.failed,
            "refused": self.refused, "deaths": self.crashes, "hangs": self.hangs, "violations": self.violations,
            "replays": self.replays, "recycled": self.recycled, "lines": self.lines, "barks": self.barks,
            "decisions": self.decisions, "worldChanges": self.writes,
            "seconds": self.duration.as_secs_f64(), "slowestSeconds": self.slowest.as_secs_f64(),
            "turnsPerSecond": self.turns_per_second(), "residentKiB": self.rss_kib})
    }
}

/// All rows in one.
pub(crate) fn total(rows: &[Row]) -> Row {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum();
    Row {
        trouble: "all".to_owned(),
        turns: sum(|row| row.turns),
        cancelled: sum(|row| row.cancelled),
        refused: sum(|row| row.refused),
        failed: sum(|row| row.failed),
        crashes: sum(|row| row.crashes),
        hangs: sum(|row| row.hangs),
        violations: sum(|row| row.violations),
        replays: sum(|row| row.replays),
        recycled: sum(|row| row.recycled),
        lines: sum(|row| row.lines),
        barks: sum(|row| row.barks),
        decisions: sum(|row| row.decisions),
        writes: sum(|row| row.writes),
        duration: rows.iter().map(|row| row.duration).sum(),
        slowest: rows.iter().map(|row| row.slowest).max().unwrap_or_default(),
        rss_kib: rows.last().map_or(0, |row| row.rss_kib),
    }
}
