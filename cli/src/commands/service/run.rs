//! `oam service run`: the service in this process, until a signal or another service ends it.

use std::{
    future::pending,
    io::{self, IsTerminal},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use nix::sys::signal::{
    Signal::{SIGTERM, SIGXFSZ},
    raise,
};
use oam_bridge::{BridgeConfig, ModelFactory, transport::stdio::StopSignals};
use oam_logging::LevelHandle;
use oam_service::{Activation, Service, ServiceConfig, ServiceLimits, StopReason, paths};
use oam_workers::WorkerPool;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::configured::{Configured, needs_restart};
use crate::{
    arguments::{
        model::WorkerArguments,
        recording::RecordingArguments,
        seconds::{self, ToolTimeout},
    },
    commands::stdio::max_sessions,
    console::Console,
    failure::{Failure, FailureCode, ReportForm},
    files::{self, InputPath},
    logging::{self, LogLevel},
    models::{StartedModels, SystemModel},
    recording::ActiveRecording,
    service::{
        running,
        starts::{StartList, Verdict},
    },
};

/// How long the first connections wait for the first worker, so that what is said of the model is true.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// For bridges and their sockets. Where workers play the steps there is little to do beside; the second goes on while a realm
/// is opened.
const THREADS: usize = 2;

/// Run the service here, until it is stopped.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct RunArguments {
    /// Where to listen [default: where oam service status says].
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// The folder for realms [default: where oam service status says].
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Settings; flags win over them [default: service.json].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Open connections.
    #[arg(long, value_name = "N", default_value = "64", allow_negative_numbers = true)]
    max_connections: NonZeroUsize,

    /// Realms that may exist.
    #[arg(long, value_name = "N", default_value = "256", allow_negative_numbers = true)]
    max_realms: NonZeroUsize,

    /// End when nobody is connected for so long; 0: never.
    #[arg(long, value_name = "SECONDS", default_value = "0", allow_negative_numbers = true, value_parser = seconds::any)]
    idle_exit: Duration,

    /// For turns under way when told to stop.
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_negative_numbers = true, value_parser = seconds::any)]
    drain: Duration,

    /// Take the place of the service that runs.
    #[arg(long)]
    replace: bool,

    /// Started by a manager: after five starts that failed, end with 0.
    #[arg(long)]
    managed: bool,

    /// Lead a session, away from the terminal.
    #[arg(long, hide = true)]
    own_session: bool,

    /// Sessions of a connection, or of a realm.
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true, value_parser = max_sessions)]
    max_sessions: usize,

    /// For the answer to a tool call, to 86400; 0: for ever.
    #[arg(long, value_name = "SECONDS", default_value = "120", allow_negative_numbers = true, value_parser = seconds::tool_timeout)]
    tool_timeout: ToolTimeout,

    /// Refuse scripted models in requests.
    #[arg(long)]
    no_scripted_models: bool,

    /// Where to log; - is standard error [default: oam.log].
    #[arg(long, value_name = "FILE")]
    log_file: Option<InputPath>,

    /// What to log: debug, info, warn(ing) or error.
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, hide_possible_values = true)]
    #[arg(default_value_t = LogLevel::Info)]
    log_level: LogLevel,

    #[command(flatten)]
    workers: WorkerArguments,
}

const RUN_EXAMPLES: &str = "\
Examples:
  oam service run --log-file -
  oam service run --replace --worker 'oam worker scripted' --workers 4

Environment:
  OAM_SCRIPT=FILE   played for each session on the model \"system\", instead of asking workers
  OAM_WORKER=CMD    like --worker; OAM_RECORD and more: as for other commands
  LISTEN_FDS, NOTIFY_SOCKET, WATCHDOG_USEC   as systemd sets them

SIGHUP has the settings read again; if the input is a terminal, it ends the service.

Exit codes: 0 stopped (SIGTERM, SIGINT), idle, or replaced; 1 it cannot listen or go on, or another \
service does; 2 wrong arguments, settings, script or worker program. More: docs/SERVICE.md.";

impl RunArguments {
    /// Where it listens, if that was said.
    pub(crate) fn named_socket(&self) -> Option<PathBuf> {
        self.socket.as_deref().map(absolute)
    }

    pub(crate) fn data_folder(&self) -> Result<PathBuf, Failure> {
        Ok(match &self.data {
            Some(folder) => absolute(folder),
            None => paths::data_folder()?,
        })
    }

    /// `None` is standard error.
    pub(crate) fn log_path(&self) -> Result<Option<PathBuf>, Failure> {
        Ok(match &self.log_file {
            Some(InputPath::Stdin) => None,
            Some(InputPath::File(path)) => Some(absolute(path)),
            None => Some(paths::log_file()?),
        })
    }

    /// The paths that were said, as they were said, each with its flag.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let log = match &self.log_file {
            Some(InputPath::File(path)) => Some(path),
            Some(InputPath::Stdin) | None => None,
        };
        let all = [
            ("--socket", self.socket.as_ref()),
            ("--data", self.data.as_ref()),
            ("--config", self.config.as_ref()),
            ("--log-file", log),
        ];
        all.into_iter().filter_map(|(flag, path)| path.map(|path| (flag, path.as_path())))
    }

    pub(super) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// How long turns may go on when it is told to stop.
    pub(crate) fn drain(&self) -> Duration {
        self.drain
    }

    pub(crate) fn is_replacing(&self) -> bool {
        self.replace
    }

    /// The command of the worker, if it was said.
    pub(crate) fn worker(&self) -> Option<&str> {
        self.workers.model.worker.as_deref()
    }

    fn limits(&self) -> ServiceLimits {
        ServiceLimits {
            connections: self.max_connections,
            realms: self.max_realms,
            idle_exit: (!self.idle_exit.is_zero()).then_some(self.idle_exit),
            drain: self.drain(),
        }
    }

    fn bridge(&self, models: Arc<dyn ModelFactory>) -> BridgeConfig {
        BridgeConfig {
            max_sessions: self.max_sessions,
            tool_timeout: self.tool_timeout.0,
            allow_scripted_models: !self.no_scripted_models,
            models,
            ..BridgeConfig::default()
        }
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    files::absolute(&files::with_home(path))
}

/// How a service ended.
struct Served {
    /// Whether it had started before.
    has_started: bool,
    end: Result<(), Failure>,
}

impl Served {
    fn not(failure: Failure) -> Self {
        Self { has_started: false, end: Err(failure) }
    }
}

pub(crate) fn run(said: &RunArguments) -> ExitCode {
    if said.own_session {
        // Fails only where the session is its own already.
        let _ = nix::unistd::setsid();
    }
    // Before there are further threads.
    let activation = Activation::of_process().map_err(|error| start_failure(&error));
    let (starts, log) = match said.data_folder().and_then(|data| Ok((data, said.log_path()?))) {
        Ok((data, log)) => (StartList::beside(&data), log),
        Err(failure) => return failure.report(ReportForm::Text),
    };
    // Without a log there is still a service.
    let logging = logging::init_service(log.as_deref(), said.log_level).ok();
    let serve = |activation: Result<Option<Activation>, Failure>| match activation {
        Ok(activation) => {
            serve(said, logging.as_ref().map(|logging| logging.level.clone()), activation, &starts)
        }
        Err(failure) => Served::not(failure),
    };
    if said.managed {
        run_managed(&starts, activation, serve)
    } else {
        run_by_hand(said, &starts, serve(activation))
    }
}

/// The end of a service without a manager. Why it did not start can be asked for afterwards, unless another one serves there.
fn run_by_hand(said: &RunArguments, starts: &StartList, served: Served) -> ExitCode {
    let is_served = || {
        let socket = said.named_socket().map_or_else(|| paths::socket().ok(), Some);
        socket.is_some_and(|socket| running::process(&socket).is_some())
    };
    if let Served { has_started: false, end: Err(failure) } = &served
        && !is_served()
    {
        starts.note(&failure.message);
    }
    ended(served.end)
}

/// The end of a managed service whose command line cannot be used: that is a start that failed, too.
pub(crate) fn refuse(failure: Failure) -> ExitCode {
    let activation = Activation::of_process().map_err(|error| start_failure(&error));
    match paths::data_folder() {
        Ok(data) => run_managed(&StartList::beside(&data), activation, |_| Served::not(failure)),
        Err(_) => ended(Err(failure)),
    }
}

/// Runs it unless that has failed too often.
fn run_managed(
    starts: &StartList,
    activation: Result<Option<Activation>, Failure>,
    serve: impl FnOnce(Result<Option<Activation>, Failure>) -> Served,
) -> ExitCode {
    let Some(attempt) = starts.begin() else {
        let failed = starts.failed();
        let mut counted = failed.iter().rev().filter(|start| start.is_managed);
        let reason = counted.find_map(|start| start.reason.as_deref());
        give_up(activation.ok().flatten(), reason.unwrap_or("it ended without a word"));
        return ExitCode::SUCCESS;
    };
    match serve(activation) {
        Served { has_started: true, end } => ended(end),
        Served { has_started: false, end: Ok(()) } => {
            attempt.stopped();
            ExitCode::SUCCESS
        }
        Served { has_started: false, end: Err(failure) } => {
            let verdict = attempt.failed(&failure.message);
            let code = ended(Err(failure.clone()));
            match verdict {
                Verdict::TryAgain => code,
                Verdict::GiveUp => {
                    give_up(None, &failure.message);
                    ExitCode::SUCCESS
                }
            }
        }
    }
}

fn give_up(activation: Option<Activation>, reason: &str) {
    tracing::error!(
        "it has failed to start too often, and is not started again until `oam service start`: {reason}"
    );
    oam_service::give_up(activation, reason);
}

fn ended(end: Result<(), Failure>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tracing::error!("{failure}");
            // To whoever started it by hand, too.
            failure.report(ReportForm::Text)
        }
    }
}

fn start_failure(error: &impl std::fmt::Display) -> Failure {
    Failure::new(FailureCode::ServerStart, error.to_string())
}

/// What can be changed while it runs, and what it is now.
struct Adjustable {
    settings: Configured,
    level: Option<LevelHandle>,
    models: Arc<dyn ModelFactory>,
}

fn serve(
    said: &RunArguments,
    level: Option<LevelHandle>,
    activation: Option<Activation>,
    starts: &StartList,
) -> Served {
    let prepared = Configured::read(said).and_then(|settings| {
        let data = said.data_folder()?;
        let model =
            SystemModel::choose_with_settings(&settings.arguments.workers, &RecordingArguments::default())?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        Ok((settings, data, model, runtime.map_err(|error| start_failure(&error))?))
    });
    let (settings, data, model, runtime) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return Served::not(failure),
    };
    let served = runtime.block_on(async {
        // Before there is a worker that a signal could leave behind.
        let signals = match Signals::listen() {
            Ok(signals) => signals,
            Err(error) => return Served::not(start_failure(&error)),
        };
        let StartedModels { models, pool, recording } = model.start();
        let config = ServiceConfig {
            socket: said.named_socket(),
            activation,
            pool: pool.clone(),
            replace: said.replace,
            log: said.log_path().ok().flatten(),
            limits: settings.arguments.limits(),
            ..ServiceConfig::new(data, settings.arguments.bridge(Arc::clone(&models)))
        };
        let mut adjustable = Adjustable { settings, level, models };
        adjustable.set_level();
        let mut served = serve_until_told(said, config, pool, &mut adjustable, signals, starts).await;
        served.end = served.end.and(recording.map_or(Ok(()), ActiveRecording::finish));
        served
    });
    // What still runs was waited for, or told to end at once.
    runtime.shutdown_background();
    served
}

struct Signals {
    stop: StopSignals,
    reload: ReloadSignal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        // A file that may not grow (ulimit -f) is an error of who writes it, like a full disk. Unheard, the signal ends the process.
        let _ = signal(SignalKind::from_raw(SIGXFSZ as i32))?;
        Ok(Self { stop: StopSignals::listen()?, reload: ReloadSignal::listen()? })
    }
}

/// A hang-up asks for the settings to be read again. From a terminal that closes it ends what was started there by hand.
struct ReloadSignal(Option<Signal>);

impl ReloadSignal {
    fn listen() -> io::Result<Self> {
        let mut hang_up = signal(SignalKind::hangup())?;
        if !io::stdin().is_terminal() {
            return Ok(Self(Some(hang_up)));
        }
        tokio::spawn(async move {
            // Told once: the system and the shell may both send one, and a second signal to stop would cut turns short.
            if hang_up.recv().await.is_some()
                && let Err(error) = raise(SIGTERM)
            {
                tracing::error!(%error, "the terminal was closed, and the service goes on");
            }
        });
        Ok(Self(None))
    }

    async fn arrived(&mut self) {
        if let Some(signal) = &mut self.0
            && signal.recv().await.is_some()
        {
            return;
        }
        pending::<()>().await;
    }
}

async fn serve_until_told(
    said: &RunArguments,
    config: ServiceConfig,
    pool: Option<WorkerPool>,
    adjustable: &mut Adjustable,
    mut signals: Signals,
    starts: &StartList,
) -> Served {
    if let Some(pool) = &pool {
        tokio::select! {
            () = signals.stop.arrived() => {}
            // A worker that takes longer is reported as not ready until it is.
            _ = tokio::time::timeout(SETTLE_TIME, pool.settled()) => {}
        }
    }
    // As a task: a store that takes long to open must not keep signals from being heard.
    let starting = tokio::spawn(Service::start(config));
    let served = tokio::select! {
        biased;
        () = signals.stop.arrived() => Served { has_started: false, end: Ok(()) },
        started = starting => match started {
            Ok(Ok(service)) => {
                starts.forget();
                greet_terminal(said, &service);
                Served { has_started: true, end: run_service(said, &service, adjustable, &mut signals).await }
            }
            Ok(Err(error)) => Served::not(start_failure(&error)),
            Err(error) => Served::not(start_failure(&error)),
        },
    };
    if let Some(pool) = &pool {
        tokio::select! {
            biased;
            () = signals.stop.insisted() => tracing::info!("a second signal: workers are not waited for"),
            () = pool.stop() => {}
        }
    }
    served
}

/// Tells who started it by hand where it is.
fn greet_terminal(said: &RunArguments, service: &Service) {
    let stdout = Console::stdout();
    if !stdout.is_terminal() {
        return;
    }
    let log = match said.log_path() {
        Ok(Some(path)) => path.display().to_string(),
        Ok(None) | Err(_) => "standard error".to_owned(),
    };
    let socket = service.socket_path().display();
    stdout.line(&format!("The service listens at {socket} and logs to {log}. Ctrl-C ends it."));
}

/// The service from its start to its end.
async fn run_service(
    said: &RunArguments,
    service: &Service,
    adjustable: &mut Adjustable,
    signals: &mut Signals,
) -> Result<(), Failure> {
    let reason = loop {
        tokio::select! {
            biased;
            reason = service.stopped() => break reason,
            () = signals.stop.arrived() => {
                tokio::select! {
                    biased;
                    () = signals.stop.insisted() => {
                        tracing::info!("a second signal: nothing is waited for");
                        service.cut();
                    }
                    () = service.stop() => {}
                }
                break StopReason::Requested;
            }
            () = signals.reload.arrived() => adjustable.reload(said, service),
        }
    };
    match reason {
        StopReason::Failed(reason) => Err(Failure::io(reason)),
        StopReason::Requested | StopReason::Idle | StopReason::HandedOver => Ok(()),
    }
}

impl Adjustable {
    fn set_level(&self) {
        if let Some(level) = &self.level {
            level.set(self.settings.arguments.log_level.filter());
        }
    }

    /// Reads the settings again. What cannot be used changes nothing.
    fn reload(&mut self, said: &RunArguments, service: &Service) {
        let settings = match Configured::read(said) {
            Ok(settings) => settings,
            Err(failure) => {
                tracing::error!("the settings stay as they are: {failure}");
                return;
            }
        };
        for name in self.settings.file.differing(&settings.file) {
            if needs_restart(name) {
                tracing::warn!("{name} is what it was until `oam service restart`");
            }
        }
        self.settings = settings;
        self.set_level();
        let arguments = &self.settings.arguments;
        service.reload(arguments.limits(), arguments.bridge(Arc::clone(&self.models)));
    }
}
