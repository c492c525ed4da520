//! Where the model "system" comes from: a script, worker processes, or nowhere.

use std::{env, path::PathBuf, sync::Arc};

use oam_agent::{ErrorCode, Model, Script, UnavailableModel, UnavailableReason};
use oam_bridge::ModelFactory;
use oam_workers::{PoolConfig, WorkerCommand, WorkerPool};

use crate::{
    arguments::model::{ModelArguments, WorkerArguments},
    failure::{Failure, FailureCode},
    program,
    script_file::{self, ScriptedSystem},
};

const WORKER_VARIABLE: &str = "OAM_WORKER";
/// The worker for Apple's model, as it is installed.
const INSTALLED_WORKER: &str = "oam-worker-swift";

/// What stands behind the model "system".
#[derive(Debug)]
pub(crate) enum SystemModel {
    Script(Script),
    Workers(PoolConfig),
    None,
}

impl ModelArguments {
    /// Whether a model was named, here or in the environment. Otherwise one is used that happens to be installed.
    pub(crate) fn names_a_model(&self) -> bool {
        let is_set = |variable| env::var_os(variable).is_some_and(|value| !value.is_empty());
        self.worker.is_some() || is_set(WORKER_VARIABLE) || is_set(script_file::VARIABLE)
    }
}

impl SystemModel {
    /// Chooses by arguments, then `OAM_SCRIPT`, then `OAM_WORKER`, then what is installed. Failures name the argument
    /// or variable and what to do.
    pub(crate) fn choose(arguments: &ModelArguments) -> Result<Self, Failure> {
        Self::find(arguments).map(|(model, _)| model)
    }

    /// Chooses the same way, and tells where the model was found.
    pub(crate) fn find(arguments: &ModelArguments) -> Result<(Self, ModelSource), Failure> {
        if let Some(command) = &arguments.worker {
            return Ok((worker("--worker", command)?, ModelSource::Argument));
        }
        if let Some(script) = script_file::from_environment()? {
            return Ok((Self::Script(script), ModelSource::Script));
        }
        if let Some(command) = env::var_os(WORKER_VARIABLE).filter(|command| !command.is_empty()) {
            let command =
                command.to_str().ok_or_else(|| Failure::usage(format!("{WORKER_VARIABLE} is not UTF-8")))?;
            return Ok((worker(WORKER_VARIABLE, command)?, ModelSource::Variable));
        }
        Ok(match installed_worker() {
            Some(program) => {
                let command = WorkerCommand { program, arguments: Vec::new() };
                (Self::Workers(PoolConfig::new(command)), ModelSource::Installed)
            }
            None => (Self::None, ModelSource::Nowhere),
        })
    }

    /// Chooses the same way, with workers kept as the arguments say. A script stands in for the workers that would be
    /// there otherwise; without either, settings for workers are a mistake.
    pub(crate) fn choose_with_settings(arguments: &WorkerArguments) -> Result<Self, Failure> {
        match (Self::choose(&arguments.model)?, arguments.settings_given().as_slice()) {
            (Self::Workers(config), _) => Ok(Self::Workers(arguments.applied_to(config))),
            (Self::None, settings @ [_, ..]) => Err(Failure::usage(format!(
                "{} without a worker: name one with --worker or {WORKER_VARIABLE}",
                settings.join(", ")
            ))),
            (model, _) => Ok(model),
        }
    }

    /// The models, on the current runtime; with workers also their pool.
    pub(crate) fn start(self) -> (Arc<dyn ModelFactory>, Option<WorkerPool>) {
        match self {
            Self::Script(script) => (Arc::new(ScriptedSystem::new(script)), None),
            Self::Workers(config) => {
                let pool = WorkerPool::start(config);
                (Arc::new(PooledSystem(Arc::new(pool.clone()))), Some(pool))
            }
            Self::None => (Arc::new(NoWorker), None),
        }
    }

    /// The model for a command that asks it itself, on the current runtime; with workers once the first one is ready, or
    /// has failed to get ready. One conversation needs no spare worker.
    pub(crate) async fn open(self) -> OpenModel {
        let name = if matches!(self, Self::Script(_)) { ModelName::Scripted } else { ModelName::System };
        let (models, pool) = match self {
            Self::Workers(config) => Self::Workers(PoolConfig { spare: false, ..config }).start(),
            other => other.start(),
        };
        if let Some(pool) = &pool {
            pool.settled().await;
        }
        OpenModel { model: models.system(), name, pool }
    }
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
    pool: Option<WorkerPool>,
}

impl OpenModel {
    /// Fails with `model_unavailable` when the model cannot be asked now. The message says why and what to do.
    pub(crate) fn expect_available(&self) -> Result<(), Failure> {
        let Some(reason) = self.model.availability().unavailable else { return Ok(()) };
        let hint = self.hint(reason);
        let message = format!("The model is unavailable ({}). {hint}", reason.as_str());
        Err(Failure::new(FailureCode::Agent(ErrorCode::ModelUnavailable), message))
    }

    /// What to do about a model that is unavailable.
    pub(crate) fn hint(&self, reason: UnavailableReason) -> String {
        if self.pool.is_some() { reason_hint(reason) } else { no_worker_hint() }
    }

    /// The workers behind the model, if there are any.
    pub(crate) fn pool(&self) -> Option<&WorkerPool> {
        self.pool.as_ref()
    }

    /// Ends what runs behind the model; resolves when it is gone.
    pub(crate) async fn close(self) {
        if let Some(pool) = self.pool {
            pool.stop().await;
        }
    }
}

fn reason_hint(reason: UnavailableReason) -> String {
    match reason {
        UnavailableReason::DeviceNotEligible => "This device cannot run it.",
        UnavailableReason::AppleIntelligenceNotEnabled => {
            "Switch Apple Intelligence on in the system's settings."
        }
        UnavailableReason::ModelNotReady => "It is still being loaded, or its worker cannot start: try again in a while, or look at `oam status`.",
        UnavailableReason::Unknown => "`oam status` may tell more.",
    }
    .to_owned()
}

/// A system model that is a pool of workers.
struct PooledSystem(Arc<WorkerPool>);

impl ModelFactory for PooledSystem {
    fn system(&self) -> Arc<dyn Model> {
        Arc::clone(&self.0) as Arc<dyn Model>
    }
}

/// A system model that nobody serves.
struct NoWorker;

impl ModelFactory for NoWorker {
    fn system(&self) -> Arc<dyn Model> {
        let hint = format!(
            "{} To develop and test without a model, use a scripted one: \"model\": {{\"type\": \"scripted\", …}}.",
            no_worker_hint()
        );
        Arc::new(UnavailableModel::new(UnavailableReason::DeviceNotEligible, hint))
    }
}

fn no_worker_hint() -> String {
    format!(
        "No worker serves the system model. Name one with --worker or {WORKER_VARIABLE}, or install \
         {INSTALLED_WORKER} beside oam (on a Mac with Apple Intelligence)."
    )
}

fn worker(source: &str, command: &str) -> Result<SystemModel, Failure> {
    let words = shell_words::split(command)
        .map_err(|error| Failure::usage(format!("{source}: {command}: {error}")))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| Failure::usage(format!("{source} names no program")))?;
    program::check(&program).map_err(|reason| Failure::usage(format!("{source}: {reason}")))?;
    let command = WorkerCommand { program: program.into(), arguments: words.map(Into::into).collect() };
    Ok(SystemModel::Workers(PoolConfig::new(command)))
}

/// The worker beside this program, or in the libexec folder beside its folder.
fn installed_worker() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.canonicalize().ok()?;
    let folder = program.parent()?;
    [folder.join(INSTALLED_WORKER), folder.join("../libexec/oam").join(INSTALLED_WORKER)]
        .into_iter()
        .find(|candidate| candidate.is_file())
}
