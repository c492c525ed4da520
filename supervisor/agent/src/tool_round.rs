//! One round of tool calls: each call is admitted or refused, admitted calls run side by side, and every call
//! ends in exactly one output that the model reads.
//!
//! A refusal is an error output, so a model that calls wrongly can recover; nothing goes out to the client.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::Instant;

use crate::{
    event::{Execution, TurnEvent},
    host::TurnHost,
    model::{BoxFuture, ModelToolCall, ToolMode},
    steering::{StepPlan, ToolChoice, ToolPolicy, ToolProgress},
    tool::{CallId, RESPOND_DIRECTLY, Tool, ToolCall, ToolExecutor, ToolOutput, ToolRecord},
    transcript::{Entry, EntryContent, EntryId, ToolCallEntry},
};

const REPLY_NOW: &str = "Reply now.";
const BUDGET_SPENT: &str =
    "The tool budget for this turn is used up. Answer with the information you already have.";
const TOOLS_OFF: &str = "Tools are off in this step. Answer with the information you already have.";

/// What a round needs to know.
pub(crate) struct Round<'a> {
    pub(crate) policy: &'a ToolPolicy,
    pub(crate) tools: &'a [Tool],
    pub(crate) plan: &'a StepPlan,
    /// The progress before this round.
    pub(crate) progress: ToolProgress,
}

/// What a round leaves behind.
pub(crate) struct RoundResult {
    /// The calls as one entry, then their outputs in call order.
    pub(crate) entries: Vec<Entry>,
    /// The progress after this round.
    pub(crate) progress: ToolProgress,
}

enum Admission<'a> {
    /// The built-in tool: answered here, invisible outside.
    RespondDirectly,
    Refused(String),
    Admitted(&'a Tool),
}

/// An admitted call that has ended.
struct Ended {
    index: usize,
    call: Arc<ToolCall>,
    output: ToolOutput,
    duration: Duration,
    /// The client was asked, and has not answered in time.
    is_abandoned: bool,
}

impl Round<'_> {
    /// Plays the calls of one step. Records go to `records` in the order of completion.
    pub(crate) async fn play(
        &self,
        calls: Vec<ModelToolCall>,
        host: &mut dyn TurnHost,
        records: &mut Vec<Arc<ToolRecord>>,
    ) -> RoundResult {
        let calls = with_unique_ids(calls);
        let mut progress = ToolProgress { rounds: self.progress.rounds + 1, ..self.progress };
        progress.responds_directly |= calls.iter().all(|call| self.is_respond_directly(call));

        let mut outputs: Vec<Option<String>> = vec![None; calls.len()];
        let mut running = FuturesUnordered::new();
        for (index, call) in calls.iter().enumerate() {
            let admission = self.admit(call, progress.calls);
            if !matches!(admission, Admission::RespondDirectly) {
                progress.calls += 1;
            }
            match admission {
                Admission::RespondDirectly => outputs[index] = Some(REPLY_NOW.to_owned()),
                Admission::Refused(message) => {
                    let output = ToolOutput::Error(message);
                    outputs[index] = Some(output.model_text());
                    complete(public_call(call), output, Duration::ZERO, host, records);
                }
                Admission::Admitted(tool) => running.push(start(index, tool, public_call(call), host)),
            }
        }
        while let Some(Ended { index, call, output, duration, is_abandoned }) = running.next().await {
            let text = output.model_text();
            complete(Arc::clone(&call), output, duration, host, records);
            if is_abandoned {
                host.abandon_client_call(&call, &text);
            }
            outputs[index] = Some(text);
        }
        RoundResult { entries: entries(calls, outputs), progress }
    }

    fn is_respond_directly(&self, call: &ModelToolCall) -> bool {
        self.policy.choice == ToolChoice::Explicit && call.name == RESPOND_DIRECTLY
    }

    fn admit(&self, call: &ModelToolCall, calls_so_far: u32) -> Admission<'_> {
        if self.is_respond_directly(call) {
            return Admission::RespondDirectly;
        }
        if calls_so_far >= self.policy.max_tool_calls || self.progress.rounds >= self.policy.max_tool_rounds {
            return Admission::Refused(BUDGET_SPENT.to_owned());
        }
        if self.plan.mode == ToolMode::Disallowed {
            return Admission::Refused(TOOLS_OFF.to_owned());
        }
        let Some(tool) = self.tools.iter().find(|tool| *tool.name() == *call.name) else {
            return Admission::Refused(format!("There is no tool '{}'. {}", call.name, self.available()));
        };
        if !self.plan.shows(&call.name) {
            return Admission::Refused(format!(
                "Tool '{}' is not available in this step. {}",
                call.name,
                self.available()
            ));
        }
        if tool.is_lenient {
            return Admission::Admitted(tool);
        }
        match tool.definition.parameters.validate_object(&call.arguments) {
            Ok(()) => Admission::Admitted(tool),
            Err(reason) => {
                Admission::Refused(format!("The arguments of '{}' do not fit: {reason}", call.name))
            }
        }
    }

    fn available(&self) -> String {
        let names: Vec<_> = self.plan.tools.iter().map(|tool| tool.name.as_str()).collect();
        format!("Available tools: {}.", names.join(", "))
    }
}

fn public_call(call: &ModelToolCall) -> Arc<ToolCall> {
    Arc::new(ToolCall { id: CallId::random(), name: call.name.clone(), arguments: call.arguments.clone() })
}

/// Starts an admitted call. The future ends with its output, at the tool's time limit at the latest.
fn start(
    index: usize,
    tool: &Tool,
    call: Arc<ToolCall>,
    host: &mut dyn TurnHost,
) -> BoxFuture<'static, Ended> {
    let execution = match tool.executor {
        ToolExecutor::Client => Execution::Client,
        ToolExecutor::Local(_) => Execution::Local,
    };
    host.event(TurnEvent::ToolCallStarted { call: Arc::clone(&call), execution });
    let (since, limit) = (Instant::now(), tool.timeout);
    let output: BoxFuture<'static, ToolOutput> = match &tool.executor {
        ToolExecutor::Client => {
            let answer = host.call_client(&call);
            Box::pin(async move {
                answer.await.unwrap_or_else(|_| ToolOutput::Error("The tool call was cancelled.".to_owned()))
            })
        }
        ToolExecutor::Local(function) => function(Arc::clone(&call)),
    };
    Box::pin(async move {
        let in_time = match limit {
            Some(limit) => tokio::time::timeout(limit, output).await.map_err(|_| limit),
            None => Ok(output.await),
        };
        let is_abandoned = in_time.is_err() && execution == Execution::Client;
        let output = in_time.unwrap_or_else(|limit| {
            ToolOutput::Error(format!("Tool '{}' timed out after {}.", call.name, duration_text(limit)))
        });
        Ended { index, call, output, duration: since.elapsed(), is_abandoned }
    })
}

fn complete(
    call: Arc<ToolCall>,
    output: ToolOutput,
    duration: Duration,
    host: &mut dyn TurnHost,
    records: &mut Vec<Arc<ToolRecord>>,
) {
    let record = Arc::new(ToolRecord { call, output, duration });
    records.push(Arc::clone(&record));
    host.event(TurnEvent::ToolCallCompleted { record });
}

/// Outputs are tied to calls by id, so two calls of a round must not share one.
fn with_unique_ids(mut calls: Vec<ModelToolCall>) -> Vec<ModelToolCall> {
    if calls.len() > 1 {
        let mut seen = HashSet::with_capacity(calls.len());
        for call in &mut calls {
            if !seen.insert(call.id.clone()) {
                call.id = CallId::random().to_string();
            }
        }
    }
    calls
}

fn entries(calls: Vec<ModelToolCall>, outputs: Vec<Option<String>>) -> Vec<Entry> {
    let outputs: Vec<_> = calls
        .iter()
        .zip(outputs)
        .map(|(call, text)| Entry::tool_output(&call.id, call.name.clone(), text.unwrap_or_default()))
        .collect();
    let calls = calls
        .into_iter()
        .map(|ModelToolCall { id, name, arguments }| ToolCallEntry { id, name, arguments })
        .collect();
    std::iter::once(Entry { id: EntryId::random(), content: EntryContent::ToolCalls(calls) })
        .chain(outputs)
        .collect()
}

/// A time limit as people write it: `120s`, `200ms`, `1s 500ms`.
fn duration_text(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        (0, millis) => format!("{millis}ms"),
        (seconds, millis) => format!("{seconds}s {millis}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (millis, text) in [(120_000, "120s"), (200, "200ms"), (1_500, "1s 500ms"), (0, "0s")] {
            assert_eq!(duration_text(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn calls_of_a_round_never_share_an_id() {
        let call = |id: &str| ModelToolCall {
            id: id.to_owned(),
            name: "a".to_owned(),
            arguments: serde_json::Map::new(),
        };
        let ids: Vec<_> =
            with_unique_ids(vec![call("x"), call("x"), call("y")]).into_iter().map(|call| call.id).collect();
        assert_eq!((ids[0].as_str(), ids[2].as_str()), ("x", "y"));
        assert_ne!(ids[1], "x");
    }
}
