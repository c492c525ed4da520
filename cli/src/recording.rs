//! Recording to a file, and the models that record and replay (docs/RECORDING.md).
//!
//! A recording is asked for by argument or by `OAM_RECORD`. It is saved every few seconds while something changes, and
//! when it ends, however the command does.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::ValueEnum;
use oam_agent::Model;
use oam_bridge::{ModelFactory, ModelUse};
use oam_recording::{Matching, Owner, Recorder, RecordingDetail, Replay};
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use crate::{
    arguments::{
        recording::{RecordingArguments, ReplayMatch},
        variable,
    },
    failure::{Failure, ReportForm},
    files::{self, LONGEST_INPUT, Readers},
};

/// The file to record to.
pub(crate) const RECORD_VARIABLE: &str = "OAM_RECORD";
/// Not empty: leave questions out of it.
pub(crate) const REDACT_VARIABLE: &str = "OAM_RECORD_REDACT";
/// Not empty: record how long steps take.
pub(crate) const PACE_VARIABLE: &str = "OAM_RECORD_PACE";
/// Like `--replay-match`.
const MATCH_VARIABLE: &str = "OAM_REPLAY_MATCH";

/// The least time between two saves.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);
/// Saving may take this part of the time.
const SAVING_SHARE: u32 = 20;

/// Where to record to, and what.
#[derive(Debug, Clone)]
pub(crate) struct RecordingTarget {
    path: PathBuf,
    detail: RecordingDetail,
}

impl RecordingTarget {
    /// The target that the environment names, if it does. Fails when it cannot be written.
    pub(crate) fn from_environment() -> Result<Option<Self>, Failure> {
        let Some(path) = variable(RECORD_VARIABLE) else { return Ok(None) };
        Self::new(files::with_home(path.as_ref()), detail(false, false))
            .map(Some)
            .map_err(|failure| failure.about(RECORD_VARIABLE))
    }

    /// The target that the arguments name, or else the environment.
    pub(crate) fn choose(arguments: &RecordingArguments) -> Result<Option<Self>, Failure> {
        let RecordingArguments { record, redact, pace, .. } = arguments;
        let target = match record {
            Some(path) => {
                let target = Self::new(files::with_home(path), RecordingDetail::default());
                Some(target.map_err(|failure| failure.about("--record"))?)
            }
            None => Self::from_environment()?,
        };
        match target {
            Some(target) => Ok(Some(Self { detail: detail(*redact, *pace), ..target })),
            None if *redact || *pace => Err(Failure::usage(format!(
                "{} without a recording: name its file with --record or {RECORD_VARIABLE}",
                if *redact { "--redact" } else { "--pace" }
            ))),
            None => Ok(None),
        }
    }

    pub(crate) fn new(path: PathBuf, detail: RecordingDetail) -> Result<Self, Failure> {
        files::expect_writable(&path)?;
        Ok(Self { path, detail })
    }

    /// Starts recording, on the current runtime.
    pub(crate) fn start(self) -> ActiveRecording {
        let recorder = Recorder::new(self.detail);
        let file = Arc::new(RecordingFile {
            path: self.path,
            recorder: recorder.clone(),
            saving: Mutex::default(),
            has_outgrown: AtomicBool::new(false),
        });
        let saver = tokio::spawn(save_now_and_then(Arc::clone(&file)));
        ActiveRecording { recorder, file, saver, is_finished: false }
    }
}

/// What is recorded, by arguments and environment.
fn detail(redacts: bool, keeps_pace: bool) -> RecordingDetail {
    RecordingDetail {
        questions: !redacts && variable(REDACT_VARIABLE).is_none(),
        pace: keeps_pace || variable(PACE_VARIABLE).is_some(),
    }
}

/// How to match, by argument or environment.
pub(crate) fn matching(said: Option<ReplayMatch>) -> Result<Matching, Failure> {
    if let Some(said) = said {
        return Ok(said.into());
    }
    let Some(text) = variable(MATCH_VARIABLE) else { return Ok(Matching::Strict) };
    let known = text.to_str().and_then(|text| ReplayMatch::from_str(text, true).ok());
    let wrong = || Failure::usage(format!("{MATCH_VARIABLE} must be strict or lenient"));
    known.map(Matching::from).ok_or_else(wrong)
}

/// A recording under way. Dropping it saves it.
#[derive(Debug)]
pub(crate) struct ActiveRecording {
    recorder: Recorder,
    file: Arc<RecordingFile>,
    saver: JoinHandle<()>,
    is_finished: bool,
}

impl ActiveRecording {
    /// The same models, recorded.
    pub(crate) fn of(&self, models: Arc<dyn ModelFactory>) -> Arc<dyn ModelFactory> {
        Arc::new(RecordedModels { models, recorder: self.recorder.clone() })
    }

    /// Saves what was recorded, for the last time.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.is_finished = true;
        self.saver.abort();
        self.file.save()
    }
}

impl Drop for ActiveRecording {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(failure) = self.end()
        {
            failure.report(ReportForm::Text);
        }
    }
}

#[derive(Debug)]
struct RecordingFile {
    path: PathBuf,
    recorder: Recorder,
    /// Held while it is saved, so that an earlier state never replaces a later one.
    saving: Mutex<()>,
    /// It has become larger than what can be read again.
    has_outgrown: AtomicBool,
}

impl RecordingFile {
    fn save(&self) -> Result<(), Failure> {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        if self.recorder.is_empty() && self.path.exists() {
            tracing::info!("the model was asked nothing: {} stays as it is", self.path.display());
            return Ok(());
        }
        let document = self.recorder.document();
        if document.len() > LONGEST_INPUT && !self.has_outgrown.swap(true, Ordering::Relaxed) {
            tracing::warn!("the recording is larger than {LONGEST_INPUT} bytes, more than a replay reads");
        }
        files::write(&self.path, document.as_bytes(), Readers::Usual)
    }
}

async fn save_now_and_then(file: Arc<RecordingFile>) {
    let mut pause = SAVE_INTERVAL;
    loop {
        file.recorder.changed().await;
        tokio::time::sleep(pause).await;
        let (saved, since) = (Arc::clone(&file), Instant::now());
        let saved = tokio::task::spawn_blocking(move || saved.save()).await;
        if let Ok(Err(failure)) = saved {
            tracing::warn!("the recording is not saved yet: {failure}");
        }
        pause = SAVE_INTERVAL.max(since.elapsed() * SAVING_SHARE);
    }
}

/// Models that are recorded. Custom ones are not: they belong to whoever made them.
struct RecordedModels {
    models: Arc<dyn ModelFactory>,
    recorder: Recorder,
}

impl ModelFactory for RecordedModels {
    fn system(&self, for_use: ModelUse<'_>) -> Arc<dyn Model> {
        self.recorder.model(owner(for_use), self.models.system(for_use))
    }

    fn custom_types(&self) -> Vec<String> {
        self.models.custom_types()
    }

    fn custom(
        &self,
        model_type: &str,
        members: &Map<String, Value>,
    ) -> Option<Result<Arc<dyn Model>, String>> {
        self.models.custom(model_type, members)
    }
}

/// Models that answer as it was recorded.
pub(crate) struct ReplayedModels(pub(crate) Replay);

impl ModelFactory for ReplayedModels {
    fn system(&self, for_use: ModelUse<'_>) -> Arc<dyn Model> {
        self.0.model(owner(for_use))
    }
}

fn owner(for_use: ModelUse<'_>) -> Owner {
    match for_use {
        ModelUse::Session(id) => Owner::Session(id.to_owned()),
        ModelUse::Npc(id) => Owner::Npc(id.to_owned()),
        ModelUse::Request(method) => Owner::Request(method.to_owned()),
        ModelUse::Availability => Owner::Request("model/availability".to_owned()),
    }
}
