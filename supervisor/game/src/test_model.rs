//! A scripted model that tells what it was asked.

use std::sync::{Arc, Mutex};

use oam_agent::{
    BoxFuture, Model, ModelError, ModelLayer, Script, ScriptedModel, StepOutcome, StepRequest, StepSink,
    Tool, ToolDefinition, ToolName, ToolOutput,
};
use serde_json::{Value, json};

pub(crate) struct TestModel {
    script: ScriptedModel,
    requests: Mutex<Vec<StepRequest>>,
}

impl TestModel {
    /// Plays `steps`, an array.
    pub(crate) fn new(steps: &Value) -> Arc<Self> {
        let script = Script::from_steps_or_object(steps, "").expect("a valid script");
        Arc::new(Self { script: ScriptedModel::new(script), requests: Mutex::default() })
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<StepRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Instructions, prompt and schema of the first request.
    pub(crate) fn first_seen(&self) -> String {
        let request = self.requests().into_iter().next().expect("the model was asked");
        let schema = request.schema.as_ref().map(|schema| schema.json().clone()).unwrap_or_default();
        format!(
            "{}\n---\n{}\n---\n{}",
            request.instructions.as_deref().unwrap_or_default(),
            request.transcript.last_prompt_text(),
            serde_json::to_string_pretty(&schema).unwrap()
        )
    }
}

/// A local tool without parameters.
pub(crate) fn tool(name: &str, output: &'static str) -> Tool {
    let name = ToolName::new(name).expect("a valid name");
    let definition = ToolDefinition::from_json_schema(name, "Looks.", &json!({"type": "object"})).unwrap().0;
    Tool::local(definition, async move |_| ToolOutput::Text(output.to_owned()))
}

impl ModelLayer for TestModel {
    fn below(&self) -> &dyn Model {
        &self.script
    }

    fn pass_step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.script.step(request, sink)
    }
}
