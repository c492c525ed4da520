//! A pool's events and its workers' ends, as the log and the status tell them.

use crate::{
    exit::{Exit, ExitCause},
    status::{ExitStatusReport, PoolEvent},
    worker_id::WorkerId,
};

/// Logs an event.
pub(crate) fn event(event: &PoolEvent) {
    match event {
        PoolEvent::WorkerDied { worker, exit, steps } => tracing::warn!(%worker, steps, "a worker {exit}"),
        PoolEvent::WorkerHung { worker, cause } => {
            tracing::warn!(%worker, cause = cause.as_str(), "a worker hangs and is killed");
        }
        PoolEvent::WorkerViolated { worker, reason } => {
            tracing::warn!(%worker, "a worker is killed: {reason}");
        }
        PoolEvent::WorkerRecycled { worker } => tracing::info!(%worker, "a worker is replaced in good order"),
        // Whoever knows the turn warns.
        PoolEvent::StepReplayed { worker, crashes } => {
            tracing::info!(%worker, crashes, "a step is played again");
        }
        PoolEvent::StepQuarantined { worker, crashes } => {
            tracing::info!(%worker, crashes, "a step is given up");
        }
        PoolEvent::BreakerOpened { retry_after } => {
            tracing::error!(seconds = retry_after.as_secs_f64(), "workers keep dying; steps fail at once");
        }
        PoolEvent::BreakerClosed => tracing::info!("a step ended; steps are let through again"),
    }
}

/// Logs what a worker has for the log.
pub(crate) fn log(worker: WorkerId, level: oam_ipc::LogLevel, message: &str) {
    match level {
        oam_ipc::LogLevel::Debug => tracing::debug!(%worker, "{message}"),
        oam_ipc::LogLevel::Info => tracing::info!(%worker, "{message}"),
        oam_ipc::LogLevel::Warning => tracing::warn!(%worker, "{message}"),
        oam_ipc::LogLevel::Error => tracing::error!(%worker, "{message}"),
    }
}

/// The end of a worker, for the status.
pub(crate) fn exit(worker: WorkerId, exit: &Exit) -> ExitStatusReport {
    ExitStatusReport {
        worker: worker.to_string(),
        exit: exit.to_string(),
        signal: exit.cause.signal().map(str::to_owned),
        code: match exit.cause {
            ExitCause::Code(code) => Some(code),
            _ => None,
        },
        stderr: exit.stderr.clone(),
    }
}
