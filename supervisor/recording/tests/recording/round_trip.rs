//! What is recorded is played again as it was.

use std::{sync::Arc, time::Duration};

use oam_agent::{
    BoxFuture, ErrorCode, Model, ModelError, ModelToolCall, StepContent, StepOutcome, StepRequest, StepSink,
    Usage,
};
use oam_recording::{Owner, Recorder, RecordingDetail};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::stage::{
    Actor, End, Performance, REDACTED, Said, answer, noticed, read, replay, request, session,
};

/// One step of an exchange: who asks what, and what happens.
#[derive(Debug, Clone)]
struct Scene {
    owner: Owner,
    /// One of those that the owner has.
    conversation: u64,
    instructions: &'static str,
    prompt: String,
    performance: Performance,
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) + 0.5)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), members(inner).prop_map(Value::Object)]
    })
}

fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((any::<String>(), value), 0..4).prop_map(|members| members.into_iter().collect())
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        4 => any::<String>().prop_map(Said::Text),
        1 => any::<String>().prop_map(Said::Reset),
        2 => json().prop_map(Said::Partial),
    ]
}

fn end() -> impl Strategy<Value = End> {
    let call = (any::<String>(), any::<String>(), members(json()))
        .prop_map(|(id, name, arguments)| ModelToolCall { id, name, arguments });
    let content = prop_oneof![
        any::<String>().prop_map(StepContent::Text),
        json().prop_map(StepContent::Structured),
        vec(call, 1..4).prop_map(StepContent::ToolCalls),
    ];
    let usage = (0..1_000_000_u64, 0..9_u64, 0..1_000_u64).prop_map(|(input, cached, output)| Usage {
        input_tokens: input,
        cached_input_tokens: cached,
        output_tokens: output,
    });
    let failed =
        (select(ErrorCode::ALL.to_vec()), any::<String>(), option::of(1..100_000_u64), any::<bool>());
    prop_oneof![
        6 => (content, usage).prop_map(|(content, usage)| End::Answered(StepOutcome { content, usage })),
        2 => (failed, members(json())).prop_map(|((code, message, retry_after, is_final), data)| {
            End::Failed { code, message, retry_after, is_final, data }
        }),
        1 => Just(End::Cancelled),
    ]
}

fn scene() -> impl Strategy<Value = Scene> {
    let owner = select(vec![
        session("gorm"),
        session("mira \"the\" 2nd"),
        Owner::Npc("gorm".to_owned()),
        Owner::Request("decision/decide".to_owned()),
    ]);
    let instructions = select(vec!["", "You are Gorm.", "You are Mira."]);
    let prompt = prop_oneof![select(vec!["Hello", "Go on"]).prop_map(str::to_owned), any::<String>()];
    let performance = (vec(said(), 0..5), end()).prop_map(|(said, end)| Performance { said, end });
    (owner, 0..3_u64, instructions, prompt, performance).prop_map(
        |(owner, conversation, instructions, prompt, performance)| Scene {
            owner,
            conversation,
            instructions,
            prompt,
            performance,
        },
    )
}

/// Asks what the scenes ask, of a model for each owner.
async fn play(scenes: &[&Scene], mut model: impl FnMut(&Scene) -> Arc<dyn Model>) -> Vec<Performance> {
    let mut noticed_of = Vec::new();
    for scene in scenes {
        let model = model(scene);
        let request = request(scene.conversation, scene.instructions, &scene.prompt);
        noticed_of.push(noticed(&*model, request).await);
    }
    noticed_of
}

/// Models for the owners, each made once.
fn models<'a>(make: impl Fn(Owner) -> Arc<dyn Model> + 'a) -> impl FnMut(&Scene) -> Arc<dyn Model> + 'a {
    let mut known: Vec<(Owner, Arc<dyn Model>)> = Vec::new();
    move |scene| {
        if let Some((_, model)) = known.iter().find(|(owner, _)| *owner == scene.owner) {
            return Arc::clone(model);
        }
        let model = make(scene.owner.clone());
        known.push((scene.owner.clone(), Arc::clone(&model)));
        model
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_exchange_is_played_again_as_it_was(scenes in vec(scene(), 0..12)) {
        run(async {
            let scenes: Vec<_> = scenes.iter().collect();
            let recorder = Recorder::new(RecordingDetail::default());
            let actor = Arc::new(Actor::new(scenes.iter().map(|scene| scene.performance.clone())));
            let recorded = play(&scenes, models(|owner| recorder.model(owner, actor.clone()))).await;
            let expected: Vec<_> = scenes.iter().map(|scene| scene.performance.clone()).collect();
            prop_assert_eq!(&recorded, &expected, "recording changes nothing");

            let document = recorder.document();
            let (replay, again) = (replay(&document), Recorder::new(RecordingDetail::default()));
            let replayed =
                play(&scenes, models(|owner| again.model(owner.clone(), replay.model(owner)))).await;
            prop_assert_eq!(&replayed, &expected);
            prop_assert_eq!(again.document(), document, "the recording of a replay is the recording itself");
            Ok(())
        })?;
    }

    #[test]
    fn conversations_find_their_answers_in_whatever_order_they_take_turns(scenes in vec(scene(), 0..12), seed: u64) {
        run(async {
            // What two conversations of one owner have in common may be exchanged, so that they must differ.
            let scenes: Vec<_> = scenes.into_iter().map(|mut scene| {
                scene.prompt.insert_str(0, &scene.conversation.to_string());
                scene
            }).collect();
            let in_order: Vec<_> = scenes.iter().collect();
            let recorder = Recorder::new(REDACTED);
            let actor = Arc::new(Actor::new(scenes.iter().map(|scene| scene.performance.clone())));
            play(&in_order, models(|owner| recorder.model(owner, actor.clone()))).await;

            let mut shuffled = in_order;
            shuffled.sort_by_key(|scene| {
                (scene.conversation ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            });
            let replay = replay(&recorder.document());
            let replayed = play(&shuffled, models(|owner| replay.model(owner))).await;
            let expected: Vec<_> = shuffled.iter().map(|scene| scene.performance.clone()).collect();
            prop_assert_eq!(replayed, expected);
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn two_sessions_of_one_id_have_their_own_answers() {
    let recorder = Recorder::new(RecordingDetail::default());
    for said in ["First.", "Second."] {
        let model = recorder.model(session("gorm"), Arc::new(Actor::new([answer(said)])));
        noticed(&*model, request(1, "", "Hello")).await;
    }
    let replay = replay(&recorder.document());
    for said in ["First.", "Second."] {
        let model = replay.model(session("gorm"));
        assert_eq!(noticed(&*model, request(7, "", "Hello")).await, answer(said));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_tells_of_itself_and_counts_as_it_did() {
    let recorder = Recorder::new(RecordingDetail::default());
    let actor = Arc::new(Actor::new([]));
    let model = recorder.model(session("gorm"), actor.clone());
    let asked = request(1, "You are Gorm.", "Hello");
    assert_eq!(model.count_tokens(&asked).await, Some(5));
    // It has since gone, which does not count.
    let mut gone = Actor::new([]);
    gone.unavailable = Some(oam_agent::UnavailableReason::ModelNotReady);
    recorder.model(session("mira"), Arc::new(gone)).availability();

    let replayed = replay(&recorder.document()).model(session("gorm"));
    assert_eq!(replayed.availability(), model.availability());
    assert_eq!(
        (replayed.context_size(), replayed.capabilities()),
        (model.context_size(), model.capabilities())
    );
    assert_eq!(replayed.count_tokens(&asked).await, Some(5));
    assert_eq!(replayed.count_tokens(&request(1, "You are Gorm.", "Good bye")).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_nests_too_deep_to_be_read_again_is_cut() {
    let deep = (0..1_000).fold(Value::Null, |value, _| Value::Array(vec![value]));
    let outcome = StepOutcome { content: StepContent::Structured(deep.clone()), usage: Usage::default() };
    let performance = Performance { said: vec![Said::Partial(deep)], end: End::Answered(outcome) };
    let recorder = Recorder::new(RecordingDetail::default());
    let model = recorder.model(session("gorm"), Arc::new(Actor::new([performance])));
    noticed(&*model, request(1, "", "Hello")).await;
    let _ = read(&recorder.document());
}

#[tokio::test(start_paused = true)]
async fn a_recording_with_its_pace_takes_as_long_again() {
    struct Slow;

    impl Model for Slow {
        fn step<'a>(
            &'a self,
            _: StepRequest,
            _: &'a mut dyn StepSink,
        ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(700)).await;
                Ok(StepOutcome { content: StepContent::Text("Well.".to_owned()), usage: Usage::default() })
            })
        }

        fn availability(&self) -> oam_agent::Availability {
            Actor::new([]).availability()
        }

        fn context_size(&self) -> Option<u32> {
            None
        }
    }

    for (pace, takes) in [(true, 700), (false, 2)] {
        let recorder = Recorder::new(RecordingDetail { pace, ..RecordingDetail::default() });
        noticed(&*recorder.model(session("gorm"), Arc::new(Slow)), request(1, "", "Hello")).await;
        let replayed = replay(&recorder.document()).model(session("gorm"));
        let since = Instant::now();
        noticed(&*replayed, request(1, "", "Hello")).await;
        assert_eq!(since.elapsed(), Duration::from_millis(takes));
    }
}
