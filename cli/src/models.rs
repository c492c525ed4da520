//! Where the model "system" comes from: a script, worker processes, or nowhere.

use std::{env, path::PathBuf, sync::Arc};

use oam_agent::{Model, UnavailableReason};
use oam_bridge::{ModelFactory, ModelUse};
use oam_recording::{Matching, Replay};
use oam_system::{
    PooledSystem, UnservedSystem,
    worker::{self, VARIABLE as WORKER_VARIABLE},
};
use oam_workers::{PoolConfig, WorkerCommand, WorkerPool};

use crate::{
    arguments::{
        model::{ModelArguments, WorkerArguments},
        recording::{RecordingArguments, ReplayMatch},
    },
    failure::{Failure, FailureCode, ReportForm},
    files,
    recording::{self, ActiveRecording, RecordingTarget, ReplayedModels},
    script_file::{ScriptFile, ScriptedSystem},
};

/// What models are told of who asks them where a command does so itself.
const OWN_CONVERSATION: &str = "main";

/// What stands behind the model "system".
#[derive(Debug)]
pub(crate) struct SystemModel {
    backing: Backing,
    source: ModelSource,
    /// Where what it answers is written.
    recording: Option<RecordingTarget>,
}

#[derive(Debug)]
enum Backing {
    Script(ScriptedSystem),
    Replay(Replay),
    Workers(PoolConfig),
    None,
}

impl SystemModel {
    /// Chooses by arguments, then `OAM_SCRIPT`, then `OAM_WORKER`, then what is installed; it is recorded if
    /// `OAM_RECORD` says so. Failures name the argument or variable and what to do.
    pub(crate) fn choose(arguments: &ModelArguments) -> Result<Self, Failure> {
        let (backing, source) = Backing::choose(arguments, None)?;
        Ok(Self { backing, source, recording: RecordingTarget::from_environment()? })
    }

    /// Chooses the same way for a command that looks at the model and asks it nothing, so that there is nothing to record.
    pub(crate) fn choose_to_look_at(arguments: &ModelArguments) -> Result<Self, Failure> {
        let (backing, source) = Backing::choose(arguments, None)?;
        Ok(Self { backing, source, recording: None })
    }

    /// A worker with this command; recorded in the same way.
    pub(crate) fn of_worker(command: WorkerCommand) -> Result<Self, Failure> {
        let backing = Backing::Workers(PoolConfig::new(command));
        Ok(Self { backing, source: ModelSource::Argument, recording: RecordingTarget::from_environment()? })
    }

    /// Chooses the same way, with workers kept as the arguments say, and recordings as those say. A script stands in for
    /// the workers that would be there otherwise; without either, settings for workers are a mistake.
    pub(crate) fn choose_with_settings(
        arguments: &WorkerArguments,
        recordings: &RecordingArguments,
    ) -> Result<Self, Failure> {
        let matching = recordings.replay_match;
        let (backing, source) = match &recordings.replay {
            Some(path) => {
                let file = ScriptFile::read(&files::with_home(path), "--replay")?;
                (Backing::of_file(file, recording::matching(matching)?), ModelSource::Argument)
            }
            None => Backing::choose(&arguments.model, matching)?,
        };
        if matching.is_some() && !matches!(backing, Backing::Replay(_)) {
            return Err(Failure::usage(
                "--replay-match without a recording: name its file with --replay or OAM_SCRIPT",
            ));
        }
        let backing = match (backing, arguments.settings_given().as_slice()) {
            (Backing::Workers(config), _) => Backing::Workers(arguments.applied_to(config)),
            (Backing::None, settings @ [_, ..]) => {
                return Err(Failure::usage(format!(
                    "{} without a worker: name one with --worker or {WORKER_VARIABLE}",
                    settings.join(", ")
                )));
            }
            (backing, _) => backing,
        };
        Ok(Self { backing, source, recording: RecordingTarget::choose(recordings)? })
    }

    /// Where the model was found.
    pub(crate) fn source(&self) -> ModelSource {
        self.source
    }

    /// The worker program, if the model is one.
    pub(crate) fn worker(&self) -> Option<&WorkerCommand> {
        match &self.backing {
            Backing::Workers(config) => Some(&config.command),
            Backing::Script(_) | Backing::Replay(_) | Backing::None => None,
        }
    }

    /// The models, on the current runtime.
    pub(crate) fn start(self) -> StartedModels {
        let (models, pool): (Arc<dyn ModelFactory>, _) = match self.backing {
            Backing::Script(script) => (Arc::new(script), None),
            Backing::Replay(replay) => (Arc::new(ReplayedModels(replay)), None),
            Backing::Workers(config) => {
                let pool = WorkerPool::start(config);
                (Arc::new(PooledSystem::new(pool.clone())), Some(pool))
            }
            Backing::None => (Arc::new(UnservedSystem::new(no_worker_hint())), None),
        };
        match self.recording.map(RecordingTarget::start) {
            Some(recording) => {
                StartedModels { models: recording.of(models), pool, recording: Some(recording) }
            }
            None => StartedModels { models, pool, recording: None },
        }
    }

    /// The model for a command that asks it itself, on the current runtime; with workers once the first one is ready, or
    /// has failed to get ready. One conversation needs no spare worker.
    pub(crate) async fn open(self) -> OpenModel {
        let backing = match self.backing {
            Backing::Workers(config) => Backing::Workers(PoolConfig { spare: false, ..config }),
            other => other,
        };
        Self { backing, ..self }.open_as_configured().await
    }

    /// The same for a command that asks it for many others: with all the workers there are to be.
    pub(crate) async fn open_as_configured(self) -> OpenModel {
        let name = match self.backing {
            Backing::Script(_) | Backing::Replay(_) => ModelName::Scripted,
            Backing::Workers(_) | Backing::None => ModelName::System,
        };
        let source = self.source;
        let StartedModels { models, pool, recording } = self.start();
        if let Some(pool) = &pool {
            pool.settled().await;
        }
        OpenModel { model: models.system(ModelUse::Session(OWN_CONVERSATION)), name, source, pool, recording }
    }
}

impl Backing {
    /// What is asked, and where it was found.
    fn choose(
        arguments: &ModelArguments,
        matching: Option<ReplayMatch>,
    ) -> Result<(Self, ModelSource), Failure> {
        if let Some(command) = &arguments.worker {
            let command =
                worker::command_in(command).map_err(|error| Failure::usage(error.at("--worker")))?;
            return Ok((Self::Workers(PoolConfig::new(command)), ModelSource::Argument));
        }
        if let Some(file) = ScriptFile::from_environment()? {
            return Ok((Self::of_file(file, recording::matching(matching)?), ModelSource::Script));
        }
        if let Some(command) = worker::in_environment().map_err(Failure::usage)? {
            return Ok((Self::Workers(PoolConfig::new(command)), ModelSource::Variable));
        }
        Ok(match installed_worker() {
            Some(program) => {
                let command = WorkerCommand { program, arguments: Vec::new() };
                (Self::Workers(PoolConfig::new(command)), ModelSource::Installed)
            }
            None => (Self::None, ModelSource::Nowhere),
        })
    }

    fn of_file(file: ScriptFile, matching: Matching) -> Self {
        match file {
            ScriptFile::Script(script) => Self::Script(script),
            ScriptFile::Recording(recording) => Self::Replay(Replay::new(recording, matching)),
        }
    }
}

/// Models that can be asked for, and what runs behind them.
pub(crate) struct StartedModels {
    pub(crate) models: Arc<dyn ModelFactory>,
    pub(crate) pool: Option<WorkerPool>,
    pub(crate) recording: Option<ActiveRecording>,
}

/// Where a model was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelSource {
    /// `--worker`
    Argument,
    /// `OAM_SCRIPT`
    Script,
    /// `OAM_WORKER`
    Variable,
    /// Beside this program.
    Installed,
    Nowhere,
}

impl ModelSource {
    /// Whether somebody named the model, rather than that it happens to be installed, or not.
    pub(crate) fn is_named(self) -> bool {
        match self {
            Self::Argument | Self::Script | Self::Variable => true,
            Self::Installed | Self::Nowhere => false,
        }
    }
}

/// What files and results call a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelName {
    System,
    /// A script plays in its place.
    Scripted,
}

impl ModelName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Scripted => "scripted",
        }
    }
}

/// A model that a command asks itself.
pub(crate) struct OpenModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) name: ModelName,
    pub(crate) source: ModelSource,
    pool: Option<WorkerPool>,
    /// Saved when it is dropped.
    recording: Option<ActiveRecording>,
}

impl OpenModel {
    /// Fails with `model_unavailable` when the model cannot be asked now. The message says why and what to do.
    pub(crate) async fn expect_available(&self) -> Result<(), Failure> {
        let Some(reason) = self.model.availability().unavailable else { return Ok(()) };
        let hint = match self.failed_start(reason).await {
            Some(how) => format!("Its worker {how}. `oam status` tells more."),
            None => self.hint(reason),
        };
        let message = format!("The model is unavailable ({}). {hint}", reason.as_str());
        Err(Failure::new(FailureCode::MODEL_UNAVAILABLE, message))
    }

    /// What to do about a model that is unavailable.
    pub(crate) fn hint(&self, reason: UnavailableReason) -> String {
        match (&self.pool, self.source) {
            (Some(_), _) => reason_hint(reason),
            (None, ModelSource::Nowhere) => no_worker_hint(),
            (None, _) => "It was so when it was recorded.".to_owned(),
        }
    }

    /// How the last worker ended, if that is why the model is not ready.
    async fn failed_start(&self, reason: UnavailableReason) -> Option<String> {
        if !matches!(reason, UnavailableReason::ModelNotReady | UnavailableReason::Unknown) {
            return None;
        }
        let status = self.pool.as_ref()?.status().await?;
        status.last_exits.last().map(|exit| exit.exit.trim_end_matches('.').to_owned())
    }

    /// The workers behind the model, if there are any.
    pub(crate) fn pool(&self) -> Option<&WorkerPool> {
        self.pool.as_ref()
    }

    /// Ends what runs behind the model; resolves when it is gone. What came of asking it is handed on, unless the
    /// recording cannot be saved.
    pub(crate) async fn close<T>(self, end: Result<T, Failure>) -> Result<T, Failure> {
        if let Some(pool) = self.pool {
            pool.stop().await;
        }
        match (end, self.recording.map_or(Ok(()), ActiveRecording::finish)) {
            (end, Ok(())) => end,
            (Ok(_), Err(unsaved)) => Err(unsaved),
            (Err(failure), Err(unsaved)) => {
                unsaved.report(ReportForm::Text);
                Err(failure)
            }
        }
    }
}

fn reason_hint(reason: UnavailableReason) -> String {
    match reason {
        UnavailableReason::DeviceNotEligible => "This device cannot run it.",
        UnavailableReason::AppleIntelligenceNotEnabled => {
            "Switch Apple Intelligence on in the system's settings."
        }
        UnavailableReason::ModelNotReady => "It is still being loaded: try again in a while.",
        UnavailableReason::Unknown => "`oam status` may tell more.",
    }
    .to_owned()
}

fn no_worker_hint() -> String {
    format!(
        "{} OAM_SCRIPT=FILE plays a script instead, and `oam demo tavern` does without.",
        worker::none_installed("oam", "--worker")
    )
}

/// The worker beside this program.
fn installed_worker() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.canonicalize().ok()?;
    worker::installed_beside(program.parent()?)
}
