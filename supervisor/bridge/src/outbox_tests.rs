use std::borrow::Cow;

use oam_agent::TextEvent;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::message::{Members, Payload, RequestId};

const TINY: OutboxLimits = OutboxLimits { merge_growth_above: 1, overflow_above: 1 << 20 };

fn turn(name: &str) -> Arc<EventContext> {
    Arc::new(EventContext::new("session/event", Members::new().with("session", name)))
}

fn text(delta: &str, text: &str, is_reset: bool) -> Growth<'static> {
    Growth::Text(Cow::Owned(TextEvent { delta: delta.to_owned(), text: text.into(), is_reset }))
}

fn push_answer(outbox: &Outbox, id: u32) {
    outbox.push(Outgoing::Result { id: Some(&RequestId::from(id)), result: &Payload::empty_object() });
}

fn take(consumer: &mut OutboxConsumer) -> Option<Vec<u8>> {
    match consumer.poll_batch(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(batch) => Some(batch.unwrap_or_default()),
        Poll::Pending => None,
    }
}

/// The messages of a batch, shortened: `2` answers request 2, `s+lo=hello` is text of turn s, `s!x` a reset.
fn summary(batch: &[u8]) -> Vec<String> {
    let lines = batch.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| {
            assert_eq!(line.last(), Some(&b'\n'));
            let message: Value = serde_json::from_slice(line).unwrap();
            let Some(params) = message.get("params") else { return message["id"].to_string() };
            let event = &params["event"];
            assert_eq!(event["type"], "text");
            let [session, delta, text] =
                [&params["session"], &event["delta"], &event["text"]].map(|value| value.as_str().unwrap());
            if event["isReset"] == json!(true) {
                assert_eq!(delta, text);
                format!("{session}!{text}")
            } else {
                format!("{session}+{delta}={text}")
            }
        })
        .collect()
}

#[test]
fn a_text_event_is_written_in_the_form_of_the_protocol() {
    let (outbox, mut consumer) = outbox(OutboxLimits::default());
    let context = Arc::new(EventContext::new(
        "session/event",
        Members::new().with("session", "s").with("requestId", &RequestId::from(3)),
    ));
    outbox.push_growth(&context, text("b\n", "ab\n", false));
    assert_eq!(
        String::from_utf8(take(&mut consumer).unwrap()).unwrap(),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/event","params":{"session":"s","requestId":3,"#,
            r#""event":{"type":"text","delta":"b\n","text":"ab\n","isReset":false}}}"#,
            "\n"
        )
    );
}

#[test]
fn messages_leave_in_the_order_in_which_they_were_pushed() {
    let (outbox, mut consumer) = outbox(OutboxLimits::default());
    let turn = turn("s");
    push_answer(&outbox, 1);
    outbox.push_growth(&turn, text("a", "a", false));
    outbox.push_growth(&turn, text("b", "ab", false));
    push_answer(&outbox, 2);
    assert_eq!(summary(&take(&mut consumer).unwrap()), ["1", "s+a=a", "s+b=ab", "2"]);
    assert_eq!(take(&mut consumer), None);
}

#[test]
fn text_is_merged_once_much_is_unwritten() {
    let (outbox, mut consumer) = outbox(TINY);
    let (one, two) = (turn("s"), turn("t"));
    outbox.push_growth(&one, text("a", "a", false));
    outbox.push_growth(&one, text("b", "ab", false));
    outbox.push_growth(&two, text("x", "x", false));
    outbox.push_growth(&one, text("c", "abc", false));
    outbox.push_growth(&two, text("y", "y", true));
    outbox.push_growth(&two, text("z", "yz", false));
    push_answer(&outbox, 1);
    outbox.push_growth(&one, text("d", "abcd", false));
    assert_eq!(summary(&take(&mut consumer).unwrap()), ["s+a=a", "s+bc=abc", "t!yz", "1", "s+d=abcd"]);
}

#[test]
fn lines_of_npcs_are_merged_too() {
    let (outbox, mut consumer) = outbox(TINY);
    push_answer(&outbox, 1);
    let delta = |text: &'static str| Growth::LineDelta(text.into());
    let reset = |text: &'static str| Growth::LineReset(text.into());
    let turns = [
        (vec![delta("Aye"), delta(", lad")], json!({"type": "lineDelta", "delta": "Aye, lad"})),
        (
            vec![delta("Aye"), reset("No"), delta("."), delta(".")],
            json!({"type": "lineReset", "line": "No.."}),
        ),
        (vec![reset("No"), reset("")], json!({"type": "lineReset", "line": ""})),
    ];
    for (name, (pieces, _)) in ["a", "b", "c"].into_iter().zip(turns.clone()) {
        let turn = turn(name);
        for piece in pieces {
            outbox.push_growth(&turn, piece);
        }
    }
    let batch = take(&mut consumer).unwrap();
    let events: Vec<Value> = batch
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|message| message["params"].get("event").cloned())
        .collect();
    assert_eq!(events, turns.map(|(_, event)| event));
}

#[test]
fn a_batch_that_is_being_written_still_counts() {
    let (outbox, mut consumer) = outbox(TINY);
    let turn = turn("s");
    push_answer(&outbox, 1);
    let batch = take(&mut consumer).unwrap();
    assert_eq!(outbox.unwritten(), batch.len());
    outbox.push_growth(&turn, text("a", "a", false));
    outbox.push_growth(&turn, text("b", "ab", false));
    consumer.recycle(batch);
    assert_eq!(summary(&take(&mut consumer).unwrap()), ["s+ab=ab"]);
    assert_eq!(take(&mut consumer), None);
    assert_eq!(outbox.unwritten(), 0);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up_past_the_limit() {
    let (outbox, mut consumer) = outbox(OutboxLimits { merge_growth_above: 1, overflow_above: 100 });
    let overflowed = consumer.overflowed();
    push_answer(&outbox, 1);
    assert!(!outbox.note_stuck(), "there is little to take");
    assert!(!outbox.is_overfull());
    tokio::join!(outbox.overfull(), async { (2..=4).for_each(|number| push_answer(&outbox, number)) });
    assert!(outbox.note_stuck());
    overflowed.await;
    push_answer(&outbox, 5);
    assert_eq!(consumer.next_batch().await, None);
    assert_eq!(outbox.unwritten(), 0);
}

#[test]
fn what_is_produced_at_once_is_not_held_against_the_client() {
    let (outbox, mut consumer) = outbox(OutboxLimits { merge_growth_above: 1, overflow_above: 100 });
    (1..=10).for_each(|number| push_answer(&outbox, number));
    assert!(!consumer.is_overflowed());
    assert_eq!(summary(&take(&mut consumer).unwrap()).len(), 10);
}

#[test]
fn far_past_the_limit_there_is_no_grace() {
    let (outbox, consumer) = outbox(OutboxLimits { merge_growth_above: 1, overflow_above: 100 });
    (0..100).for_each(|number| push_answer(&outbox, number));
    assert!(consumer.is_overflowed());
}

#[tokio::test]
async fn what_was_pushed_is_written_when_the_next_batch_is_asked_for() {
    let (outbox, mut consumer) = outbox(OutboxLimits::default());
    outbox.written().await;
    push_answer(&outbox, 1);
    let mut written = pin!(outbox.written());
    assert!(take(&mut consumer).is_some());
    assert!(written.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(take(&mut consumer), None);
    written.await;
    push_answer(&outbox, 2);
    drop(consumer);
    outbox.written().await;
}

#[test]
fn merged_text_counts_for_the_limit_only_as_far_as_it_grows() {
    let (outbox, mut consumer) =
        outbox(OutboxLimits { merge_growth_above: 1, overflow_above: 1000 / HOPELESS_FACTOR });
    let turn = turn("s");
    push_answer(&outbox, 1);
    let mut whole = String::new();
    for _ in 0..400 {
        whole.push('x');
        outbox.push_growth(&turn, text("x", &whole, false));
    }
    assert!(!consumer.is_overflowed());
    assert_eq!(summary(&take(&mut consumer).unwrap()), ["1".to_owned(), format!("s+{whole}={whole}")]);
    for _ in 0..400 {
        whole.push('x');
        outbox.push_growth(&turn, text("x", &whole, false));
    }
    assert!(consumer.is_overflowed());
}

#[test]
fn one_message_may_be_larger_than_the_limit() {
    let (outbox, mut consumer) = outbox(OutboxLimits { merge_growth_above: 1, overflow_above: 10 });
    push_answer(&outbox, 1);
    assert_eq!(summary(&take(&mut consumer).unwrap()), ["1"]);
}

#[tokio::test]
async fn a_closed_outbox_delivers_what_is_in_it() {
    let (outbox, mut consumer) = outbox(OutboxLimits::default());
    push_answer(&outbox, 1);
    outbox.close();
    push_answer(&outbox, 2);
    assert_eq!(summary(&consumer.next_batch().await.unwrap()), ["1"]);
    assert_eq!(consumer.next_batch().await, None);
}

#[tokio::test]
async fn a_waiting_consumer_is_woken_by_a_push_and_by_the_end() {
    let (outbox, mut consumer) = outbox(OutboxLimits::default());
    let consumer = tokio::spawn(async move {
        let first = consumer.next_batch().await;
        (first, consumer.next_batch().await)
    });
    tokio::task::yield_now().await;
    push_answer(&outbox, 1);
    tokio::task::yield_now().await;
    outbox.close();
    let (first, second) = consumer.await.unwrap();
    assert_eq!(summary(&first.unwrap()), ["1"]);
    assert_eq!(second, None);
}

#[derive(Debug, Clone)]
enum Action {
    Append(usize, String),
    Rewrite(usize, String),
    Answer,
    Take,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => (0..3_usize, "[a-zé\u{2028}\"]{1,6}").prop_map(|(turn, text)| Action::Append(turn, text)),
        1 => (0..3_usize, "[a-z]{0,6}").prop_map(|(turn, text)| Action::Rewrite(turn, text)),
        1 => Just(Action::Answer),
        1 => Just(Action::Take),
    ];
    proptest::collection::vec(action, 0..60)
}

proptest! {
    #[test]
    fn merged_or_not_the_events_add_up_to_the_text(actions in actions(), merge_growth_above in 0..300_usize) {
        let (outbox, mut consumer) = outbox(OutboxLimits { merge_growth_above, overflow_above: 1 << 20 });
        let names = ["0", "1", "2"];
        let turns = names.map(turn);
        let mut sent = [const { String::new() }; 3];
        // What each turn had said when an answer was pushed, to be found again when the answer is read.
        let mut at_answer = Vec::new();
        let mut batches = Vec::new();
        for action in actions.into_iter().chain([Action::Answer, Action::Take]) {
            match action {
                Action::Append(turn, delta) => {
                    sent[turn].push_str(&delta);
                    outbox.push_growth(&turns[turn], text(&delta, &sent[turn], false));
                }
                Action::Rewrite(turn, whole) => {
                    sent[turn].clone_from(&whole);
                    outbox.push_growth(&turns[turn], text(&whole, &whole, true));
                }
                Action::Answer => {
                    push_answer(&outbox, u32::try_from(at_answer.len()).unwrap());
                    at_answer.push(sent.clone());
                }
                Action::Take => batches.extend(take(&mut consumer).unwrap_or_default()),
            }
        }
        let mut read = [const { String::new() }; 3];
        let mut answers = 0;
        for line in batches.split_inclusive(|byte| *byte == b'\n') {
            let message: Value = serde_json::from_slice(line).unwrap();
            if message.get("id").is_some() {
                prop_assert_eq!(&message["id"], &json!(answers));
                prop_assert_eq!(&read, &at_answer[answers]);
                answers += 1;
            } else {
                let turn: usize = message["params"]["session"].as_str().unwrap().parse().unwrap();
                let event = &message["params"]["event"];
                if event["isReset"] == json!(true) {
                    read[turn].clear();
                }
                read[turn].push_str(event["delta"].as_str().unwrap());
                prop_assert_eq!(event["text"].as_str().unwrap(), read[turn].as_str());
            }
        }
        prop_assert_eq!(answers, at_answer.len());
    }
}
