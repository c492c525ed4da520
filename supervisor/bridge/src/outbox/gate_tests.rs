use std::{
    future::poll_fn,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
};

use oam_agent::BoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::yield_now,
    time::{Instant, advance},
};

use super::{super::*, *};
use crate::{
    journal::{Appended, ObjectName},
    message::{EventContext, Members, Payload},
};

/// A disk that the test moves.
#[derive(Debug, Default)]
struct Disk {
    last: AtomicU64,
    durability: watch::Sender<Durability>,
}

impl Disk {
    /// Something changes, which is now to be written.
    fn change(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn has_written(&self, sequence: u64) {
        self.durability.send_replace(Durability { durable: Sequence(sequence), ..Durability::default() });
    }

    /// Something was to be written and could not be.
    fn fails(&self, reason: &str) {
        if self.last() <= self.durability().durable {
            self.change();
        }
        let failure = StorageFailure { path: None, reason: reason.to_owned() };
        self.durability.send_modify(|now| now.failure = Some(Arc::new(failure)));
    }

    /// It does so for ever.
    fn fails_for_good(&self, reason: &str) {
        self.fails(reason);
        self.durability.send_modify(|now| now.is_final = true);
    }
}

impl Journal for Disk {
    fn ready(&self) -> Result<(), StorageFailure> {
        Ok(())
    }

    fn append(&self, _: &ObjectName, _: Vec<u8>) -> Result<Appended, StorageFailure> {
        Ok(Appended { sequence: Sequence(self.change()), rewrite_due: false })
    }

    fn rewrite(&self, _: &ObjectName, _: Vec<u8>, _: Sequence) -> Result<(), StorageFailure> {
        Ok(())
    }

    fn remove(&self, _: &ObjectName) -> Result<Sequence, StorageFailure> {
        Ok(Sequence(self.change()))
    }

    fn last(&self) -> Sequence {
        Sequence(self.last.load(Ordering::Relaxed))
    }

    fn durability(&self) -> Durability {
        self.durability.borrow().clone()
    }

    fn changed<'a>(&'a self, seen: &'a Durability) -> BoxFuture<'a, Durability> {
        Box::pin(async move {
            let mut news = self.durability.subscribe();
            news.wait_for(|now| now != seen).await.expect("the sender is borrowed").clone()
        })
    }
}

/// A guarded outbox with its disk.
struct Guarded {
    outbox: Outbox,
    consumer: OutboxConsumer,
    disk: Arc<Disk>,
    watcher: tokio::task::JoinHandle<()>,
}

fn guarded(limits: OutboxLimits) -> Guarded {
    let (outbox, consumer) = outbox(limits);
    let disk = Arc::new(Disk::default());
    let watcher = tokio::spawn(outbox.guard(Arc::clone(&disk) as Arc<dyn Journal>));
    Guarded { outbox, consumer, disk, watcher }
}

impl Guarded {
    /// The result of a change.
    fn answer(&self, id: u32) {
        self.outbox.push_change(&RequestId::from(id), &Payload::empty_object());
    }

    /// The result of a request that only looked.
    fn tell(&self, id: u32) {
        let result = &Payload::empty_object();
        self.outbox.push(Outgoing::Result { id: Some(&RequestId::from(id)), result });
    }

    fn refuse(&self, id: u32) {
        let error = &BridgeError::shut_down();
        self.outbox.push(Outgoing::Error { id: Some(&RequestId::from(id)), error });
    }

    fn notify(&self, method: &str) {
        self.outbox.push(Outgoing::Notification { method, params: &Payload::empty_object() });
    }

    fn grow(&self, turn: &Arc<EventContext>, delta: &str) {
        self.outbox.push_growth(turn, Growth::LineDelta(delta.into()));
    }

    /// What leaves without more happening, shortened.
    async fn leaves(&mut self) -> Vec<String> {
        settle().await;
        let batch = poll_fn(|context| match self.consumer.poll_batch(context) {
            Poll::Ready(batch) => Poll::Ready(batch.unwrap_or_default()),
            Poll::Pending => Poll::Ready(Vec::new()),
        });
        summary(&batch.await)
    }
}

/// Lets the watcher see what happened.
async fn settle() {
    for _ in 0..10 {
        yield_now().await;
    }
}

/// `2` is the result of request 2, `2!shut_down` its error, `n` notification n, `+ab` the growth of a line.
fn summary(batch: &[u8]) -> Vec<String> {
    let lines = batch.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let message: Value = serde_json::from_slice(line).unwrap();
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            match (&message["error"], &message["params"]["event"]["delta"]) {
                (Value::Null, Value::Null) if message["method"].is_null() => message["id"].to_string(),
                (Value::Null, Value::Null) => text(&message["method"]),
                (Value::Null, delta) => format!("+{}", text(delta)),
                (error, _) => format!("{}!{}", message["id"], text(&error["data"]["code"])),
            }
        })
        .collect()
}

fn turn() -> Arc<EventContext> {
    Arc::new(EventContext::new("npc/event", Members::new()))
}

const NOTHING: [&str; 0] = [];
const MERGE_ALL: OutboxLimits = OutboxLimits { merge_growth_above: 0, overflow_above: 1 << 20 };

#[tokio::test]
async fn what_is_pushed_after_a_change_waits_until_it_is_on_disk() {
    let mut guarded = guarded(OutboxLimits::default());
    guarded.answer(1);
    assert_eq!(guarded.leaves().await, ["1"]);
    guarded.disk.change();
    guarded.notify("world/changed");
    guarded.answer(2);
    guarded.disk.change();
    guarded.answer(3);
    assert_eq!(guarded.leaves().await, NOTHING);
    guarded.disk.has_written(1);
    assert_eq!(guarded.leaves().await, ["world/changed", "2"]);
    guarded.disk.has_written(2);
    guarded.answer(4);
    assert_eq!(guarded.leaves().await, ["3", "4"]);
}

#[tokio::test]
async fn what_was_said_before_the_guard_does_not_wait() {
    let (outbox, consumer) = outbox(MERGE_ALL);
    let disk = Arc::new(Disk::default());
    disk.change();
    outbox.push_growth(&turn(), Growth::LineDelta("a".into()));
    let watcher = tokio::spawn(outbox.guard(Arc::clone(&disk) as Arc<dyn Journal>));
    let mut guarded = Guarded { outbox, consumer, disk, watcher };
    guarded.answer(1);
    assert_eq!(guarded.leaves().await, ["+a"]);
}

#[tokio::test]
async fn a_consumer_that_waits_is_woken_when_the_disk_has_come_so_far() {
    let Guarded { outbox, mut consumer, disk, watcher: _ } = guarded(OutboxLimits::default());
    disk.change();
    outbox.push(Outgoing::Notification { method: "n", params: &Payload::empty_object() });
    let consumer = tokio::spawn(async move { consumer.next_batch().await });
    settle().await;
    disk.has_written(1);
    assert_eq!(summary(&consumer.await.unwrap().unwrap()), ["n"]);
}

#[tokio::test]
async fn growth_is_merged_as_long_as_it_waits_for_the_disk() {
    let mut guarded = guarded(MERGE_ALL);
    let turn = turn();
    guarded.disk.change();
    for delta in ["a", "b", "c"] {
        guarded.grow(&turn, delta);
        assert_eq!(guarded.leaves().await, NOTHING);
    }
    guarded.disk.has_written(1);
    assert_eq!(guarded.leaves().await, ["+abc"]);
    guarded.disk.change();
    guarded.grow(&turn, "d");
    guarded.answer(1);
    guarded.disk.has_written(2);
    assert_eq!(guarded.leaves().await, ["+d", "1"]);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_gets_some_patience_then_results_of_changes_become_errors() {
    let mut guarded = guarded(MERGE_ALL);
    let turn = turn();
    guarded.disk.change();
    guarded.notify("n");
    guarded.answer(1);
    guarded.refuse(2);
    guarded.tell(10);
    guarded.grow(&turn, "a");
    guarded.disk.fails("the disk is full");
    settle().await;
    advance(STORAGE_PATIENCE.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(guarded.leaves().await, NOTHING);
    advance(Duration::from_millis(1)).await;
    assert_eq!(guarded.leaves().await, ["n", "1!storage_failed", "2!shut_down", "10", "+a"]);

    guarded.answer(3);
    guarded.tell(11);
    assert_eq!(guarded.leaves().await, ["3!storage_failed", "11"], "patience has ended");
    guarded.disk.has_written(1);
    guarded.answer(4);
    assert_eq!(guarded.leaves().await, ["4"]);
}

#[tokio::test(start_paused = true)]
async fn the_error_says_that_the_change_was_made() {
    let mut guarded = guarded(OutboxLimits::default());
    guarded.disk.change();
    guarded.answer(1);
    guarded.disk.fails("the disk is full");
    let batch = guarded.consumer.next_batch().await.unwrap();
    let error = &serde_json::from_slice::<Value>(&batch).unwrap()["error"];
    assert_eq!(error["code"], -32015);
    assert_eq!(
        error["message"],
        "The change was made but could not be written to disk (the disk is full). It is kept in memory and written as \
         soon as the disk takes it; until then changes are refused."
    );
    assert_eq!(
        error["data"],
        json!({"code": "storage_failed", "reason": "the disk is full", "retryable": true, "applied": true})
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_an_end_is_told_at_once_to_who_waits_and_who_comes() {
    let mut guarded = guarded(OutboxLimits::default());
    let begin = Instant::now();
    guarded.disk.change();
    guarded.answer(1);
    guarded.tell(10);
    guarded.disk.fails("the disk is slow");
    settle().await;
    guarded.disk.fails_for_good("the writer died");
    let batch = guarded.consumer.next_batch().await.unwrap();
    assert_eq!(summary(&batch), ["1!storage_failed", "10"]);
    let error = batch.split(|byte| *byte == b'\n').next().unwrap();
    let error = &serde_json::from_slice::<Value>(error).unwrap()["error"];
    // Whether it was applied is not said: it will never be on disk.
    assert_eq!(
        error["data"],
        json!({"code": "storage_failed", "reason": "the writer died", "retryable": true})
    );
    guarded.answer(2);
    assert_eq!(guarded.leaves().await, ["2!storage_failed"]);
    assert_eq!(Instant::now(), begin);
}

#[tokio::test(start_paused = true)]
async fn patience_begins_anew_when_the_disk_has_taken_something() {
    let mut guarded = guarded(OutboxLimits::default());
    (1..=2).for_each(|id| {
        guarded.disk.change();
        guarded.answer(id);
    });
    let begin = Instant::now();
    guarded.disk.fails("the disk is full");
    settle().await;
    advance(STORAGE_PATIENCE / 2).await;
    guarded.disk.has_written(1);
    settle().await;
    guarded.disk.fails("the disk is full");
    assert_eq!(guarded.leaves().await, ["1"]);
    assert_eq!(summary(&guarded.consumer.next_batch().await.unwrap()), ["2!storage_failed"]);
    assert_eq!(begin.elapsed(), STORAGE_PATIENCE * 3 / 2);
}

#[tokio::test]
async fn what_waits_for_the_disk_counts_as_unwritten() {
    let mut guarded = guarded(OutboxLimits { merge_growth_above: 1, overflow_above: 100 });
    guarded.disk.change();
    guarded.answer(1);
    let size = guarded.outbox.unwritten();
    assert!(size > 0);
    assert_eq!(guarded.outbox.place(), 1);
    let outbox = guarded.outbox.clone();
    let mut written = Box::pin(outbox.written());
    assert!(futures_util::poll!(&mut written).is_pending());
    (2..100).for_each(|id| guarded.answer(id));
    assert_eq!(guarded.consumer.next_batch().await, None);
    assert!(guarded.outbox.is_overflowed());
    written.await;
}

#[tokio::test]
async fn a_closed_outbox_delivers_what_waits_for_the_disk() {
    let mut guarded = guarded(OutboxLimits::default());
    guarded.disk.change();
    guarded.answer(1);
    guarded.outbox.close();
    assert_eq!(guarded.leaves().await, NOTHING);
    assert!(!guarded.watcher.is_finished());
    guarded.disk.has_written(1);
    assert_eq!(summary(&guarded.consumer.next_batch().await.unwrap()), ["1"]);
    assert_eq!(guarded.consumer.next_batch().await, None);
    guarded.watcher.await.unwrap();
}

#[tokio::test]
async fn the_watch_ends_with_the_outbox() {
    for holds in [false, true] {
        let guarded = guarded(OutboxLimits::default());
        settle().await;
        if holds {
            guarded.disk.change();
            guarded.answer(1);
            settle().await;
        }
        drop(guarded.consumer);
        guarded.watcher.await.unwrap();
    }
}

#[tokio::test]
async fn a_second_guard_changes_nothing() {
    let mut guarded = guarded(OutboxLimits::default());
    let other = Arc::new(Disk::default());
    other.change();
    guarded.outbox.guard(other).await;
    guarded.answer(1);
    assert_eq!(guarded.leaves().await, ["1"]);
}

#[derive(Debug, Clone)]
enum Action {
    Change,
    Write,
    Fail,
    Wait,
    Answer,
    Notify,
    Grow,
    Take,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => Just(Action::Change),
        2 => Just(Action::Write),
        1 => Just(Action::Fail),
        1 => Just(Action::Wait),
        4 => Just(Action::Answer),
        3 => Just(Action::Notify),
        3 => Just(Action::Grow),
        3 => Just(Action::Take),
    ];
    proptest::collection::vec(action, 0..60)
}

/// What was pushed: a result, a notification or growth with its number, and the last change before it.
struct Pushed {
    text: String,
    change: u64,
}

#[tokio::test(start_paused = true)]
async fn a_recovery_that_nobody_saw_ends_the_wait_for_it() {
    use Action::{Answer, Change, Fail, Take, Wait, Write};
    play(vec![Change, Answer, Write, Fail, Wait, Write, Fail, Change, Answer, Take], 0).await.unwrap();
}

proptest! {
    #[test]
    fn however_the_disk_comes_along_all_leaves_in_order_and_nothing_early(
        actions in actions(),
        merge_growth_above in 0..300_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(actions, merge_growth_above))?;
    }
}

async fn play(actions: Vec<Action>, merge_growth_above: usize) -> Result<(), TestCaseError> {
    let mut guarded = guarded(OutboxLimits { merge_growth_above, overflow_above: 1 << 20 });
    let turn = turn();
    let mut pushed: Vec<Pushed> = Vec::new();
    let mut read: Vec<String> = Vec::new();
    let mut written = 0;
    let mut failing_since: Option<Instant> = None;
    let mut is_patient = true;
    for action in actions.into_iter().chain([Action::Write, Action::Take, Action::Take]) {
        let id = pushed.len();
        let change = guarded.disk.last().0;
        let mut push = |text| pushed.push(Pushed { text, change });
        match action {
            Action::Change => _ = guarded.disk.change(),
            Action::Write => {
                written = change;
                failing_since = None;
                guarded.disk.has_written(written);
            }
            Action::Fail => {
                failing_since.get_or_insert_with(Instant::now);
                guarded.disk.fails("the disk is full");
            }
            Action::Wait => {
                settle().await;
                advance(STORAGE_PATIENCE).await;
                is_patient &= failing_since.is_none();
            }
            Action::Answer => {
                guarded.answer(u32::try_from(id).unwrap());
                push(id.to_string());
            }
            Action::Notify => {
                guarded.notify(&format!("n{id}"));
                push(format!("n{id}"));
            }
            Action::Grow => {
                guarded.grow(&turn, &format!("({id})"));
                push(format!("+({id})"));
            }
            Action::Take => {
                for message in guarded.leaves().await {
                    // Merged growth is read as what it was pushed as.
                    let deltas = message.strip_prefix('+').map(|deltas| deltas.split_inclusive(')'));
                    let parts = match deltas {
                        Some(deltas) => deltas.map(|delta| format!("+{delta}")).collect(),
                        None => vec![message],
                    };
                    for part in parts {
                        let Pushed { text, change } = &pushed[read.len()];
                        let is_early = *change > written;
                        let has_failed_long =
                            failing_since.is_some_and(|since| since.elapsed() >= STORAGE_PATIENCE);
                        prop_assert!(!is_early || has_failed_long, "{part} left early");
                        if part == format!("{text}!storage_failed") {
                            prop_assert!(!is_patient, "{} was an error too soon", text);
                        } else {
                            prop_assert_eq!(&part, text);
                            let is_result = text.parse::<usize>().is_ok();
                            prop_assert!(!(is_result && is_early), "{} was not on disk", part);
                        }
                        read.push(part);
                    }
                }
            }
        }
    }
    prop_assert_eq!(read.len(), pushed.len(), "everything left");
    prop_assert_eq!(guarded.outbox.unwritten(), 0);
    Ok(())
}
