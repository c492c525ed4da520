//! What a worker may say: `ready` once, before it only `log`, and nothing that means nothing.

use oam_ipc::{FromWorker, Outcome, PROTOCOL_VERSION};

/// What is wrong with a message of a worker that was ready, or was not, if anything. A type that is not known might
/// be anything, so nothing is wrong with it.
pub(super) fn breach(was_ready: bool, message: &FromWorker) -> Option<String> {
    match message {
        FromWorker::Log { .. } | FromWorker::Unknown => None,
        FromWorker::Ready(_) if was_ready => Some("it said `ready` twice".to_owned()),
        FromWorker::Ready(ready) => (ready.protocol != PROTOCOL_VERSION).then(|| {
            let version = ready.protocol;
            format!("it speaks version {version} of the worker protocol, this is version {PROTOCOL_VERSION}")
        }),
        message if !was_ready => Some(format!("it said `{}` before `ready`", message.type_name())),
        FromWorker::Finished { outcome: Outcome::ToolCalls { calls }, .. } if calls.is_empty() => {
            Some("its `finished` has no tool calls in `outcome.calls`".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use oam_ipc::{Availability, Capabilities, LogLevel, Ready, StepId, TokenUsage, WorkerInfo};

    use super::*;

    fn ready(protocol: u32) -> FromWorker {
        FromWorker::Ready(Ready {
            protocol,
            worker: WorkerInfo { name: String::new(), version: String::new(), pid: 1 },
            capabilities: Capabilities::default(),
            availability: available(),
        })
    }

    fn available() -> Availability {
        Availability {
            available: true,
            reason: None,
            context_size: None,
            variant: None,
            supported_languages: Vec::new(),
        }
    }

    #[test]
    fn before_ready_a_worker_may_only_log() {
        assert_eq!(breach(false, &FromWorker::Log { level: LogLevel::Info, message: String::new() }), None);
        assert_eq!(breach(false, &FromWorker::Unknown), None);
        assert_eq!(breach(false, &ready(PROTOCOL_VERSION)), None);
        let early = [
            (FromWorker::Pong { n: 1 }, "it said `pong` before `ready`"),
            (
                FromWorker::Availability { id: None, availability: available() },
                "it said `availability` before `ready`",
            ),
            (FromWorker::Delta { id: StepId(1), text: String::new() }, "it said `delta` before `ready`"),
        ];
        for (message, reason) in early {
            assert_eq!(breach(true, &message), None);
            assert_eq!(breach(false, &message).as_deref(), Some(reason));
        }
    }

    #[test]
    fn ready_is_said_once_and_in_this_version() {
        assert_eq!(breach(true, &ready(PROTOCOL_VERSION)).as_deref(), Some("it said `ready` twice"));
        let reason = breach(false, &ready(99)).unwrap();
        assert_eq!(reason, "it speaks version 99 of the worker protocol, this is version 1");
    }

    #[test]
    fn a_round_of_tool_calls_has_a_call() {
        let outcome = Outcome::ToolCalls { calls: Vec::new() };
        let message = FromWorker::Finished { id: StepId(1), outcome, usage: TokenUsage::default() };
        assert!(breach(true, &message).unwrap().contains("`outcome.calls`"));
    }
}
