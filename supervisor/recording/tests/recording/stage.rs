//! A model that says what it is told to, and conversations that ask it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use oam_agent::{
    Availability, BoxFuture, Capabilities, ErrorCode, GenerationOptions, Model, ModelError, StepContent,
    StepOutcome, StepRequest, StepSink, ToolMode, UnavailableReason, Usage,
    transcript::{Entry, Segment, Transcript},
};
use oam_recording::{Matching, Owner, Recorder, Recording, RecordingDetail, Replay};
use serde_json::{Map, Value, json};

/// Something that a model says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Text(String),
    Reset(String),
    Partial(Value),
}

/// How a step ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    Answered(StepOutcome),
    Failed {
        code: ErrorCode,
        message: String,
        retry_after: Option<u64>,
        is_final: bool,
        data: Map<String, Value>,
    },
    /// It waits until it is cancelled.
    Cancelled,
}

/// What a step says and how it ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Performance {
    pub(crate) said: Vec<Said>,
    pub(crate) end: End,
}

/// An answer in prose, in one piece that nobody hears.
pub(crate) fn answer(text: &str) -> Performance {
    let outcome = StepOutcome { content: StepContent::Text(text.to_owned()), usage: Usage::default() };
    Performance { said: Vec::new(), end: End::Answered(outcome) }
}

/// Plays performances, one a step.
pub(crate) struct Actor {
    performances: Mutex<VecDeque<Performance>>,
    pub(crate) unavailable: Option<UnavailableReason>,
}

impl Actor {
    pub(crate) fn new(performances: impl IntoIterator<Item = Performance>) -> Self {
        Self { performances: Mutex::new(performances.into_iter().collect()), unavailable: None }
    }
}

impl Model for Actor {
    fn step<'a>(
        &'a self,
        _: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let performance = self.performances.lock().unwrap().pop_front();
            let Performance { said, end } = performance.expect("there is a performance for each step");
            for said in said {
                match said {
                    Said::Text(text) => sink.text(&text),
                    Said::Reset(text) => sink.reset(&text),
                    Said::Partial(value) => sink.partial(value),
                }
            }
            match end {
                End::Answered(outcome) => Ok(outcome),
                End::Failed { code, message, retry_after, is_final, data } => {
                    let retry_at =
                        retry_after.map(|seconds| SystemTime::now() + Duration::from_secs(seconds));
                    Err(ModelError { code, message, retry_at, is_final, data })
                }
                End::Cancelled => std::future::pending().await,
            }
        })
    }

    fn availability(&self) -> Availability {
        Availability {
            unavailable: self.unavailable,
            context_size: 4096,
            variant: Some("actor".to_owned()),
            supported_languages: vec!["de".to_owned(), "en".to_owned()],
        }
    }

    fn context_size(&self) -> Option<u32> {
        Some(4096)
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        let count = u32::try_from(request.transcript.last_prompt_text().len()).unwrap();
        Box::pin(std::future::ready(Some(count)))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { streaming: true, token_count: true, ..Capabilities::default() }
    }
}

/// A step of the conversation `conversation` that has these instructions and asks this.
pub(crate) fn request(conversation: u64, instructions: &str, prompt: &str) -> StepRequest {
    let mut transcript = Transcript::default();
    transcript.push(Entry::prompt("Before."));
    transcript.push(Entry::response(Segment::text("Long ago.")));
    transcript.push(Entry::prompt(prompt));
    StepRequest {
        instructions: (!instructions.is_empty()).then(|| instructions.into()),
        transcript: transcript.view_from(0),
        tools: Vec::new(),
        tool_mode: ToolMode::Disallowed,
        schema: None,
        options: GenerationOptions::default(),
        stream: true,
        cache_key: conversation,
    }
}

/// What a conversation noticed of a step, which it cancels when it takes a second.
pub(crate) async fn noticed(model: &dyn Model, request: StepRequest) -> Performance {
    noticed_within(Duration::from_secs(1), model, request).await
}

/// The same with more patience.
pub(crate) async fn noticed_within(limit: Duration, model: &dyn Model, request: StepRequest) -> Performance {
    #[derive(Default)]
    struct Ear(Vec<Said>);

    impl StepSink for Ear {
        fn text(&mut self, delta: &str) {
            self.0.push(Said::Text(delta.to_owned()));
        }

        fn reset(&mut self, text: &str) {
            self.0.push(Said::Reset(text.to_owned()));
        }

        fn partial(&mut self, value: Value) {
            self.0.push(Said::Partial(value));
        }
    }

    let mut ear = Ear::default();
    let step = tokio::time::timeout(limit, model.step(request, &mut ear)).await;
    let end = match step {
        Ok(Ok(outcome)) => End::Answered(outcome),
        Ok(Err(error)) => {
            let retry_after = error.retry_after_seconds();
            let ModelError { code, message, is_final, data, .. } = error;
            End::Failed { code, message, retry_after, is_final, data }
        }
        Err(_) => End::Cancelled,
    };
    Performance { said: ear.0, end }
}

/// The message of a step that must fail because it is not recorded.
pub(crate) async fn refusal(model: &dyn Model, request: StepRequest) -> String {
    match noticed_within(Duration::from_mins(1), model, request).await.end {
        End::Failed { code: ErrorCode::InvalidRequest, message, .. } => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn session(id: &str) -> Owner {
    Owner::Session(id.to_owned())
}

/// The recording of a session in which each of these was asked and answered.
pub(crate) async fn recorded(exchange: &[(&str, &str)]) -> String {
    let recorder = Recorder::new(RecordingDetail::default());
    let actor = Actor::new(exchange.iter().map(|(_, said)| answer(said)));
    let model = recorder.model(session("gorm"), Arc::new(actor));
    for (asked, _) in exchange {
        noticed(&*model, request(1, "You are Gorm.", asked)).await;
    }
    recorder.document()
}

pub(crate) fn read(document: &str) -> Recording {
    let file: Value = serde_json::from_str(document).unwrap();
    Recording::from_json(&file).unwrap().expect("it is a recording")
}

pub(crate) fn replay(document: &str) -> Replay {
    Replay::new(read(document), Matching::Strict)
}

/// The text of an answer.
pub(crate) fn text(performance: &Performance) -> &str {
    match &performance.end {
        End::Answered(StepOutcome { content: StepContent::Text(text), .. }) => text,
        other => panic!("{other:?}"),
    }
}

/// A file with a fallback for what is not recorded.
pub(crate) fn with_fallback(document: &str, text: &str) -> String {
    let mut file: Value = serde_json::from_str(document).unwrap();
    file["fallback"] = json!({"text": text});
    file.to_string()
}

/// Questions are left out.
pub(crate) const REDACTED: RecordingDetail = RecordingDetail { questions: false, pace: false };
