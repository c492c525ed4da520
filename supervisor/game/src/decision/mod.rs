//! Decisions: the model picks one of a fixed set of options for a character and says why.
//!
//! Each decision is a fresh session, so an engine keeps nothing and decides for a whole crowd at once. The model is
//! held to the ids of the options, and what it says is read leniently all the same: not every model can be held to
//! anything. [`options`] is what can be chosen, [`wording`] what the model reads.

mod options;
#[cfg(test)]
mod tests;
mod wording;

use std::{num::NonZeroUsize, sync::Arc};

use futures_util::{StreamExt, stream};
use oam_agent::{
    AgentError, AgentOptions, ErrorCode, GenerationOptions, Model, ModelError, Tool, ToolChoice, ToolPolicy,
    ToolRecord, TurnHost, TurnResponse, Usage, json_text, schema::GenerationSchema,
};
use serde::Serialize;
use serde_json::Value;

pub use options::{DecisionOption, DecisionOptions, InvalidOptions, OptionId};

use crate::{one_off::Question, persona::Persona};

/// Makes decisions (docs/PROTOCOL.md, `decision/decide`).
#[derive(Debug, Clone)]
pub struct DecisionEngine {
    /// Who decides.
    pub model: Arc<dyn Model>,
    /// Replace the built-in instructions, unless blank.
    pub instructions: Option<String>,
    /// At least 0; `None` leaves it to the model.
    pub temperature: Option<f64>,
    /// How many steps of a decision may call tools.
    pub max_tool_rounds: u32,
}

/// What is to be decided.
#[derive(Debug, Clone)]
pub struct DecisionRequest {
    /// What is going on, as the actor sees it; may be blank.
    pub situation: String,
    /// What can be chosen.
    pub options: DecisionOptions,
    /// Who the decision is made for. The model is told of name, role, personality and goals, never of secrets.
    pub actor: Option<Persona>,
    /// Facts that bear on the decision. `null` and `{}` tell nothing.
    pub context: Option<Value>,
    /// What the model may call before it decides.
    pub tools: Vec<Tool>,
    /// Whether it must.
    pub tool_choice: ToolChoice,
}

/// What was decided. Serializes as the result of `decision/decide`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The chosen option.
    #[serde(rename = "optionID")]
    pub option: OptionId,
    /// The model's reason; empty in a fallback.
    pub reasoning: String,
    /// How sure the model is, from 0 to 100; 0 in a fallback.
    pub confidence: u8,
    /// The calls made on the way, in the order of their completion; none in a fallback.
    pub tool_calls: Vec<Arc<ToolRecord>>,
    /// The tokens used; none in a fallback.
    pub usage: Usage,
    /// Guardrails or the model itself refused, and the fallback option stands in.
    pub is_fallback: bool,
}

/// Tool calls that one decision may make.
const MAX_TOOL_CALLS: u32 = 12;

/// What a model is taken to feel that tells no confidence.
const UNTOLD_CONFIDENCE: u8 = 50;

impl DecisionEngine {
    /// What the model is told when [`instructions`](Self::instructions) do not replace it.
    pub const BUILT_IN_INSTRUCTIONS: &str = wording::DEFAULT_INSTRUCTIONS;

    /// An engine with the built-in instructions and two rounds of tool calls.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, instructions: None, temperature: None, max_tool_rounds: 2 }
    }

    /// Decides. A single option is chosen without asking the model. Client tools go to `host`; dropping the future
    /// cancels the decision.
    ///
    /// Fails as a turn of an [`Agent`](oam_agent::Agent) does, and with `generation_failed` when the model chooses what
    /// is no option.
    pub async fn decide(
        &self,
        request: &DecisionRequest,
        host: &mut dyn TurnHost,
    ) -> Result<Decision, AgentError> {
        if let Some(only) = request.options.only() {
            return Ok(Decision::without_model(only, wording::ONLY_OPTION, 100));
        }
        match (self.ask(request, host).await, request.options.fallback()) {
            (Ok(response), _) => Decision::read(response, &request.options),
            (Err(error), Some(fallback)) if error.is_blocked() => {
                Ok(Decision { is_fallback: true, ..Decision::without_model(fallback, "", 0) })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Makes many decisions, at most `max_concurrency` at a time, started in the order of the requests. The results
    /// are in that order too, and none affects the others. `host` makes the host of each, given its index.
    pub async fn decide_many<H: TurnHost>(
        &self,
        requests: &[DecisionRequest],
        max_concurrency: NonZeroUsize,
        host: impl Fn(usize) -> H,
    ) -> Vec<Result<Decision, AgentError>> {
        let host = &host;
        let decisions = (0..requests.len()).map(|index| async move {
            let mut host = host(index);
            (index, self.decide(&requests[index], &mut host).await)
        });
        // Unordered: a decision that takes long must not keep later ones from starting.
        let decisions = stream::iter(decisions).buffer_unordered(max_concurrency.get());
        let mut results: Vec<_> = decisions.collect().await;
        results.sort_unstable_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    async fn ask(
        &self,
        request: &DecisionRequest,
        host: &mut dyn TurnHost,
    ) -> Result<TurnResponse, AgentError> {
        let schema = GenerationSchema::from_json_schema(&wording::schema(&request.options), "Decision")
            .map_err(|error| ModelError::new(ErrorCode::InvalidSchema, error.to_string()))?;
        let question = Question {
            model: &self.model,
            instructions: wording::instructions(self.instructions.as_deref(), request.actor.as_ref()),
            prompt: wording::prompt(request),
            tools: &request.tools,
            options: AgentOptions {
                policy: ToolPolicy {
                    choice: request.tool_choice.clone(),
                    max_tool_rounds: self.max_tool_rounds,
                    max_tool_calls: MAX_TOOL_CALLS,
                    enabled_tools: None,
                },
                generation: GenerationOptions {
                    temperature: self.temperature,
                    ..GenerationOptions::default()
                },
                ..AgentOptions::default()
            },
            schema: Some(Arc::new(schema.schema)),
            is_lenient: true,
        };
        question.ask(host).await
    }
}

impl Decision {
    fn without_model(option: &OptionId, reasoning: &str, confidence: u8) -> Self {
        Self {
            option: option.clone(),
            reasoning: reasoning.to_owned(),
            confidence,
            tool_calls: Vec::new(),
            usage: Usage::default(),
            is_fallback: false,
        }
    }

    /// Reads what the model answered.
    fn read(response: TurnResponse, options: &DecisionOptions) -> Result<Self, AgentError> {
        let answer = response.structured.unwrap_or_default();
        let choice = &answer["choice"];
        let option = choice.as_str().and_then(|choice| options.meant_by(choice)).ok_or_else(|| {
            let message = format!("The model chose {}, which is no option.", json_text::abridged(choice));
            ModelError::new(ErrorCode::GenerationFailed, message)
        })?;
        Ok(Self {
            option: option.clone(),
            reasoning: answer["reasoning"].as_str().unwrap_or_default().to_owned(),
            confidence: answer["confidence"].as_f64().map_or(UNTOLD_CONFIDENCE, percentage),
            tool_calls: response.tool_calls,
            usage: response.usage,
            is_fallback: false,
        })
    }
}

/// The nearest whole percentage.
fn percentage(number: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    let percentage = number.clamp(0.0, 100.0).round() as u8;
    percentage
}
