//! One round of tool calls: each call is admitted or refused, admitted calls run side by side, and every call
//! ends in exactly one output that the model reads.
//!
//! A refusal is an error output, so a model that calls wrongly can recover; nothing goes out to the client.
//!
//! Where client calls are [left pending](ClientCalls::LeftPending) a round may end without all outputs: the other calls
//! run to their end, and the turn is [suspended](crate::SuspendedTurn).

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{
    aside,
    call_ids::CallIds,
    event::{Execution, TurnEvent},
    host::TurnHost,
    model::{BoxFuture, ModelToolCall, ToolMode},
    schema::GenerationSchema,
    steering::{StepPlan, ToolChoice, ToolPolicy, ToolProgress},
    suspension::RoundCall,
    tool::{RESPOND_DIRECTLY, Tool, ToolCall, ToolExecutor, ToolOutput, ToolRecord},
    transcript::{Entry, ToolCallEntry},
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
    pub(crate) call_ids: CallIds,
    pub(crate) client_calls: ClientCalls,
}

/// What becomes of a round's client calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientCalls {
    /// The host is asked, and its answers are waited for.
    Asked,
    /// They end the turn as soon as the other calls have ended.
    LeftPending,
}

/// What a round leaves behind.
pub(crate) struct RoundResult {
    pub(crate) calls: Vec<ToolCallEntry>,
    pub(crate) end: RoundEnd,
    /// The progress after this round.
    pub(crate) progress: ToolProgress,
}

/// How a round ended.
pub(crate) enum RoundEnd {
    /// The outputs, in call order.
    Complete(Vec<Entry>),
    /// Calls of the client are pending. In call order, without those of `respond_directly`.
    Pending(Vec<RoundCall>),
}

/// What became of one call.
enum CallEnd {
    RespondDirectly,
    Completed(Arc<ToolRecord>),
    Pending(Arc<ToolCall>),
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
    /// Plays the calls of one step, whose ids differ. Records go to `records` in the order of completion.
    pub(crate) async fn play(
        &self,
        calls: Vec<ModelToolCall>,
        host: &mut dyn TurnHost,
        records: &mut Vec<Arc<ToolRecord>>,
    ) -> RoundResult {
        let mut progress = ToolProgress { rounds: self.progress.rounds + 1, ..self.progress };
        progress.responds_directly |= calls.iter().all(|call| self.is_respond_directly(call));

        // All of them before the first one starts: a call that runs must not wait for the check of another.
        let mut admissions = Vec::with_capacity(calls.len());
        for call in &calls {
            let admission = self.admit(call, progress.calls).await;
            if !matches!(admission, Admission::RespondDirectly) {
                progress.calls += 1;
            }
            admissions.push(admission);
        }
        let mut ends: Vec<(usize, CallEnd)> = Vec::with_capacity(calls.len());
        let mut running = FuturesUnordered::new();
        for (index, (call, admission)) in calls.iter().zip(admissions).enumerate() {
            match admission {
                Admission::RespondDirectly => ends.push((index, CallEnd::RespondDirectly)),
                Admission::Refused(message) => {
                    let output = ToolOutput::Error(message);
                    let record = complete(self.public_call(call), output, Duration::ZERO, host, records);
                    ends.push((index, CallEnd::Completed(record)));
                }
                Admission::Admitted(tool) => {
                    let call = self.public_call(call);
                    let execution = tool.executor.execution();
                    host.event(TurnEvent::ToolCallStarted { call: Arc::clone(&call), execution });
                    if execution == Execution::Client && self.client_calls == ClientCalls::LeftPending {
                        ends.push((index, CallEnd::Pending(call)));
                    } else {
                        running.push(start(index, tool, call, host));
                    }
                }
            }
        }
        while let Some(Ended { index, call, output, duration, is_abandoned }) = running.next().await {
            let record = complete(call, output, duration, host, records);
            if is_abandoned {
                host.abandon_client_call(&record.call, &record.output.model_text());
            }
            ends.push((index, CallEnd::Completed(record)));
        }
        ends.sort_unstable_by_key(|(index, _)| *index);
        let ends: Vec<_> = ends.into_iter().map(|(_, end)| end).collect();
        let outputs: Option<Vec<_>> =
            calls.iter().zip(&ends).map(|(call, end)| output_entry(call, end)).collect();
        let end = match outputs {
            Some(outputs) => RoundEnd::Complete(outputs),
            None => RoundEnd::Pending(ends.into_iter().filter_map(round_call).collect()),
        };
        RoundResult { calls: calls.into_iter().map(saved_call).collect(), end, progress }
    }

    fn public_call(&self, call: &ModelToolCall) -> Arc<ToolCall> {
        let ModelToolCall { id, name, arguments } = call;
        let id = self.call_ids.public(id);
        Arc::new(ToolCall { id, name: name.clone(), arguments: arguments.clone() })
    }

    fn is_respond_directly(&self, call: &ModelToolCall) -> bool {
        self.policy.choice == ToolChoice::Explicit && call.name == RESPOND_DIRECTLY
    }

    async fn admit(&self, call: &ModelToolCall, calls_so_far: u32) -> Admission<'_> {
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
        match check_arguments(&tool.definition.parameters, &call.arguments).await {
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

async fn check_arguments(
    parameters: &GenerationSchema,
    arguments: &Map<String, Value>,
) -> Result<(), String> {
    let (parameters, arguments) = (parameters.clone(), Value::Object(arguments.clone()));
    let may_take_long = parameters.is_large_for_value(&arguments);
    let checked = aside::run(may_take_long, move || parameters.validate(&arguments)).await;
    checked.unwrap_or_else(|| Err("They were not checked any more.".to_owned()))
}

/// Starts an admitted call. The future ends with its output, at the tool's time limit at the latest.
fn start(
    index: usize,
    tool: &Tool,
    call: Arc<ToolCall>,
    host: &mut dyn TurnHost,
) -> BoxFuture<'static, Ended> {
    let (since, limit, execution) = (Instant::now(), tool.timeout, tool.executor.execution());
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
) -> Arc<ToolRecord> {
    let record = Arc::new(ToolRecord { call, output, duration });
    records.push(Arc::clone(&record));
    host.event(TurnEvent::ToolCallCompleted { record: Arc::clone(&record) });
    record
}

fn saved_call(ModelToolCall { id, name, arguments }: ModelToolCall) -> ToolCallEntry {
    ToolCallEntry { id, name, arguments }
}

/// None while the call is pending.
fn output_entry(call: &ModelToolCall, end: &CallEnd) -> Option<Entry> {
    let text = match end {
        CallEnd::Completed(record) => record.output.model_text(),
        CallEnd::RespondDirectly => REPLY_NOW.to_owned(),
        CallEnd::Pending(_) => return None,
    };
    Some(Entry::tool_output(&call.id, call.name.clone(), text))
}

fn round_call(end: CallEnd) -> Option<RoundCall> {
    match end {
        CallEnd::RespondDirectly => None,
        CallEnd::Completed(record) => Some(RoundCall::Completed(record)),
        CallEnd::Pending(call) => Some(RoundCall::Pending(call)),
    }
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
}
