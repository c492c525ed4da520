//! Questions to a model outside of any conversation: each a fresh agent that lives for one turn.

use std::sync::Arc;

use oam_agent::{
    Agent, AgentError, AgentOptions, AgentSetup, Model, Tool, ToolChoice, TurnHost, TurnOptions,
    TurnResponse, json_text, schema::GenerationSchema,
};
use serde_json::Value;

/// What is asked, of whom, and how.
pub(crate) struct Question<'a> {
    pub(crate) model: &'a Arc<dyn Model>,
    pub(crate) instructions: String,
    pub(crate) prompt: String,
    pub(crate) tools: &'a [Tool],
    pub(crate) options: AgentOptions,
    /// The form of the answer, if it is to be structured.
    pub(crate) schema: Option<Arc<GenerationSchema>>,
    /// Whether an answer counts that does not fit the schema.
    pub(crate) is_lenient: bool,
}

impl Question<'_> {
    /// Asks. Dropping the future cancels the question.
    pub(crate) async fn ask(self, host: &mut dyn TurnHost) -> Result<TurnResponse, AgentError> {
        let Self { model, instructions, prompt, tools, mut options, schema, is_lenient } = self;
        if tools.is_empty() {
            options.policy.choice = ToolChoice::None;
        }
        let setup = AgentSetup {
            instructions: Some(instructions.into()),
            tools: tools.into(),
            options,
            ..AgentSetup::default()
        };
        let agent = Agent::new(Arc::clone(model), setup)?;
        let turn = TurnOptions { schema, is_lenient, ..TurnOptions::default() };
        agent.respond_with(&prompt, &turn, host).await
    }
}

/// The line of a prompt that tells what the game knows; nothing for `null`.
pub(crate) fn facts(context: &Value) -> Option<String> {
    (!context.is_null()).then(|| format!("Facts: {}", json_text::compact(context)))
}
