//! `npc/update`: merge patches for who an NPC is, what it remembers and how it behaves; and other tools.

use std::{sync::Arc, time::Duration};

use oam_game::NpcDraft;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::queued;
use crate::{
    coding::{self, ToolAdvice},
    merge_patch::merge_patch,
    message::{BridgeError, Payload},
    npc::{NpcId, ToolDefinitions},
    params::Params,
    registry::{Reply, Request},
};

const UPDATE_MEMBERS: &[&str] = &["npc", "persona", "options", "memory", "tools"];

pub(super) fn update(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Updated<'a> {
        npc: &'a NpcId,
        warnings: Vec<String>,
    }
    let npc = request.bridge.realm().npcs.named(&request.params)?;
    let Request { bridge, params, .. } = request;
    let mut warnings = params.unknown_members(UPDATE_MEMBERS);
    let patches = Patches::read(&params)?;
    queued(npc, move |npc, operation| async move {
        if patches.memory.is_some() {
            // A summary that is being made would replace that of the patch.
            npc.npc.settle().await;
        }
        npc.revise(|draft, definitions| {
            patches.apply(draft, definitions, bridge.config().tool_timeout, &mut warnings)?;
            operation.commit()
        })?;
        warnings.extend(coding::tool_count_warning(npc.npc.tools().len(), ToolAdvice::GiveFewer));
        Ok(Payload::of(&Updated { npc: &npc.id, warnings }))
    })
}

/// What is to change. The types of the members are known to be right, not yet what is in them.
struct Patches {
    persona: Option<Map<String, Value>>,
    memory: Option<Map<String, Value>>,
    options: Option<Map<String, Value>>,
    /// The definitions that replace the client tools.
    tools: Option<ToolDefinitions>,
}

impl Patches {
    fn read(params: &Params<'_>) -> Result<Self, BridgeError> {
        let patch = |name| Ok::<_, BridgeError>(params.optional_object(name)?.map(Params::into_members));
        let (persona, memory, options) = (patch("persona")?, patch("memory")?, patch("options")?);
        let tools = params.optional_array("tools")?.map(Arc::from);
        // Tools that are null are none.
        let tools = if params.has("tools") { Some(tools.unwrap_or_default()) } else { None };
        Ok(Self { persona, memory, options, tools })
    }

    fn apply(
        self,
        draft: &mut NpcDraft,
        definitions: &mut ToolDefinitions,
        default_timeout: Option<Duration>,
        warnings: &mut Vec<String>,
    ) -> Result<(), BridgeError> {
        if let Some(patch) = self.persona {
            let merged = merged("persona", &draft.persona, patch)?;
            draft.persona = coding::persona(&merged, "persona", warnings)?;
        }
        if let Some(patch) = self.memory {
            let merged = merged("memory", &draft.memory, patch)?;
            draft.memory = coding::memory(&merged, "memory", warnings)?;
        }
        let timeout_before = draft.options.tool_timeout;
        if let Some(patch) = self.options {
            let merged = merged("options", &draft.options, patch)?;
            draft.options = coding::npc_options(&merged, "options", default_timeout, warnings)?;
        }
        if self.tools.is_some() || draft.options.tool_timeout != timeout_before {
            *definitions = self.tools.unwrap_or_else(|| Arc::clone(definitions));
            let set = coding::tools("tools", definitions, draft.options.tool_timeout)?;
            warnings.extend(set.warnings);
            draft.tools = set.tools;
        }
        Ok(())
    }
}

/// `current` with a patch applied, as the member `name` of parameters.
fn merged(
    name: &str,
    current: &impl Serialize,
    patch: Map<String, Value>,
) -> Result<Params<'static>, BridgeError> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(current) else {
        return Err(BridgeError::internal_error(format!("'{name}' cannot be written.")));
    };
    merge_patch(&mut members, patch);
    Params::new(Some(json!({name: members})))
}
