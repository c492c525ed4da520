//! What a host decides about its bridge.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use oam_bridge::{BridgeConfig, BridgeError, Params, params::TimeLimit};
use oam_system::worker;
use oam_workers::{PoolConfig, StreamingPolicy, WorkerCommand};
use serde_json::{Value, from_str};

const MEMBERS: &[&str] = &[
    "worker",
    "workers",
    "spare",
    "streaming",
    "stepTimeoutSeconds",
    "maxStepCrashes",
    "maxSessions",
    "toolTimeoutSeconds",
    "scriptedModels",
    "maxUnreadBytes",
];

/// How long each stage of stopping a worker lasts. Workers hold nothing that would be lost with them, and a host that
/// closes its bridge wants to go on.
const STOP_GRACE: Duration = Duration::from_millis(250);

/// The settings of a bridge. The defaults are those of `oam stdio`.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The worker program. Without one it is what the variable `OAM_WORKER` names, or else what is installed
    /// [`beside`](Self::beside) the library. One that cannot be started leaves the model `system` unavailable.
    pub worker: Option<WorkerCommand>,
    /// The folder of the library, or of the program that it is part of: an installed worker is looked for there and in
    /// `../libexec/oam`.
    pub beside: Option<PathBuf>,
    /// How many workers play steps at the same time.
    pub workers: usize,
    /// Whether one more worker stands ready to take over from one that dies.
    pub spare: bool,
    /// When answers are streamed.
    pub streaming: StreamingPolicy,
    /// How long a step may go without progress before its worker counts as hung.
    pub step_timeout: Duration,
    /// A step that has crashed so many workers fails for good.
    pub max_step_crashes: u32,
    /// How many sessions may exist at once.
    pub max_sessions: usize,
    /// The time the host has to answer a `tool/call`, unless session or tool say otherwise; `None` is no limit.
    pub tool_timeout: Option<Duration>,
    /// Whether requests may bring scripted models.
    pub scripted_models: bool,
    /// How many bytes of messages may wait for a callback that does not return; beyond it, for two seconds, the bridge
    /// is given up.
    pub max_unread_bytes: usize,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        let bridge = BridgeConfig::default();
        let pool = PoolConfig::new(WorkerCommand { program: PathBuf::new(), arguments: Vec::new() });
        Self {
            worker: None,
            beside: None,
            workers: pool.workers,
            spare: pool.spare,
            streaming: pool.streaming,
            step_timeout: pool.step_timeout,
            max_step_crashes: pool.max_step_crashes,
            max_sessions: bridge.max_sessions,
            tool_timeout: bridge.tool_timeout,
            scripted_models: bridge.allow_scripted_models,
            max_unread_bytes: bridge.max_unread_output,
        }
    }
}

impl EmbeddedOptions {
    /// Reads options from a JSON object (bindings/c/README.md, Options). An unknown member is an error, as is a value out
    /// of range; the message names the member.
    pub fn from_json(text: &str) -> Result<Self, BridgeError> {
        let value: Value = from_str(text)
            .map_err(|error| BridgeError::invalid_params(format!("'options' is not JSON: {error}.")))?;
        let options = Params::at("options", &value)?;
        if let Some(name) = options.members().keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let known = MEMBERS.join(", ");
            return Err(options.invalid(name, format!("is not an option; there are: {known}.")));
        }
        Self::default().with(&options)
    }

    fn with(self, options: &Params<'_>) -> Result<Self, BridgeError> {
        let count = |name, max| {
            let count = options.optional_integer_in(name, 1, max)?;
            Ok::<_, BridgeError>(count.and_then(|count| usize::try_from(count).ok()))
        };
        let max_step_crashes = options.optional_integer_in("maxStepCrashes", 1, u32::MAX.into())?;
        let step_timeout = options.optional_number_in("stepTimeoutSeconds", 0.1, 86_400.0)?;
        Ok(Self {
            worker: command(options)?.or(self.worker),
            beside: self.beside,
            workers: count("workers", 64)?.unwrap_or(self.workers),
            spare: options.optional_bool("spare")?.unwrap_or(self.spare),
            streaming: streaming(options)?.unwrap_or(self.streaming),
            step_timeout: step_timeout.map_or(self.step_timeout, Duration::from_secs_f64),
            max_step_crashes: max_step_crashes
                .and_then(|crashes| u32::try_from(crashes).ok())
                .unwrap_or(self.max_step_crashes),
            max_sessions: count("maxSessions", i64::MAX)?.unwrap_or(self.max_sessions),
            tool_timeout: options
                .optional_seconds("toolTimeoutSeconds")?
                .map_or(self.tool_timeout, TimeLimit::duration),
            scripted_models: options.optional_bool("scriptedModels")?.unwrap_or(self.scripted_models),
            max_unread_bytes: count("maxUnreadBytes", i64::MAX)?.unwrap_or(self.max_unread_bytes),
        })
    }

    /// The pool that serves the model `system`, or in words why there is none.
    pub(crate) fn pool(&self) -> Result<PoolConfig, String> {
        Ok(PoolConfig {
            workers: self.workers,
            spare: self.spare,
            streaming: self.streaming,
            step_timeout: self.step_timeout,
            max_step_crashes: self.max_step_crashes,
            stop_grace: STOP_GRACE,
            ..PoolConfig::new(worker::anchored(self.worker_command()?))
        })
    }

    fn worker_command(&self) -> Result<WorkerCommand, String> {
        let named = match &self.worker {
            Some(command) => worker::check(command)
                .map(|()| Some(command.clone()))
                .map_err(|error| error.at("options.worker")),
            None => worker::in_environment(),
        };
        if let Some(command) = named.map_err(|reason| format!("The worker cannot be started: {reason}."))? {
            return Ok(command);
        }
        let installed = self.beside.as_deref().and_then(worker::installed_beside);
        let program = installed.ok_or_else(|| no_worker(self.beside.as_deref()))?;
        Ok(WorkerCommand { program, arguments: Vec::new() })
    }
}

fn no_worker(beside: Option<&Path>) -> String {
    let place = beside.map_or_else(String::new, |folder| format!(" in {}", folder.display()));
    worker::none_installed(format_args!("the library{place}"), "the option 'worker'")
}

fn command(options: &Params<'_>) -> Result<Option<WorkerCommand>, BridgeError> {
    let Some(words) = options.optional_texts("worker")? else { return Ok(None) };
    let mut words = words.into_iter();
    match words.next() {
        Some(program) if !program.is_empty() => {
            Ok(Some(WorkerCommand { program: program.into(), arguments: words.map(Into::into).collect() }))
        }
        _ => Err(options.invalid("worker", "must begin with the name or path of a program.")),
    }
}

fn streaming(options: &Params<'_>) -> Result<Option<StreamingPolicy>, BridgeError> {
    match options.optional_string("streaming")? {
        None => Ok(None),
        Some("auto") => Ok(Some(StreamingPolicy::Auto)),
        Some("always") => Ok(Some(StreamingPolicy::Always)),
        Some("never") => Ok(Some(StreamingPolicy::Never)),
        Some(_) => Err(options.invalid("streaming", "must be \"auto\", \"always\" or \"never\".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_can_be_said_in_json() {
        let options = EmbeddedOptions::from_json(
            r#"{"worker": ["sh", "-c", "exit"], "workers": 2, "spare": false, "streaming": "never",
                "stepTimeoutSeconds": 0.5, "maxStepCrashes": 1, "maxSessions": 3, "toolTimeoutSeconds": 0,
                "scriptedModels": false, "maxUnreadBytes": 4096}"#,
        )
        .unwrap();
        let command = options.worker.clone().unwrap();
        assert_eq!((command.program, command.arguments), ("sh".into(), vec!["-c".into(), "exit".into()]));
        let pool = options.pool().unwrap();
        assert_eq!((pool.workers, pool.spare, pool.streaming), (2, false, StreamingPolicy::Never));
        assert_eq!((pool.step_timeout, pool.max_step_crashes), (Duration::from_millis(500), 1));
        assert_eq!((options.max_sessions, options.tool_timeout), (3, None));
        assert_eq!((options.scripted_models, options.max_unread_bytes), (false, 4096));
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        for text in ["{}", r#"{"worker": null, "workers": null}"#] {
            let options = EmbeddedOptions::from_json(text).unwrap();
            assert_eq!((options.workers, options.spare, options.max_sessions), (1, true, 64));
            assert_eq!((options.worker, options.tool_timeout), (None, Some(Duration::from_mins(2))));
        }
    }

    #[test]
    fn a_wrong_option_is_named() {
        let cases = [
            ("", "'options' is not JSON"),
            ("[]", "'options' must be an object"),
            (r#"{"worker": "sh -c exit"}"#, "'options.worker' must be an array"),
            (r#"{"worker": []}"#, "'options.worker' must begin with"),
            (r#"{"worker": [""]}"#, "'options.worker' must begin with"),
            (r#"{"workers": 0}"#, "'options.workers' must be"),
            (r#"{"workers": 65}"#, "'options.workers' must be"),
            (r#"{"streaming": "sometimes"}"#, "'options.streaming' must be"),
            (r#"{"stepTimeoutSeconds": 0}"#, "'options.stepTimeoutSeconds' must be"),
            (r#"{"spare": "yes"}"#, "'options.spare' must be a boolean"),
            (r#"{"maxStepCrashs": 1}"#, "'options.maxStepCrashs' is not an option; there are: worker, "),
        ];
        for (text, message) in cases {
            let error = EmbeddedOptions::from_json(text).unwrap_err();
            assert_eq!((error.code, &*error.name), (-32602, "invalid_params"));
            assert!(error.message.contains(message), "{text}: {}", error.message);
        }
    }

    #[test]
    fn a_worker_that_cannot_be_started_is_told_with_its_source() {
        let options = EmbeddedOptions::from_json(r#"{"worker": ["/nowhere/worker"]}"#).unwrap();
        let reason = options.pool().unwrap_err();
        assert!(reason.contains("options.worker: there is no program /nowhere/worker"), "{reason}");
    }
}
