//! The process from its start on.

use std::{
    convert::Infallible,
    env, fs,
    path::Path,
    process,
    sync::{Arc, OnceLock, atomic::AtomicBool},
    thread,
    time::Duration,
};

use nix::sys::resource::{Resource, setrlimit};
use oam_agent::Script;
use oam_ipc::{Availability, Capabilities, FromWorker, Generate, PROTOCOL_VERSION, Ready, WorkerInfo};
use tokio::runtime::Builder;

use crate::{
    arguments::Arguments,
    connection,
    fault::{FaultKind, FaultSpec, Faults},
    guard,
    jobs::Jobs,
    model::Model,
    output::{Output, Pace},
    step::{self, Steps},
    strike::strike_start,
};

/// Further faults, separated by commas.
const FAULTS_VARIABLE: &str = "OAM_WORKER_FAULTS";

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) output: Output,
    pub(crate) steps: Steps,
    pub(crate) faults: Faults,
    /// There once the script has been read.
    pub(crate) model: OnceLock<Model>,
    /// Pings are not answered.
    pub(crate) is_mute: AtomicBool,
    pub(crate) step_delay: Duration,
    pub(crate) piece_delay: Duration,
    /// What it says of itself, for when it says so.
    pub(crate) ready: FromWorker,
}

impl Shared {
    /// What plays this step, if nothing in it will wait or go wrong.
    pub(crate) fn instant_model(&self, request: &Generate<'_>) -> Option<&Model> {
        let is_undisturbed =
            self.faults.spare_steps() && self.step_delay.is_zero() && self.piece_delay.is_zero();
        self.model.get().filter(|model| is_undisturbed && model.is_instant(request))
    }
}

/// Works until the connection ends, which ends the process. Returns why it could not start.
pub(crate) fn serve(arguments: &Arguments) -> Result<Infallible, String> {
    let stream = connection::open(arguments.connect.as_deref())?;
    let writer = stream.try_clone().map_err(|error| format!("cannot write to the connection: {error}"))?;
    let shared = Arc::new(Shared {
        output: Output::new(writer),
        steps: Steps::default(),
        faults: faults(arguments.faults.clone(), arguments.seed)?,
        model: OnceLock::new(),
        is_mute: AtomicBool::new(false),
        step_delay: arguments.step_delay,
        piece_delay: arguments.piece_delay,
        ready: ready(arguments),
    });
    let jobs = Arc::new(Jobs::default());
    let guard = start("guard", {
        let (shared, jobs) = (Arc::clone(&shared), Arc::clone(&jobs));
        move || guard::watch(stream, &shared, &jobs)
    })?;

    end_with_parent();
    // Its deaths are wanted; a memory image of each is not.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let at_start = shared.faults.of_start();
    for fault in &at_start {
        strike_start(*fault, &shared);
    }
    let script = arguments.script.as_deref().map(read_script).transpose()?;
    let model = Model::new(script, arguments.script_position, arguments.say_before_calls.clone());
    shared.model.get_or_init(|| model);
    for _ in 0..arguments.parallel {
        let (shared, jobs) = (Arc::clone(&shared), Arc::clone(&jobs));
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| format!("cannot wait: {error}"))?;
        start("step", move || {
            loop {
                runtime.block_on(step::play(jobs.next(), &shared, shared.model.wait()));
            }
        })?;
    }
    thread::sleep(arguments.ready_delay);
    let mut ready = shared.ready.clone();
    if let FromWorker::Ready(ready) = &mut ready
        && at_start.contains(&FaultKind::BadVersion)
    {
        ready.protocol = 99;
    }
    // It is small.
    let _ = shared.output.send(&ready, Pace::AtOnce);
    let _ = guard.join();
    Err("the connection is not watched any more".to_owned())
}

/// Has the system kill this process when its parent ends, where it does that: the end of the connection is not noticed
/// by a process that is stopped.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}

fn faults(mut specs: Vec<FaultSpec>, seed: Option<u64>) -> Result<Faults, String> {
    let variable = env::var(FAULTS_VARIABLE).unwrap_or_default();
    for text in variable.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        specs.push(text.parse().map_err(|reason| format!("{FAULTS_VARIABLE}: {text}: {reason}"))?);
    }
    // A process that takes over from another must not draw what that one drew.
    let seed = seed.map_or_else(|| fastrand::u64(..), |seed| seed ^ u64::from(process::id()).rotate_left(32));
    Ok(Faults::new(specs, seed))
}

fn read_script(path: &Path) -> Result<Script, String> {
    let failed = |reason: String| format!("{}: {reason}", path.display());
    let text = fs::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let value = serde_json::from_slice(&text).map_err(|error| failed(format!("is not JSON: {error}")))?;
    Script::from_steps_or_object(&value, "").map_err(|error| failed(error.message))
}

fn start<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, String> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map_err(|error| format!("cannot start a thread: {error}"))
}

fn ready(arguments: &Arguments) -> FromWorker {
    FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        worker: WorkerInfo {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            pid: process::id(),
        },
        capabilities: Capabilities {
            streaming: !arguments.no_streaming,
            native_tools: true,
            guided_generation: false,
            token_count: arguments.context.is_some(),
            prewarm: false,
            images: arguments.images,
            parallel_steps: arguments.parallel,
        },
        availability: availability(arguments.context),
    })
}

/// A script is always there, and has no context to fill unless that is said.
fn availability(context_size: Option<u32>) -> Availability {
    Availability {
        available: true,
        reason: None,
        context_size,
        variant: Some("scripted".into()),
        supported_languages: Vec::new(),
    }
}
