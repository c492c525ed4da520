//! Recording to a file, and the models that record and replay (docs/RECORDING.md).
//!
//! A recording is asked for by argument or by `OAM_RECORD`. Its [file](reserved) belongs to this process while it
//! records. It is saved every few seconds while something changes, and when it ends, however the command does.

mod reserved;

use std::{
    fs,
    path::Path,
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
    files::{self, InputPath, LONGEST_INPUT},
};
use reserved::ReservedFile;

/// The file to record to.
pub(crate) const RECORD_VARIABLE: &str = "OAM_RECORD";
/// Not empty: what is in it stays.
pub(crate) const APPEND_VARIABLE: &str = "OAM_RECORD_APPEND";
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

/// Where to record to, and what is there already.
#[derive(Debug)]
pub(crate) struct RecordingTarget {
    reserved: ReservedFile,
    recorder: Recorder,
}

/// What happens to a recording that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    Replaced,
    Kept,
}

impl RecordingTarget {
    /// The target that the environment names, if it does. Fails when it cannot be written, or gone on with.
    pub(crate) fn from_environment() -> Result<Option<Self>, Failure> {
        Self::choose(&RecordingArguments::default())
    }

    /// The target that the arguments name, or else the environment.
    pub(crate) fn choose(arguments: &RecordingArguments) -> Result<Option<Self>, Failure> {
        let RecordingArguments { record, append, redact, pace, .. } = arguments;
        let named = match record {
            Some(path) => Some((files::with_home(path), "--record")),
            None => variable(RECORD_VARIABLE).map(|path| (files::with_home(path.as_ref()), RECORD_VARIABLE)),
        };
        let Some((path, source)) = named else {
            let needless = [(append, "--append"), (redact, "--redact"), (pace, "--pace")];
            return match needless.into_iter().find(|(is_given, _)| **is_given) {
                Some((_, argument)) => Err(Failure::usage(format!(
                    "{argument} without a recording: name its file with --record or {RECORD_VARIABLE}"
                ))),
                None => Ok(None),
            };
        };
        let keeps = *append || variable(APPEND_VARIABLE).is_some();
        let earlier = if keeps { Earlier::Kept } else { Earlier::Replaced };
        let detail = RecordingDetail {
            questions: !redact && variable(REDACT_VARIABLE).is_none(),
            pace: *pace || variable(PACE_VARIABLE).is_some(),
        };
        Self::new(&path, earlier, detail).map(Some).map_err(|failure| failure.about(source))
    }

    fn new(path: &Path, earlier: Earlier, detail: RecordingDetail) -> Result<Self, Failure> {
        let recorder = Recorder::new(detail);
        let reserved = ReservedFile::new(path, recorder.document().as_bytes())?;
        let recorder = match earlier {
            Earlier::Replaced => recorder,
            Earlier::Kept => going_on(&reserved, detail)?.unwrap_or(recorder),
        };
        Ok(Self { reserved, recorder })
    }

    /// Starts recording, on the current runtime.
    pub(crate) fn start(self) -> ActiveRecording {
        let Self { reserved, recorder } = self;
        let file = Arc::new(RecordingFile {
            recorder: recorder.clone(),
            reserved: Mutex::new(Some(reserved)),
            has_outgrown: AtomicBool::new(false),
        });
        let saver = tokio::spawn(save_now_and_then(Arc::clone(&file)));
        ActiveRecording { recorder, file, saver, is_finished: false }
    }
}

/// A recorder that goes on with what the file has; `None` for an empty file. The failure names it.
fn going_on(file: &ReservedFile, detail: RecordingDetail) -> Result<Option<Recorder>, Failure> {
    let path = file.path();
    let failed = |reason: &str| {
        Failure::invalid_input(format!("{}: nothing can be appended to it: {reason}", path.display()))
    };
    if !file.is_plain() {
        return Err(failed("it is no plain file"));
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        return Ok(None);
    }
    let value = InputPath::File(path.to_owned()).read_json()?;
    match Recorder::going_on(&value, detail) {
        Ok(Some(recorder)) => Ok(Some(recorder)),
        Ok(None) => Err(failed("it is no recording, which has the member 'recording'")),
        Err(error) => Err(failed(&error.message)),
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
        self.file.save_for_the_last_time()
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
    recorder: Recorder,
    /// Held while it is saved, so that an earlier state never replaces a later one. `None` after the last time.
    reserved: Mutex<Option<ReservedFile>>,
    /// It has become larger than what can be read again.
    has_outgrown: AtomicBool,
}

impl RecordingFile {
    fn save(&self) -> Result<(), Failure> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.as_mut().map_or(Ok(()), |file| self.save_to(file))
    }

    /// The file is everybody's again.
    fn save_for_the_last_time(&self) -> Result<(), Failure> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.take().map_or(Ok(()), |mut file| self.save_to(&mut file))
    }

    fn save_to(&self, file: &mut ReservedFile) -> Result<(), Failure> {
        if self.recorder.is_empty() && file.path().exists() {
            tracing::info!("the model was asked nothing: {} stays as it is", file.path().display());
            return Ok(());
        }
        let document = self.recorder.document();
        if document.len() > LONGEST_INPUT && !self.has_outgrown.swap(true, Ordering::Relaxed) {
            tracing::warn!("the recording is larger than {LONGEST_INPUT} bytes, more than a replay reads");
        }
        file.write(document.as_bytes())
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
