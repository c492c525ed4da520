//! Where the model "system" comes from: a script, worker processes, or nowhere.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use oam_agent::{Model, Script};
use oam_bridge::{ModelFactory, NoSystemModel};
use oam_workers::{PoolConfig, StreamingPolicy, WorkerCommand, WorkerPool};

use crate::{
    arguments::{Streaming, WorkerArguments},
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
        if let Some(command) = env::var(WORKER_VARIABLE).ok().filter(|command| !command.is_empty()) {
            return worker(WORKER_VARIABLE, &command, arguments);
        }
        Ok(match installed_worker() {
            Some(program) => {
                Self::Workers(pool_config(WorkerCommand { program, arguments: Vec::new() }, arguments))
            }
            None => Self::None,
        })
    }

    /// The models, on the current runtime; with workers also their pool.
    pub(crate) fn start(self) -> (Arc<dyn ModelFactory>, Option<WorkerPool>) {
        match self {
            Self::Script(script) => (Arc::new(ScriptedSystem::new(script)), None),
            Self::Workers(config) => {
                let pool = WorkerPool::start(config);
                (Arc::new(PooledSystem(Arc::new(pool.clone()))), Some(pool))
            }
            Self::None => (Arc::new(NoSystemModel), None),
        }
    }
}

/// A system model that is a pool of workers.
struct PooledSystem(Arc<WorkerPool>);

impl ModelFactory for PooledSystem {
    fn system(&self) -> Arc<dyn Model> {
        Arc::clone(&self.0) as Arc<dyn Model>
    }
}

fn worker(source: &str, command: &str, arguments: &WorkerArguments) -> Result<SystemModel, String> {
    let words = shell_words::split(command).map_err(|error| format!("{source}: {command}: {error}"))?;
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| format!("{source} names no program"))?;
    // A name without a folder is looked for in PATH, as a shell does.
    if program.contains('/') && !Path::new(&program).is_file() {
        return Err(format!("{source}: there is no program {program}"));
    }
    let command = WorkerCommand { program: program.into(), arguments: words.map(Into::into).collect() };
    Ok(SystemModel::Workers(pool_config(command, arguments)))
}

fn pool_config(command: WorkerCommand, arguments: &WorkerArguments) -> PoolConfig {
    PoolConfig {
        workers: arguments.workers,
        spare: arguments.spare(),
        streaming: match arguments.streaming {
            Streaming::Auto => StreamingPolicy::Auto,
            Streaming::Always => StreamingPolicy::Always,
            Streaming::Never => StreamingPolicy::Never,
        },
        step_timeout: arguments.step_timeout,
        max_step_crashes: arguments.max_step_crashes,
        ..PoolConfig::new(command)
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
