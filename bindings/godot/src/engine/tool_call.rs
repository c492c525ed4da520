//! A tool call as scripts see it.

use godot::{obj::WithSignals, prelude::*, signal::TypedSignal};

use super::{json, link::SharedClient};
use crate::client::{ToolAnswer, ToolCall};

/// The model wants something done. Wants exactly one `answer` or `fail`, now or later.
#[derive(GodotClass)]
#[class(no_init, base = RefCounted)]
pub(super) struct OamToolCall {
    /// Tells it from all other calls.
    #[var(no_set)]
    id: GString,
    /// The name of the tool.
    #[var(no_set)]
    tool: GString,
    /// They fit the parameters of the tool.
    #[var(no_set)]
    arguments: VarDictionary,
    /// The id of the session that calls, else empty.
    #[var(no_set)]
    session: GString,
    /// The id of the NPC that calls, else empty.
    #[var(no_set)]
    npc: GString,
    /// Which of the decisions of `decide_many` calls, from 0; else -1.
    #[var(no_set)]
    index: i64,
    client: SharedClient,
    /// Somebody was told of it who may answer later.
    is_expected: bool,
    base: Base<RefCounted>,
}

#[godot_api]
impl OamToolCall {
    /// The answer is no longer wanted: the time is over, or the turn. Stop what you can stop.
    #[signal]
    pub(super) fn cancelled(reason: GString);

    /// Tells the model what came of it: a text as it is, null as the empty text, everything else as JSON. False when
    /// the call was answered before, or cancelled; then nothing happens.
    #[func]
    pub(super) fn answer(&self, output: Variant) -> bool {
        match json::to_json(&format!("output of tool '{}'", self.tool), &output) {
            Ok(output) => self.settle(ToolAnswer::Output(output)),
            Err(error) => {
                godot_error!("{}", error.message);
                self.settle(ToolAnswer::Failure(error.message))
            }
        }
    }

    /// Tells the model that it did not work, and why. It may try something else, or say so. False like `answer`.
    #[func]
    fn fail(&self, message: GString) -> bool {
        self.settle(ToolAnswer::Failure(message.to_string()))
    }

    /// Whether it still wants an answer.
    #[func]
    pub(super) fn is_open(&self) -> bool {
        self.client.borrow().is_open(&self.id.to_string())
    }
}

impl OamToolCall {
    pub(super) fn of(call: ToolCall, client: SharedClient) -> Gd<Self> {
        Gd::from_init_fn(|base| Self {
            id: GString::from(&call.id),
            tool: GString::from(&call.tool),
            arguments: json::to_dictionary(&call.arguments),
            session: GString::from(call.session.as_deref().unwrap_or_default()),
            npc: GString::from(call.npc.as_deref().unwrap_or_default()),
            index: call.index.map_or(-1, u64::cast_signed),
            client,
            is_expected: false,
            base,
        })
    }

    /// Emits a signal that tells of the call. Whoever listens to it, beside the `own` connections, may answer the call
    /// later, even without a handler.
    pub(super) fn tell<C: WithSignals>(
        call: &Gd<Self>,
        signal: &mut TypedSignal<'_, C, (Gd<Self>,)>,
        own: usize,
    ) {
        if signal.to_untyped().connections().len() > own {
            call.clone().bind_mut().is_expected = true;
        }
        signal.emit_tuple((call.clone(),));
    }

    pub(super) fn is_expected(&self) -> bool {
        self.is_expected
    }

    pub(super) fn tool(&self) -> String {
        self.tool.to_string()
    }

    pub(super) fn settle(&self, answer: ToolAnswer) -> bool {
        self.client.borrow_mut().answer(&self.id.to_string(), answer)
    }
}
