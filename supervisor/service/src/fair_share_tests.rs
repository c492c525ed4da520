use std::{
    cell::RefCell,
    future::Future,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use oam_agent::transcript::TranscriptView;
use oam_agent::{
    Availability, ErrorCode, GenerationOptions, StepContent, ToolMode, UnavailableModel, UnavailableReason,
    Usage,
};
use oam_bridge::{Bridge, BridgeConfig};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{task::LocalSet, time::sleep};

use super::*;

fn slots(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn poll<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn a_step_that_finds_a_free_slot_plays_at_once() {
    let shares = FairShares::new(slots(2));
    let _first = poll(pin!(shares.slot(None))).unwrap();
    let second = poll(pin!(shares.slot(None))).unwrap();
    let mut third = pin!(shares.slot(None));
    assert!(poll(third.as_mut()).is_none());
    assert_eq!(shares.load(), Load { capacity: slots(2), playing: 2, waiting: 1 });
    drop(second);
    let _third = poll(third).unwrap();
    assert_eq!(shares.load(), Load { capacity: slots(2), playing: 2, waiting: 0 });
}

#[test]
fn slots_go_round_among_clients_and_to_the_oldest_step_of_each() {
    let shares = FairShares::new(slots(1));
    let [a, b] = [(); 2].map(|()| Some(ClientId::new()));
    let mut playing = poll(pin!(shares.slot(None)));
    let asked = [("a1", a), ("a2", a), ("a3", a), ("b1", b), ("none1", None), ("b2", b)];
    let mut waiting = asked.map(|(name, owner)| (name, Box::pin(shares.slot(owner))));
    for (_, step) in &mut waiting {
        assert!(poll(step.as_mut()).is_none());
    }
    let mut waiting = Vec::from(waiting);
    let mut order = Vec::new();
    while playing.take().is_some() && !waiting.is_empty() {
        let next =
            waiting.iter_mut().enumerate().find_map(|(at, (_, step))| Some((at, poll(step.as_mut())?)));
        let (at, slot) = next.unwrap();
        order.push(waiting.remove(at).0);
        playing = Some(slot);
    }
    assert_eq!(order, ["a1", "b1", "none1", "a2", "b2", "a3"]);
}

#[test]
fn a_step_that_is_dropped_while_it_waits_leaves_no_trace() {
    let shares = FairShares::new(slots(1));
    let playing = poll(pin!(shares.slot(None)));
    let mut other = pin!(shares.slot(None));
    {
        let mut dropped = pin!(shares.slot(Some(ClientId::new())));
        assert!(poll(dropped.as_mut()).is_none());
        assert!(poll(other.as_mut()).is_none());
        assert_eq!(shares.load().waiting, 2);
    }
    assert_eq!(shares.load().waiting, 1);
    drop(playing);
    assert!(poll(other).is_some());
    assert_eq!(shares.load(), Load { capacity: slots(1), playing: 0, waiting: 0 });
}

#[test]
fn a_slot_that_was_given_to_a_step_and_not_taken_is_passed_on() {
    let shares = FairShares::new(slots(1));
    let playing = poll(pin!(shares.slot(None)));
    let mut second = pin!(shares.slot(None));
    {
        let mut first = pin!(shares.slot(None));
        assert!(poll(first.as_mut()).is_none());
        assert!(poll(second.as_mut()).is_none());
        drop(playing);
        assert!(poll(second.as_mut()).is_none(), "the first has it");
    }
    assert!(poll(second).is_some());
}

#[test]
fn the_capacity_may_change_while_steps_play_and_wait() {
    let shares = FairShares::new(slots(1));
    let first = poll(pin!(shares.slot(None)));
    let mut waiting = [(); 3].map(|()| Box::pin(shares.slot(None)));
    let mut play = || {
        let taken = waiting.iter_mut().filter_map(|step| poll(step.as_mut()));
        taken.collect::<Vec<_>>()
    };
    assert!(play().is_empty());
    shares.set_capacity(slots(3));
    assert_eq!(shares.load(), Load { capacity: slots(3), playing: 3, waiting: 1 });
    shares.set_capacity(slots(1));
    drop(first);
    assert_eq!(shares.load(), Load { capacity: slots(1), playing: 2, waiting: 1 });
}

/// Plays each step in the same time.
struct Steady;

impl Steady {
    const STEP: Duration = Duration::from_millis(10);
}

impl Model for Steady {
    fn step<'a>(
        &'a self,
        _: StepRequest,
        _: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async {
            sleep(Self::STEP).await;
            Ok(StepOutcome { content: StepContent::Text("Aye.".to_owned()), usage: Usage::default() })
        })
    }

    fn availability(&self) -> Availability {
        let unavailable = UnavailableModel::new(UnavailableReason::Unknown, "").availability();
        Availability { unavailable: None, ..unavailable }
    }

    fn context_size(&self) -> Option<u32> {
        Some(4096)
    }
}

struct Silence;

impl StepSink for Silence {
    fn text(&mut self, _: &str) {}
    fn reset(&mut self, _: &str) {}
    fn partial(&mut self, _: Value) {}
}

fn request() -> StepRequest {
    StepRequest {
        instructions: None,
        transcript: TranscriptView::default(),
        tools: Vec::new(),
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: false,
        cache_key: 0,
    }
}

/// How many steps each client was played in the time of `rounds` steps, when each has as many busy sessions as
/// `sessions` says, over a pool of `capacity`. The last one is no client.
async fn shares_of(sessions: &[usize], capacity: usize, rounds: u32) -> Vec<usize> {
    let shares = FairShares::new(slots(capacity));
    let model = shares.model(Arc::new(Steady));
    let played = Rc::new(RefCell::new(vec![0; sessions.len()]));
    let local = LocalSet::new();
    for (client, count) in sessions.iter().enumerate() {
        let id = (client + 1 < sessions.len()).then(ClientId::new);
        for _ in 0..*count {
            let (model, played) = (Arc::clone(&model), Rc::clone(&played));
            let session = async move {
                loop {
                    assert!(model.step(request(), &mut Silence).await.is_ok());
                    played.borrow_mut()[client] += 1;
                }
            };
            match id {
                Some(id) => local.spawn_local(id.scope(session)),
                None => local.spawn_local(session),
            };
        }
    }
    local.run_until(sleep(Steady::STEP * rounds)).await;
    played.take()
}

#[tokio::test(start_paused = true)]
async fn clients_that_are_always_busy_get_equal_shares_whatever_their_number_of_sessions() {
    let cases: &[(&[usize], usize)] = &[
        (&[64, 1], 1),
        (&[64, 64], 1),
        (&[64, 64], 4),
        (&[64, 64], 8),
        (&[64, 4], 4),
        (&[64, 1, 1, 1], 2),
        (&[64, 2, 64, 7], 4),
    ];
    for (sessions, capacity) in cases {
        let played = shares_of(sessions, *capacity, 1000).await;
        let all: usize = played.iter().sum();
        assert!(all >= 990 * capacity, "{sessions:?}: no slot is idle, but {all} were played");
        for share in &played {
            let hundredths = share * sessions.len() * 100 / all;
            assert!((80..=120).contains(&hundredths), "{sessions:?} over {capacity}: {played:?}");
        }
    }
}

struct SteadyModels;

impl ModelFactory for SteadyModels {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        Arc::new(Steady)
    }
}

#[tokio::test(start_paused = true)]
async fn connections_get_equal_shares_whatever_their_number_of_sessions() {
    for sessions in [[64, 1], [64, 64]] {
        let shares = FairShares::new(slots(1));
        let answered = Rc::new(RefCell::new([0; 2]));
        let local = LocalSet::new();
        for (client, count) in sessions.into_iter().enumerate() {
            let models = shares.models(Arc::new(SteadyModels));
            let bridge = Bridge::new(BridgeConfig { models, ..BridgeConfig::default() }, |_| {});
            for session in 0..count {
                let (bridge, answered) = (bridge.clone(), Rc::clone(&answered));
                local.spawn_local(async move {
                    let session = format!("s{session}");
                    bridge.call("session/create", json!({"session": session}), None).await.unwrap();
                    loop {
                        let turn = json!({"session": session, "prompt": "Is it my turn?"});
                        bridge.call("session/respond", turn, None).await.unwrap();
                        answered.borrow_mut()[client] += 1;
                    }
                });
            }
        }
        local.run_until(sleep(Steady::STEP * 400)).await;
        let [one, other] = answered.take();
        assert!((160..=240).contains(&one) && (160..=240).contains(&other), "{sessions:?}: {one}, {other}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_less_than_a_share_gets_all_of_it_soon() {
    let played = shares_of(&[64, 1], 4, 1000).await;
    // Its step waits for one of the others' at most, then plays.
    assert!(played[1] >= 499, "{played:?}");
}

#[tokio::test]
async fn all_else_is_asked_of_the_model_itself() {
    let shares = FairShares::new(slots(1));
    let busy = poll(pin!(shares.slot(None)));
    let inner = Arc::new(UnavailableModel::new(UnavailableReason::ModelNotReady, "Soon."));
    let model = shares.model(inner.clone());
    assert_eq!(model.availability(), inner.availability());
    assert_eq!(model.context_size(), inner.context_size());
    assert_eq!(model.capabilities(), inner.capabilities());
    assert_eq!(model.count_tokens(&request()).await, None);
    drop(busy);
    let error = model.step(request(), &mut Silence).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ModelUnavailable);
    assert_eq!(shares.load().playing, 0);
}

#[test]
fn clients_that_do_not_come_back_are_forgotten() {
    let shares = FairShares::new(slots(1));
    let _playing = poll(pin!(shares.slot(None)));
    for _ in 0..10_000 {
        assert!(poll(pin!(shares.slot(Some(ClientId::new())))).is_none());
    }
    assert!(shares.state().clients.len() <= 2048);
}

#[derive(Debug, Clone)]
enum Action {
    Ask {
        owner: usize,
    },
    /// A step that plays ends; perhaps one that waits is dropped before it has seen whether it got the slot.
    End {
        which: usize,
        dropped: Option<usize>,
    },
    Drop {
        which: usize,
    },
    Capacity(usize),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        8 => (0..4_usize).prop_map(|owner| Action::Ask { owner }),
        5 => (any::<usize>(), any::<Option<usize>>())
            .prop_map(|(which, dropped)| Action::End { which, dropped }),
        2 => any::<usize>().prop_map(|which| Action::Drop { which }),
        1 => (1..5_usize).prop_map(Action::Capacity),
    ];
    proptest::collection::vec(action, 0..100)
}

struct Step<'a> {
    owner: usize,
    slot: Pin<Box<dyn Future<Output = Slot> + 'a>>,
}

fn remove<T>(from: &mut Vec<T>, which: usize) -> Option<T> {
    which.checked_rem(from.len()).map(|at| from.remove(at))
}

proptest! {
    #[test]
    fn slots_are_never_too_many_never_idle_and_nobody_starves(actions in actions()) {
        let owners = [None, Some(ClientId::new()), Some(ClientId::new()), Some(ClientId::new())];
        let shares = FairShares::new(slots(1));
        let mut capacity = 1;
        let mut playing: Vec<Slot> = Vec::new();
        let mut waiting: Vec<Step<'_>> = Vec::new();
        // How often each client was given a slot since another one has waited for its own.
        let mut passed_over = [[0; 4]; 4];
        for action in actions {
            match action {
                Action::Ask { owner } => {
                    waiting.push(Step { owner, slot: Box::pin(shares.slot(owners[owner])) });
                }
                Action::End { which, dropped } => {
                    remove(&mut playing, which);
                    if let Some(dropped) = dropped.and_then(|which| remove(&mut waiting, which)) {
                        // If it had the slot, that was its client's turn.
                        passed_over[dropped.owner] = [0; 4];
                    }
                }
                Action::Drop { which } => _ = remove(&mut waiting, which),
                Action::Capacity(count) => {
                    capacity = count;
                    shares.set_capacity(slots(capacity));
                }
            }
            let before = playing.len();
            let mut still_waits = [false; 4];
            let mut given = [0; 4];
            waiting.retain_mut(|step| {
                let Some(slot) = poll(step.slot.as_mut()) else {
                    still_waits[step.owner] = true;
                    return true;
                };
                assert!(!still_waits[step.owner], "a step overtook an older one of its client");
                given[step.owner] += 1;
                playing.push(slot);
                false
            });
            prop_assert!(playing.len() <= capacity || playing.len() == before, "more than may play at once");
            prop_assert!(playing.len() >= capacity || waiting.is_empty(), "a slot is idle");
            prop_assert_eq!(
                shares.load(),
                Load { capacity: slots(capacity), playing: playing.len(), waiting: waiting.len() }
            );
            for (patient, counts) in passed_over.iter_mut().enumerate() {
                if !still_waits[patient] || given[patient] > 0 {
                    *counts = [0; 4];
                    continue;
                }
                for (count, given) in counts.iter_mut().zip(given) {
                    *count += given;
                    prop_assert!(*count <= 1, "a client waits while another is served again");
                }
            }
        }
        drop((waiting, playing));
        prop_assert_eq!(shares.load(), Load { capacity: slots(capacity), playing: 0, waiting: 0 });
    }
}
