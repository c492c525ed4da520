//! `oam status`: which model a command would ask, whether it can be asked, and if not, why and what to do.
//!
//! The worker is started as any command starts it, looked at, and ended again.

mod text;

use std::{
    iter,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Args;
use oam_agent::{Availability, Capabilities, UnavailableReason};
use oam_workers::{PoolStatus, WorkerProgram};
use serde_json::{Map, Value, json};

use crate::{
    arguments::model::ModelArguments,
    commands::service::{SocketArgument, status::ServiceStatus},
    console::Console,
    failure::{Failure, FailureCode, ReportForm},
    models::{ModelName, ModelSource, SystemModel},
    runtime::{self, End},
};

/// Tell which model is asked, where it was found, what is wrong if it cannot be asked, and if a service runs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusArguments {
    /// One JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    model: ModelArguments,
}

const EXAMPLES: &str = "\
Examples:
  oam status
  oam status --worker 'python3 my_worker.py' --json

It starts the worker, waits until that is ready or has failed (10 s at most), and ends it again.

Exit codes: 0 the model can be asked; 3 it cannot, and the output says what to do; 2 the worker \
program is not there, or OAM_SCRIPT cannot be used.";

/// What was seen.
struct Seen {
    name: ModelName,
    source: ModelSource,
    /// Program and arguments of the worker, if there is one.
    command: Option<Vec<String>>,
    availability: Availability,
    capabilities: Capabilities,
    workers: Option<SeenWorkers>,
    /// What the service that programs share says of itself, if one runs.
    service: Option<Value>,
    /// What to do, if the model cannot be asked, in sentences.
    advice: Vec<String>,
}

struct SeenWorkers {
    /// The worker that got ready, and how long that took.
    ready: Option<(WorkerProgram, Duration)>,
    pool: PoolStatus,
}

pub(crate) fn run(arguments: &StatusArguments) -> ExitCode {
    let seen = SystemModel::choose_to_look_at(&arguments.model).and_then(|model| runtime::run(look(model)));
    let stdout = Console::stdout();
    match seen {
        Err(failure) => failure.report(if arguments.json { ReportForm::Json } else { ReportForm::Text }),
        Ok(End::Interrupted(code)) => code,
        Ok(End::Done(seen)) => {
            if arguments.json {
                stdout.json(&seen.as_json());
            } else {
                stdout.write(&stdout.shown(&text::of(&seen)));
            }
            match seen.availability.unavailable {
                None => ExitCode::SUCCESS,
                Some(_) => ExitCode::from(FailureCode::MODEL_UNAVAILABLE.exit_code()),
            }
        }
    }
}

async fn look(model: SystemModel) -> Result<Seen, Failure> {
    let source = model.source();
    let command = model.worker().map(|worker| {
        let words = iter::once(worker.program.as_os_str()).chain(worker.arguments.iter().map(AsRef::as_ref));
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    });
    let started = Instant::now();
    let model = model.open().await;
    let took = started.elapsed();
    let workers = match model.pool() {
        Some(pool) => pool.status().await.map(|pool| {
            let program = pool.workers.iter().find_map(|worker| worker.program.clone());
            SeenWorkers { ready: program.map(|program| (program, took)), pool }
        }),
        None => None,
    };
    let availability = model.model.availability();
    let advice = match (availability.unavailable, &workers) {
        (None, _) => Vec::new(),
        (Some(_), Some(workers)) if workers.ready.is_none() => {
            not_ready(command.as_deref().unwrap_or_default())
        }
        (Some(UnavailableReason::ModelNotReady), Some(_)) => vec![STILL_LOADING.to_owned()],
        (Some(reason), _) => vec![model.hint(reason)],
    };
    let service = running_service().await;
    let seen = Seen {
        name: model.name,
        source,
        command,
        availability,
        capabilities: model.model.capabilities(),
        workers,
        service,
        advice,
    };
    model.close(Ok(seen)).await
}

/// A service that does not answer is for `oam service status` to tell of.
async fn running_service() -> Option<Value> {
    let looked = tokio::task::spawn_blocking(|| ServiceStatus::look(&SocketArgument::default())).await;
    looked.ok()?.ok()?.service
}

const STILL_LOADING: &str = "The worker is ready, but its model is still being loaded: try again in a while.";

fn not_ready(command: &[String]) -> Vec<String> {
    let again = ["oam", "stdio", "--log-level", "debug", "--worker", &shell_words::join(command)];
    vec![
        "The worker does not get ready; how it ended, and what it said last, is above.".to_owned(),
        "What the usual ends mean is told in docs/OPERATIONS.md, When something is wrong.".to_owned(),
        format!("All that it prints is shown by: {} < /dev/null", shell_words::join(again)),
    ]
}

impl ModelSource {
    /// The name for machines.
    fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "--worker",
            Self::Script => "OAM_SCRIPT",
            Self::Variable => "OAM_WORKER",
            Self::Installed => "installed",
            Self::Nowhere => "none",
        }
    }
}

impl Seen {
    fn as_json(&self) -> Value {
        let Availability { unavailable, context_size, variant, supported_languages } = &self.availability;
        let Capabilities { streaming, native_tools, guided_generation, token_count, images } =
            self.capabilities;
        let mut told = Map::new();
        let mut tell = |member: &str, value: Value| told.insert(member.to_owned(), value);
        tell("available", unavailable.is_none().into());
        if let Some(reason) = unavailable {
            tell("reason", reason.as_str().into());
        }
        tell("model", self.name.as_str().into());
        tell("source", self.source.as_str().into());
        if let Some(command) = &self.command {
            tell("command", command.clone().into());
        }
        if let Some((program, took)) = self.ready() {
            tell("worker", json!(program));
            #[expect(clippy::cast_precision_loss, reason = "a start takes less than 2^53 ms")]
            tell("readySeconds", (took.as_millis() as f64 / 1000.0).into());
        }
        tell("contextSize", (*context_size).into());
        if let Some(variant) = variant {
            tell("variant", variant.as_str().into());
        }
        tell("supportedLanguages", json!(supported_languages));
        // A worker that was never ready has not said what it can.
        if self.workers.is_none() || self.ready().is_some() {
            tell(
                "capabilities",
                json!({
                    "streaming": streaming,
                    "nativeTools": native_tools,
                    "guidedGeneration": guided_generation,
                    "tokenCount": token_count,
                    "images": images,
                }),
            );
        }
        if let Some(SeenWorkers { pool, .. }) = &self.workers {
            tell("counters", json!(pool.counters));
            tell("lastExits", json!(pool.last_exits));
        }
        if let Some(service) = &self.service {
            tell("service", service.clone());
        }
        if !self.advice.is_empty() {
            tell("advice", self.advice.clone().into());
        }
        Value::Object(told)
    }

    fn ready(&self) -> Option<&(WorkerProgram, Duration)> {
        self.workers.as_ref()?.ready.as_ref()
    }
}
