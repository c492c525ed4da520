//! Questions to a model outside of any conversation: each a fresh agent that lives for one turn.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, GenerationOptions, Model, Tool, ToolChoice, ToolPolicy,
    TurnHost, TurnOptions, TurnResponse, json_text, schema::GenerationSchema,
};
use serde_json::Value;

/// What is asked, of whom, and how.
pub(crate) struct Question<'a> {
    pub(crate) model: &'a Arc<dyn Model>,
    pub(crate) instructions: String,
    pub(crate) temperature: Option<f64>,
    pub(crate) tools: &'a [Tool],
    pub(crate) policy: ToolPolicy,
    pub(crate) prompt: String,
    pub(crate) schema: Arc<GenerationSchema>,
    /// Whether an answer counts that does not fit the schema.
    pub(crate) is_lenient: bool,
}

impl Question<'_> {
    /// Asks. Dropping the future cancels the question.
    pub(crate) async fn ask(self, host: &mut dyn TurnHost) -> Result<TurnResponse, AgentError> {
        let mut policy = self.policy;
        if self.tools.is_empty() {
            policy.choice = ToolChoice::None;
        }
        let generation = GenerationOptions { temperature: self.temperature, ..GenerationOptions::default() };
        let setup = AgentSetup {
            instructions: Some(self.instructions.into()),
            tools: self.tools.into(),
            options: AgentOptions { policy, generation, ..AgentOptions::default() },
            ..AgentSetup::default()
        };
        let agent = Agent::new(Arc::clone(self.model), setup)?;
        let options =
            TurnOptions { schema: Some(self.schema), is_lenient: self.is_lenient, ..TurnOptions::default() };
        agent.respond_with(&self.prompt, &options, host).await
    }
}

/// The line of a prompt that tells what the game knows; nothing for `null`.
pub(crate) fn facts(context: &Value) -> Option<String> {
    (!context.is_null()).then(|| format!("Facts: {}", json_text::compact(context)))
}
