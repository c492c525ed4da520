//! Any message, for property tests.

use std::{borrow::Cow, fmt};

use oam_ipc::{
    Availability, Capabilities, Entry, FromWorker, Generate, GenerationOptions, LogLevel, Outcome, Ready,
    Sampling, Segment, StepId, ToWorker, TokenUsage, ToolCall, ToolDefinition, ToolMode, WorkerInfo,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value};

pub(crate) fn to_worker() -> impl Strategy<Value = ToWorker<'static>> {
    prop_oneof![
        3 => generate().prop_map(|request| ToWorker::Generate(Box::new(request))),
        1 => generate().prop_map(|request| ToWorker::CountTokens(Box::new(request))),
        1 => id().prop_map(|id| ToWorker::Cancel { id }),
        1 => option::of(text()).prop_map(|instructions| ToWorker::Prewarm { instructions }),
        1 => id().prop_map(|id| ToWorker::Availability { id }),
        1 => any::<u64>().prop_map(|n| ToWorker::Ping { n }),
        1 => any::<u64>().prop_map(|grace_ms| ToWorker::Shutdown { grace_ms }),
        1 => Just(ToWorker::Unknown),
    ]
}

pub(crate) fn from_worker() -> impl Strategy<Value = FromWorker> {
    let level =
        prop::sample::select(vec![LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error]);
    prop_oneof![
        ready().prop_map(FromWorker::Ready),
        (id(), text()).prop_map(|(id, text)| FromWorker::Delta { id, text }),
        (id(), text()).prop_map(|(id, text)| FromWorker::Reset { id, text }),
        (id(), value()).prop_map(|(id, value)| FromWorker::Partial { id, value }),
        (id(), outcome(), usage()).prop_map(|(id, outcome, usage)| FromWorker::Finished {
            id,
            outcome,
            usage
        }),
        (id(), text(), text(), option::of(object()))
            .prop_map(|(id, code, message, data)| FromWorker::Failed { id, code, message, data }),
        (id(), any::<u32>()).prop_map(|(id, count)| FromWorker::Tokens { id, count }),
        (option::of(id()), availability())
            .prop_map(|(id, availability)| FromWorker::Availability { id, availability }),
        any::<u64>().prop_map(|n| FromWorker::Pong { n }),
        (level, text()).prop_map(|(level, message)| FromWorker::Log { level, message }),
        Just(FromWorker::Unknown),
    ]
}

fn id() -> impl Strategy<Value = StepId> {
    any::<u64>().prop_map(StepId)
}

fn text() -> impl Strategy<Value = String> {
    r"\PC{0,40}|[ -~\n]{200,300}"
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |number| number.is_finite())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        finite().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..20).prop_map(Value::from),
            vec((text(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value()), 0..3).prop_map(|members| members.into_iter().collect())
}

/// As messages to workers hold it.
fn owned<T>(values: impl Strategy<Value = T::Owned>) -> impl Strategy<Value = Cow<'static, T>>
where
    T: ToOwned<Owned: fmt::Debug> + fmt::Debug + ?Sized + 'static,
{
    values.prop_map(Cow::Owned)
}

fn segments() -> impl Strategy<Value = Vec<Segment<'static>>> {
    let segment = prop_oneof![
        3 => owned(text()).prop_map(|text| Segment::Text { text }),
        1 => (owned(text()), owned(value())).prop_map(|(source, content)| Segment::Structure { source, content }),
        1 => owned(object()).prop_map(|segment| Segment::Attachment { segment }),
        1 => Just(Segment::Unknown),
    ];
    vec(segment, 0..3)
}

fn calls() -> impl Strategy<Value = Vec<ToolCall<'static>>> {
    vec(
        (owned(text()), owned(text()), owned(object())).prop_map(|(id, name, arguments)| ToolCall {
            id,
            name,
            arguments,
        }),
        0..3,
    )
}

fn entry() -> impl Strategy<Value = Entry<'static>> {
    prop_oneof![
        segments().prop_map(|segments| Entry::Prompt { segments }),
        calls().prop_map(|calls| Entry::ToolCalls { calls }),
        (owned(text()), owned(text()), segments())
            .prop_map(|(call_id, tool_name, segments)| Entry::ToolOutput { call_id, tool_name, segments }),
        segments().prop_map(|segments| Entry::Response { segments }),
        owned(object()).prop_map(|entry| Entry::Opaque { entry }),
        Just(Entry::Unknown),
    ]
}

fn generate() -> impl Strategy<Value = Generate<'static>> {
    let tool = (owned(text()), owned(text()), owned(value()))
        .prop_map(|(name, description, parameters)| ToolDefinition { name, description, parameters });
    let tool_mode = prop::sample::select(vec![ToolMode::Allowed, ToolMode::Required, ToolMode::Disallowed]);
    (
        id(),
        option::of(owned(text())),
        vec(entry(), 0..5),
        vec(tool, 0..3),
        tool_mode,
        // Null and absent are the same.
        option::of(owned(value().prop_filter("a schema", |schema| !schema.is_null()))),
        options(),
        any::<bool>(),
        option::of(owned(text())),
    )
        .prop_map(
            |(id, instructions, transcript, tools, tool_mode, schema, options, stream, cache_key)| Generate {
                id,
                instructions,
                transcript,
                tools,
                tool_mode,
                schema,
                options,
                stream,
                cache_key,
            },
        )
}

fn options() -> impl Strategy<Value = GenerationOptions> {
    let seed = || option::of(any::<u64>());
    let sampling = prop_oneof![
        Just(Sampling::Greedy),
        (any::<u32>(), seed()).prop_map(|(k, seed)| Sampling::TopK { k, seed }),
        (finite(), seed()).prop_map(|(p, seed)| Sampling::TopP { p, seed }),
    ];
    (option::of(finite()), option::of(any::<u32>()), option::of(sampling)).prop_map(
        |(temperature, max_response_tokens, sampling)| GenerationOptions {
            temperature,
            max_response_tokens,
            sampling,
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        text().prop_map(|text| Outcome::Text { text }),
        value().prop_map(|value| Outcome::Structured { value }),
        calls().prop_map(|calls| Outcome::ToolCalls { calls }),
    ]
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    any::<[u64; 3]>().prop_map(|[input_tokens, cached_input_tokens, output_tokens]| TokenUsage {
        input_tokens,
        cached_input_tokens,
        output_tokens,
    })
}

fn availability() -> impl Strategy<Value = Availability> {
    (any::<bool>(), option::of(text()), option::of(any::<u32>()), option::of(text()), vec(text(), 0..3))
        .prop_map(|(available, reason, context_size, variant, supported_languages)| Availability {
            available,
            reason,
            context_size,
            variant,
            supported_languages,
        })
}

fn ready() -> impl Strategy<Value = Ready> {
    let worker =
        (text(), text(), any::<u32>()).prop_map(|(name, version, pid)| WorkerInfo { name, version, pid });
    let capabilities = (any::<[bool; 6]>(), any::<u32>()).prop_map(|(abilities, parallel_steps)| {
        let [streaming, native_tools, guided_generation, token_count, prewarm, images] = abilities;
        Capabilities {
            streaming,
            native_tools,
            guided_generation,
            token_count,
            prewarm,
            images,
            parallel_steps,
        }
    });
    (any::<u32>(), worker, capabilities, availability()).prop_map(
        |(protocol, worker, capabilities, availability)| Ready {
            protocol,
            worker,
            capabilities,
            availability,
        },
    )
}
