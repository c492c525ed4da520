//! Barks: a word in passing, beside any conversation and without a trace in it.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, ErrorCode, ModelError, ToolChoice, ToolPolicy, TurnOptions,
};
use serde_json::Value;

use super::Npc;
use crate::{instructions::bark_instructions, line::LineCleaner, prompt};

impl Npc {
    /// Has the character say one short line about `situation`: text, or any JSON. It is not part of the conversation,
    /// uses neither memory nor tools, and runs beside turns. Errors are returned as they are, guardrails included:
    /// then there is just no bark.
    pub async fn bark(&self, situation: Option<&Value>) -> Result<String, AgentError> {
        let (setup, prompt, name) = {
            let character = self.character();
            let options = &character.options;
            let setup = AgentSetup {
                instructions: Some(bark_instructions(&character.persona, options).into()),
                options: AgentOptions {
                    policy: ToolPolicy { choice: ToolChoice::None, ..ToolPolicy::default() },
                    generation: options.bark_generation(),
                    max_attempts: 1,
                    ..AgentOptions::default()
                },
                ..AgentSetup::default()
            };
            let prompt = prompt::bark_prompt(&character.game_state(self.inner.world.as_ref()), situation);
            (setup, prompt, character.persona.name.clone())
        };
        let agent = Agent::new(Arc::clone(self.inner.agent.model()), setup)?;
        let answer = agent.respond(&prompt, &TurnOptions::default()).await?;
        let line = LineCleaner::new(&name).clean_bark(&answer.text);
        if line.is_empty() {
            let message = format!("The model gave {name} nothing to say.");
            return Err(ModelError::new(ErrorCode::GenerationFailed, message).into());
        }
        Ok(line.to_owned())
    }
}
