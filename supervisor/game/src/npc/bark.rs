//! Barks: a word in passing, beside any conversation and without a trace in it.

use oam_agent::{AgentError, AgentOptions, ErrorCode, ModelError, NoHost};
use serde_json::Value;

use super::Npc;
use crate::{instructions::bark_instructions, line::LineCleaner, one_off::Question, prompt};

impl Npc {
    /// Has the character say one short line about `situation`: text, or any JSON. It is not part of the conversation,
    /// uses neither memory nor tools, and runs beside turns. Errors are returned as they are, guardrails included:
    /// then there is just no bark.
    pub async fn bark(&self, situation: Option<&Value>) -> Result<String, AgentError> {
        let (persona, options) = {
            let character = self.character();
            (character.persona.clone(), character.options.clone())
        };
        let question = Question {
            model: self.inner.agent.model(),
            instructions: bark_instructions(&persona, &options),
            prompt: prompt::bark_prompt(&self.game_state(&options), situation),
            tools: &[],
            options: AgentOptions {
                generation: options.bark_generation(),
                max_attempts: 1,
                ..AgentOptions::default()
            },
            schema: None,
            is_lenient: false,
        };
        let answer = question.ask(&mut NoHost).await?;
        let line = LineCleaner::new(&persona.name).clean_bark(&answer.text);
        if line.is_empty() {
            let message = format!("The model gave {} nothing to say.", persona.name);
            return Err(ModelError::new(ErrorCode::GenerationFailed, message).into());
        }
        Ok(line.to_owned())
    }
}
