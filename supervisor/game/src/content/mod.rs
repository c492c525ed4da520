//! Content in the form of a schema: items, quests, rumours, loot. [`wording`] is what the model reads.

#[cfg(test)]
mod tests;
mod wording;

use std::sync::Arc;

use oam_agent::{
    AgentError, AgentOptions, GenerationOptions, Model, Tool, TurnHost, schema::GenerationSchema,
};
use serde_json::Value;

use crate::one_off::Question;

/// Writes content (docs/PROTOCOL.md, `content/generate`). Each piece is a fresh session, so a generator keeps nothing.
#[derive(Debug, Clone)]
pub struct ContentGenerator {
    /// Who writes.
    pub model: Arc<dyn Model>,
    /// Replace the built-in instructions, unless blank.
    pub instructions: Option<String>,
    /// At least 0; `None` leaves it to the model.
    pub temperature: Option<f64>,
}

/// What is to be written.
#[derive(Debug, Clone)]
pub struct ContentRequest {
    /// `A cursed sword found in a drowned temple.`
    pub prompt: String,
    /// The form of the content.
    pub schema: Arc<GenerationSchema>,
    /// Facts that bear on the content. `null` tells nothing.
    pub context: Option<Value>,
    /// What the model may call first.
    pub tools: Vec<Tool>,
}

impl ContentGenerator {
    /// A generator with the built-in instructions.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, instructions: None, temperature: None }
    }

    /// Writes one piece: a value that fits the schema, members in its order. Client tools go to `host`; dropping the
    /// future cancels the generation.
    ///
    /// Fails as a turn of an [`Agent`](oam_agent::Agent) does; guardrails that block the content are such a failure.
    pub async fn generate(
        &self,
        request: &ContentRequest,
        host: &mut dyn TurnHost,
    ) -> Result<Value, AgentError> {
        let question = Question {
            model: &self.model,
            instructions: wording::instructions(self.instructions.as_deref()),
            prompt: wording::prompt(request),
            tools: &request.tools,
            options: AgentOptions {
                generation: GenerationOptions {
                    temperature: self.temperature,
                    ..GenerationOptions::default()
                },
                ..AgentOptions::default()
            },
            schema: Some(Arc::clone(&request.schema)),
            is_lenient: false,
        };
        // A turn with a schema has a structured answer.
        Ok(question.ask(host).await?.structured.unwrap_or_default())
    }
}
