//! What the model may do in the next step: a pure rule over the turn's policy and its progress so far.
//!
//! A choice such as `required` speaks only of the first step; afterwards the model calls tools freely until a
//! budget is spent. Budgets come before forcing, and a step that must not call tools does not show them either,
//! because small models stall when they see tools they cannot use.

use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{
    model::ToolMode,
    tool::{RESPOND_DIRECTLY, Tool, ToolDefinition, ToolName},
};

/// Which tool the model must call in the first step of a turn, if any (docs/PROTOCOL.md, tool choice).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// Tools are off and hidden.
    None,
    /// Some tool.
    Required,
    /// Some tool, or the built-in `respond_directly`, which ends tool use.
    Explicit,
    /// This tool.
    Tool(String),
}

/// As requests write it: `"auto"`, or `{"tool": "look"}`.
impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Required => "required",
            Self::Explicit => "explicit",
            Self::Tool(tool) => return json!({"tool": tool}).serialize(serializer),
        };
        serializer.serialize_str(name)
    }
}

/// How a turn may use tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    /// What is asked of the first step.
    pub choice: ToolChoice,
    /// How many steps may call tools; afterwards the model must answer.
    pub max_tool_rounds: u32,
    /// How many calls are executed; further ones get an error output.
    pub max_tool_calls: u32,
    /// The tools that may be used; `None` means all. Unknown names enable nothing.
    pub enabled_tools: Option<Vec<String>>,
}

impl Default for ToolPolicy {
    fn default() -> Self {
        Self { choice: ToolChoice::Auto, max_tool_rounds: 4, max_tool_calls: 12, enabled_tools: None }
    }
}

/// How far a turn has come with its tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToolProgress {
    /// Steps that called tools, `respond_directly` included.
    pub(crate) rounds: u32,
    /// Calls made, `respond_directly` not included.
    pub(crate) calls: u32,
    /// A round consisted only of `respond_directly`.
    pub(crate) responds_directly: bool,
}

/// What a step may do.
#[derive(Debug, Clone)]
pub(crate) struct StepPlan {
    pub(crate) mode: ToolMode,
    /// The visible tools of the agent, in definition order.
    pub(crate) tools: Vec<Arc<ToolDefinition>>,
    /// Whether `respond_directly` is visible too.
    pub(crate) offers_respond_directly: bool,
}

impl StepPlan {
    fn disallowed() -> Self {
        Self { mode: ToolMode::Disallowed, tools: Vec::new(), offers_respond_directly: false }
    }

    /// The tools as the model sees them.
    pub(crate) fn model_tools(&self) -> Vec<Arc<ToolDefinition>> {
        let mut tools = self.tools.clone();
        if self.offers_respond_directly {
            tools.push(Arc::clone(&RESPOND_DIRECTLY_TOOL));
        }
        tools
    }

    pub(crate) fn shows(&self, tool: &str) -> bool {
        self.tools.iter().any(|definition| definition.name == *tool)
    }
}

/// Decides the next step of a turn.
pub(crate) fn plan(policy: &ToolPolicy, tools: &[Tool], progress: ToolProgress) -> StepPlan {
    let budget_spent = progress.rounds >= policy.max_tool_rounds || progress.calls >= policy.max_tool_calls;
    if tools.is_empty() || policy.choice == ToolChoice::None || progress.responds_directly || budget_spent {
        return StepPlan::disallowed();
    }
    let enabled = |name: &ToolName| {
        policy.enabled_tools.as_ref().is_none_or(|names| names.iter().any(|enabled| *name == **enabled))
    };
    let first_step = progress.rounds == 0;
    let (mode, only) = match &policy.choice {
        ToolChoice::Required | ToolChoice::Explicit if first_step => (ToolMode::Required, None),
        ToolChoice::Tool(name) if first_step => (ToolMode::Required, Some(name)),
        _ => (ToolMode::Allowed, None),
    };
    let visible: Vec<_> = tools
        .iter()
        .filter(|tool| enabled(tool.name()) && only.is_none_or(|only| *tool.name() == **only))
        .map(|tool| Arc::clone(&tool.definition))
        .collect();
    if visible.is_empty() {
        return StepPlan::disallowed();
    }
    let offers_respond_directly = first_step && policy.choice == ToolChoice::Explicit;
    StepPlan { mode, tools: visible, offers_respond_directly }
}

static RESPOND_DIRECTLY_TOOL: LazyLock<Arc<ToolDefinition>> = LazyLock::new(|| {
    let name = ToolName::new(RESPOND_DIRECTLY).expect("the built-in name is valid");
    let description = "Reply at once from the conversation, when nothing has to be looked up or done first.";
    let parameters = json!({"type": "object", "properties": {}});
    let (definition, _) = ToolDefinition::from_json_schema(name, description, &parameters)
        .expect("an object without properties is a valid schema");
    Arc::new(definition)
});

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<Tool> {
        names
            .iter()
            .map(|name| {
                let name = ToolName::new(name).unwrap();
                Tool::client(
                    ToolDefinition::from_json_schema(name, "", &json!({"type": "object"})).unwrap().0,
                )
            })
            .collect()
    }

    fn policy(choice: ToolChoice) -> ToolPolicy {
        ToolPolicy { choice, ..ToolPolicy::default() }
    }

    /// The plan in short: mode and visible tools, with `+` for `respond_directly`.
    fn planned(policy: &ToolPolicy, names: &[&str], progress: ToolProgress) -> String {
        let plan = plan(policy, &tools(names), progress);
        let tools: Vec<_> = plan.tools.iter().map(|tool| tool.name.to_string()).collect();
        let direct = if plan.offers_respond_directly { " +" } else { "" };
        format!("{} {}{direct}", plan.mode.as_str(), tools.join(","))
    }

    #[test]
    fn a_choice_rules_the_first_step_only() {
        let first = ToolProgress::default();
        let second = ToolProgress { rounds: 1, calls: 1, responds_directly: false };
        let cases = [
            (ToolChoice::Auto, "allowed a,b", "allowed a,b"),
            (ToolChoice::None, "disallowed ", "disallowed "),
            (ToolChoice::Required, "required a,b", "allowed a,b"),
            (ToolChoice::Explicit, "required a,b +", "allowed a,b"),
            (ToolChoice::Tool("b".into()), "required b", "allowed a,b"),
            (ToolChoice::Tool("ghost".into()), "disallowed ", "allowed a,b"),
        ];
        for (choice, on_first, on_second) in cases {
            let policy = policy(choice);
            assert_eq!(planned(&policy, &["a", "b"], first), on_first, "{policy:?}");
            assert_eq!(planned(&policy, &["a", "b"], second), on_second, "{policy:?}");
        }
    }

    #[test]
    fn without_tools_nothing_can_be_forced() {
        for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::Explicit] {
            assert_eq!(planned(&policy(choice), &[], ToolProgress::default()), "disallowed ");
        }
    }

    #[test]
    fn a_spent_budget_comes_before_forcing() {
        let none = ToolProgress::default();
        let required = policy(ToolChoice::Required);
        let no_rounds = ToolPolicy { max_tool_rounds: 0, ..required.clone() };
        let no_calls = ToolPolicy { max_tool_calls: 0, ..required.clone() };
        assert_eq!(planned(&no_rounds, &["a"], none), "disallowed ");
        assert_eq!(planned(&no_calls, &["a"], none), "disallowed ");
        let spent_rounds = ToolProgress { rounds: 4, calls: 4, responds_directly: false };
        let spent_calls = ToolProgress { rounds: 1, calls: 12, responds_directly: false };
        assert_eq!(planned(&required, &["a"], spent_rounds), "disallowed ");
        assert_eq!(planned(&required, &["a"], spent_calls), "disallowed ");
    }

    #[test]
    fn responding_directly_ends_tool_use() {
        let direct = ToolProgress { rounds: 1, calls: 0, responds_directly: true };
        assert_eq!(planned(&policy(ToolChoice::Explicit), &["a"], direct), "disallowed ");
    }

    #[test]
    fn enabled_tools_narrow_every_step() {
        let narrowed = |choice, names: &[&str]| ToolPolicy {
            enabled_tools: Some(names.iter().map(ToString::to_string).collect()),
            ..policy(choice)
        };
        let first = ToolProgress::default();
        assert_eq!(planned(&narrowed(ToolChoice::Auto, &["b", "ghost"]), &["a", "b"], first), "allowed b");
        assert_eq!(planned(&narrowed(ToolChoice::Explicit, &["b"]), &["a", "b"], first), "required b +");
        assert_eq!(planned(&narrowed(ToolChoice::Explicit, &[]), &["a"], first), "disallowed ");
        assert_eq!(
            planned(&narrowed(ToolChoice::Tool("a".into()), &["b"]), &["a", "b"], first),
            "disallowed "
        );
    }
}
