//! Text that appears letter by letter, as games show it.
//!
//! What is to be shown waits in a backlog that is never older than a moment, so the typewriter smooths what comes in
//! lumps and does not fall behind. It waits in no place where something else could not happen.

use std::{future, time::Duration};

use tokio::time::Instant;

use crate::console::Console;

/// How often it strikes.
const STROKE: Duration = Duration::from_millis(15);
/// How many strokes a text may take, however long it is.
const MOST_STROKES: usize = 20;

#[derive(Debug)]
pub(super) struct Typewriter {
    console: Console,
    backlog: String,
    /// As many characters make a stroke.
    at_once: usize,
    next_stroke: Instant,
}

impl Typewriter {
    pub(super) fn new(console: Console) -> Self {
        Self { console, backlog: String::new(), at_once: 1, next_stroke: Instant::now() }
    }

    /// Has this text typed. Where nobody looks, it is there at once.
    pub(super) fn type_text(&mut self, text: &str) {
        if !self.console.is_terminal() {
            return self.console.write(text);
        }
        if self.backlog.is_empty() {
            self.next_stroke = Instant::now();
        }
        self.backlog.push_str(text);
        self.at_once = self.backlog.chars().count().div_ceil(MOST_STROKES).max(1);
    }

    /// Strikes once, when it is time; never returns when there is nothing to type. May be dropped at any moment.
    pub(super) async fn stroke(&mut self) {
        if self.backlog.is_empty() {
            future::pending::<()>().await;
        }
        tokio::time::sleep_until(self.next_stroke).await;
        let end = self.backlog.char_indices().nth(self.at_once).map_or(self.backlog.len(), |(end, _)| end);
        self.console.write(&self.backlog[..end]);
        self.backlog.drain(..end);
        self.next_stroke = Instant::now() + STROKE;
    }

    /// Types the rest, which takes a moment at most.
    pub(super) async fn finish(&mut self) {
        while !self.backlog.is_empty() {
            self.stroke().await;
        }
    }

    /// Shows the rest at once: something else is to be shown behind it.
    pub(super) fn flush(&mut self) {
        self.console.write(&self.backlog);
        self.backlog.clear();
    }
}
