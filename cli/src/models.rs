//! Where the model "system" comes from: a script, worker processes, or nowhere.

use std::{env, path::PathBuf, sync::Arc};

use oam_agent::{Model, Script, UnavailableModel, UnavailableReason};
use oam_bridge::{ModelFactory, ModelUse};
use oam_workers::{PoolConfig, StreamingPolicy, WorkerCommand, WorkerPool};

use crate::{
    arguments::{Streaming, WorkerArguments},
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

impl SystemModel {
    /// Chooses by arguments, then `OAM_SCRIPT`, then `OAM_WORKER`, then what is installed. Errors name the argument
    /// or variable and what to do.
    pub(crate) fn choose(arguments: &WorkerArguments) -> Result<Self, String> {
        if let Some(command) = &arguments.worker {
            return worker("--worker", command, arguments);
        }
        if let Some(script) = script_file::from_environment()? {
            return Ok(Self::Script(script));
        }
        if let Some(command) = env::var_os(WORKER_VARIABLE).filter(|command| !command.is_empty()) {
            let command = command.to_str().ok_or_else(|| format!("{WORKER_VARIABLE} is not UTF-8"))?;
            return worker(WORKER_VARIABLE, command, arguments);
        }
        match (installed_worker(), arguments.settings_given().as_slice()) {
            (Some(program), _) => {
                let command = WorkerCommand { program, arguments: Vec::new() };
                Ok(Self::Workers(pool_config(command, arguments)))
            }
            (None, []) => Ok(Self::None),
            (None, settings) => Err(format!(
                "{} without a worker: name one with --worker or {WORKER_VARIABLE}",
                settings.join(", ")
            )),
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
}

/// A system model that is a pool of workers.
struct PooledSystem(Arc<WorkerPool>);

impl ModelFactory for PooledSystem {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        Arc::clone(&self.0) as Arc<dyn Model>
    }
}

/// A system model that nobody serves.
struct NoWorker;

impl ModelFactory for NoWorker {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        let hint = format!(
            "No worker serves the system model. Name one with --worker or {WORKER_VARIABLE}, or install \
             {INSTALLED_WORKER} beside oam (on a Mac with Apple Intelligence). To develop and test without a model, use \
             a scripted one: \"model\": {{\"type\": \"scripted\", …}}."
        );
        Arc::new(UnavailableModel::new(UnavailableReason::DeviceNotEligible, hint))
    }
}

fn worker(source: &str, command: &str, arguments: &WorkerArguments) -> Result<SystemModel, String> {
    let words = shell_words::split(command).map_err(|error| format!("{source}: {command}: {error}"))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| format!("{source} names no program"))?;
    program::check(&program).map_err(|reason| format!("{source}: {reason}"))?;
    let command = WorkerCommand { program: program.into(), arguments: words.map(Into::into).collect() };
    Ok(SystemModel::Workers(pool_config(command, arguments)))
}

fn pool_config(command: WorkerCommand, arguments: &WorkerArguments) -> PoolConfig {
    let usual = PoolConfig::new(command);
    PoolConfig {
        workers: arguments.workers.unwrap_or(usual.workers),
        spare: arguments.spare().unwrap_or(usual.spare),
        streaming: match arguments.streaming {
            None => usual.streaming,
            Some(Streaming::Auto) => StreamingPolicy::Auto,
            Some(Streaming::Always) => StreamingPolicy::Always,
            Some(Streaming::Never) => StreamingPolicy::Never,
        },
        step_timeout: arguments.step_timeout.unwrap_or(usual.step_timeout),
        max_step_crashes: arguments.max_step_crashes.unwrap_or(usual.max_step_crashes),
        ..usual
    }
}

/// The worker beside this program, or in the libexec folder beside its folder.
fn installed_worker() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.canonicalize().ok()?;
    let folder = program.parent()?;
    [folder.join(INSTALLED_WORKER), folder.join("../libexec/oam").join(INSTALLED_WORKER)]
        .into_iter()
        .find(|candidate| candidate.is_file())
}
