//! Servers to ask, models to watch, and answers as a client sees them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use oam_agent::{
    Availability, BoxFuture, Model, ModelError, ModelLayer, Script, ScriptedModel, StepContent, StepOutcome,
    StepRequest, StepSink, Usage,
};
use serde_json::{Value, json};

pub(super) use crate::http::tests::client::{completions_config, hi_with as hi};
use crate::{ApiError, Completions, CompletionsConfig, http::tests::client::answer_of};

/// A model that remembers what it was asked.
pub(super) struct Watched<M> {
    model: M,
    pub(super) asked: Mutex<Vec<StepRequest>>,
}

impl<M> Watched<M> {
    pub(super) fn new(model: M) -> Arc<Self> {
        Arc::new(Self { model, asked: Mutex::default() })
    }

    pub(super) fn request(&self, index: usize) -> StepRequest {
        self.asked.lock().unwrap()[index].clone()
    }

    pub(super) fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl<M: Model> ModelLayer for Watched<M> {
    fn below(&self) -> &dyn Model {
        &self.model
    }

    fn pass_step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        self.asked.lock().unwrap().push(request.clone());
        self.model.step(request, sink)
    }
}

/// A model that plays these steps.
pub(super) fn scripted(steps: &Value) -> Arc<Watched<ScriptedModel>> {
    Watched::new(ScriptedModel::new(Script::from_steps_or_object(steps, "").unwrap()))
}

/// What a [`Teller`] does in a step, one after another.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Say(&'static str),
    TakeBack(&'static str),
    /// Never goes on.
    Hang,
    Fail(ModelError),
    Answer(&'static str),
    Call(&'static str),
}

/// A model that says its lines, and can take them back or fail in the middle.
pub(super) struct Teller(Mutex<VecDeque<Vec<Act>>>);

pub(super) fn teller(steps: impl IntoIterator<Item = Vec<Act>>) -> Arc<Watched<Teller>> {
    Watched::new(Teller(Mutex::new(steps.into_iter().collect())))
}

impl Model for Teller {
    fn step<'a>(
        &'a self,
        _: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        let acts = self.0.lock().unwrap().pop_front().expect("the model is asked no more often");
        Box::pin(async move {
            let mut content = None;
            for act in acts {
                // Whoever listens gets a chance between the lines.
                tokio::task::yield_now().await;
                match act {
                    Act::Say(text) => sink.text(text),
                    Act::TakeBack(text) => sink.reset(text),
                    Act::Hang => std::future::pending().await,
                    Act::Fail(error) => return Err(error),
                    Act::Answer(text) => content = Some(StepContent::Text(text.to_owned())),
                    Act::Call(name) => {
                        let (id, arguments) = ("own".to_owned(), serde_json::Map::new());
                        let call = oam_agent::ModelToolCall { id, name: name.to_owned(), arguments };
                        content = Some(StepContent::ToolCalls(vec![call]));
                    }
                }
            }
            let usage = Usage { input_tokens: 11, cached_input_tokens: 5, output_tokens: 7 };
            Ok(StepOutcome { content: content.expect("a step ends in something"), usage })
        })
    }

    fn availability(&self) -> Availability {
        Availability { unavailable: None, context_size: 4096, variant: None, supported_languages: Vec::new() }
    }

    fn context_size(&self) -> Option<u32> {
        None
    }
}

/// A server of `model` as the only one.
pub(super) fn server(model: Arc<dyn Model>) -> Completions {
    server_with(model, |_| {})
}

pub(super) fn server_with(model: Arc<dyn Model>, edit: impl FnOnce(&mut CompletionsConfig)) -> Completions {
    let mut config = completions_config(model);
    edit(&mut config);
    Completions::new(config).unwrap()
}

pub(super) fn tool(name: &str) -> Value {
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": name, "description": "Tells.", "parameters": parameters}})
}

/// Asks over HTTP.
pub(super) async fn ask(server: &Completions, body: Value) -> Result<Value, ApiError> {
    let answer = answer_of(server, "/v1/chat/completions", &body).await?;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    Ok(answer.json())
}

/// The body of a streamed answer.
pub(super) async fn streamed(server: &Completions, path: &str, mut body: Value) -> Result<String, ApiError> {
    body["stream"] = json!(true);
    let answer = answer_of(server, path, &body).await?;
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    Ok(String::from_utf8(answer.body).unwrap())
}

/// What a client reads of a stream.
#[derive(Debug)]
pub(super) struct Read {
    /// All events but the last, which is `[DONE]`.
    pub(super) chunks: Vec<Value>,
}

impl Read {
    pub(super) fn of(text: &str) -> Self {
        let mut events: Vec<_> = text.split_terminator("\n\n").collect();
        assert_eq!(events.pop(), Some("data: [DONE]"), "{text}");
        let read = |event: &&str| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
        Self { chunks: events.iter().map(read).collect() }
    }

    /// The joined text.
    pub(super) fn text(&self) -> String {
        self.deltas().filter_map(|delta| delta["content"].as_str()).collect()
    }

    pub(super) fn deltas(&self) -> impl Iterator<Item = &Value> {
        self.chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).filter(|delta| delta.is_object())
    }

    pub(super) fn finish_reasons(&self) -> Vec<&str> {
        self.chunks.iter().filter_map(|chunk| chunk["choices"][0]["finish_reason"].as_str()).collect()
    }

    /// The code of the error at the end; null for one without.
    pub(super) fn error(&self) -> Option<&Value> {
        self.chunks.last()?.get("error").map(|error| &error["code"])
    }
}

/// Asks for a stream over HTTP.
pub(super) async fn stream(server: &Completions, body: Value) -> Result<Read, ApiError> {
    Ok(Read::of(&streamed(server, "/v1/chat/completions", body).await?))
}

/// The message of an answer that is not streamed.
pub(super) fn message(answer: &Value) -> &Value {
    &answer["choices"][0]["message"]
}

pub(super) fn finish_reason(answer: &Value) -> &str {
    answer["choices"][0]["finish_reason"].as_str().unwrap()
}
