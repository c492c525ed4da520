//! `oam serve`: the model over HTTP, as OpenAI's clients ask for it (docs/SERVER.md).

mod arguments;
mod banner;
mod descriptors;
mod worker_numbers;

use std::{num::NonZeroUsize, pin::pin, process::ExitCode, thread};

use oam_server::{Completions, CompletionsConfig, ConfigError, Metrics, ServedModel, Server, ServerConfig};

use crate::{
    arguments::recording::RecordingArguments,
    console::Console,
    failure::{Failure, FailureCode, ReportForm},
    logging,
    models::{ModelName, ModelSource, OpenModel, SystemModel},
    runtime::{self, StopSignals},
    tools::{Runs, ToolSet},
};
pub(crate) use arguments::ServeArguments;
use banner::Banner;

/// The name of the model in requests, and who is said to own it.
const MODEL: &str = "system";
const OWNER: &str = "apple";

pub(crate) fn run(arguments: &ServeArguments) -> ExitCode {
    // Without a log there is still a server.
    let _logging = logging::init(None, arguments.log_level);
    let served = SystemModel::choose_with_settings(&arguments.workers, &RecordingArguments::default())
        .and_then(|model| {
            let threads = threads(&model, arguments.completion_limits().concurrent);
            runtime::run_server(threads, async |signals| serve(arguments, model, signals).await)
        });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(ReportForm::Text),
    }
}

/// Where workers play the steps, a thread for requests has enough to do with so many completions at once. With fewer, a
/// request costs less than waking another thread for it.
const COMPLETIONS_PER_THREAD: NonZeroUsize = NonZeroUsize::new(16).expect("it is not 0");

/// For requests, with so many completions at once. A script is played by these threads themselves.
fn threads(model: &SystemModel, completions: NonZeroUsize) -> NonZeroUsize {
    let most = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match model.worker() {
        Some(_) => completions.div_ceil(COMPLETIONS_PER_THREAD).min(most),
        None => most,
    }
}

/// Serves until a signal comes. What is dropped because another one comes is ended by the end of the runtime.
async fn serve(
    arguments: &ServeArguments,
    model: SystemModel,
    mut signals: StopSignals,
) -> Result<(), Failure> {
    let model = tokio::select! {
        biased;
        () = signals.next() => return Ok(()),
        model = model.open_as_configured() => model,
    };
    let end = serve_model(arguments, &model, &mut signals).await;
    tokio::select! {
        biased;
        () = signals.next() => Ok(()),
        end = model.close(end) => end,
    }
}

async fn serve_model(
    arguments: &ServeArguments,
    model: &OpenModel,
    signals: &mut StopSignals,
) -> Result<(), Failure> {
    model.expect_available().await?;
    let tools = server_tools(arguments)?;
    let metrics = Metrics::default();
    let completions = completions(arguments, model, &tools, &metrics)?;
    let config = arguments.server(metrics.clone())?;
    let (address, needs_key) = (config.tcp.clone(), config.api_key.is_some());
    warn_of_openness(&config);
    descriptors::make_room(config.limits.connections);
    let server = Server::start(config, completions)
        .await
        .map_err(|error| Failure::new(FailureCode::ServerStart, error.to_string()))?;
    if let Some(pool) = model.pool().cloned() {
        metrics.add_source(move || worker_numbers::of(pool.clone()));
    }
    let banner = Banner {
        tcp: address.map(|mut address| {
            address.port = server.tcp_address().map_or(address.port, |bound| bound.port());
            address
        }),
        socket: server.socket_path(),
        model: shown_name(model),
        tools: tools.tools().iter().map(|tool| tool.name().as_str()).collect(),
        needs_key,
    };
    Console::stdout().write(&banner.text());
    tokio::select! {
        biased;
        () = signals.next() => stop(&server, signals).await,
        reason = server.stopped() => return Err(Failure::io(reason.unwrap_or_else(|| "the server has stopped".into()))),
    }
    Ok(())
}

/// Lets answers under way end, unless another signal comes.
async fn stop(server: &Server, signals: &mut StopSignals) {
    let mut stop = pin!(server.stop());
    tokio::select! {
        biased;
        () = &mut stop => {}
        () = signals.next() => {
            server.cut();
            stop.await;
        }
    }
}

fn server_tools(arguments: &ServeArguments) -> Result<ToolSet, Failure> {
    let tools = ToolSet::load(arguments.tools.as_ref(), &[])?;
    if let (Some(file), Some(tool)) =
        (&arguments.tools, tools.tools().iter().find(|tool| matches!(tool.runs, Runs::External)))
    {
        return Err(Failure::invalid_input(format!(
            "{file}: the tool '{}' has no command (x-oam.command). The server runs its tools itself; those that clients run \
             come with their requests.",
            tool.name()
        )));
    }
    for warning in tools.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(tools)
}

fn completions(
    arguments: &ServeArguments,
    model: &OpenModel,
    tools: &ToolSet,
    metrics: &Metrics,
) -> Result<Completions, Failure> {
    let served = ServedModel {
        id: MODEL.to_owned(),
        owned_by: OWNER.to_owned(),
        model: metrics.metered(model.model.clone()),
    };
    let config = CompletionsConfig {
        models: vec![served],
        default_model: MODEL.to_owned(),
        aliases: arguments.aliases(),
        tools: tools.for_agent(),
        instructions: arguments.instructions.clone(),
        limits: arguments.completion_limits(),
    };
    Completions::new(config).map_err(|error| match &error {
        ConfigError::ToolWithoutHandler(_) | ConfigError::Tools(_) => {
            Failure::invalid_input(error.to_string()).about("--tools")
        }
        ConfigError::UnknownAliasTarget { .. } => {
            Failure::usage(format!("--model-alias: {error} There is '{MODEL}'."))
        }
        ConfigError::NoModel | ConfigError::DuplicateModel(_) | ConfigError::UnknownDefault(_) => {
            Failure::new(FailureCode::ServerStart, error.to_string())
        }
    })
}

/// Without a key, anybody who reaches the server may use it.
fn warn_of_openness(config: &ServerConfig) {
    let Some(address) = config.tcp.as_ref().filter(|_| config.api_key.is_none()) else { return };
    if !address.is_private() {
        tracing::warn!(
            "anybody who reaches {address} can use the model and the tools: set --api-key or OAM_API_KEY"
        );
    }
}

/// How people know the model.
fn shown_name(model: &OpenModel) -> String {
    match (model.name, model.source) {
        (ModelName::Scripted, ModelSource::Script) => format!("{MODEL} (scripted via OAM_SCRIPT)"),
        _ => MODEL.to_owned(),
    }
}
