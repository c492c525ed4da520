//! A request as scripts see it.

use godot::prelude::*;
use serde_json::Value;

use super::{error::OamError, json, life::Life, link::SharedTools, tool_call::OamToolCall};
use crate::client::{Change, Progress, RequestError, Shown};

/// Something that was asked for. `await request.completed`, then look at `error` and `result`:
///
/// ```gdscript
/// var turn: OamRequest = await gorm.talk("Any swords?").completed
/// if turn.error: print(turn.error.message)
/// else: print(turn.result.line)
/// ```
///
/// It is never completed before the call that made it has returned.
#[derive(GodotClass)]
#[class(no_init, base = RefCounted)]
pub(super) struct OamRequest {
    /// The method of the protocol.
    #[var(no_set)]
    method: GString,
    /// The protocol's result, once completed without an error; else null.
    #[var(no_set)]
    result: Variant,
    /// Why it failed; null while it is under way, and when it has succeeded.
    #[var(no_set)]
    error: Option<Gd<OamError>>,
    is_completed: bool,
    /// What it was asked of, and the method that cancels it there.
    cancel: Option<(Life, &'static str)>,
    tools: SharedTools,
    /// A node passes on what comes.
    pub(super) has_node: bool,
    base: Base<RefCounted>,
}

#[godot_api]
impl OamRequest {
    /// It is done. The last signal; comes exactly once.
    #[signal]
    pub(super) fn completed(request: Gd<OamRequest>);

    /// The line of the NPC, or the answer of the session, has changed: the whole of it so far.
    #[signal]
    pub(super) fn line_changed(line_so_far: GString);

    /// Text was appended to the line. When a line is replaced, only `line_changed` tells.
    #[signal]
    pub(super) fn delta(text: GString);

    /// The NPC's emotion, before most of its line; a later one replaces it.
    #[signal]
    pub(super) fn emotion(emotion: GString);

    /// An event of the protocol, as it came.
    #[signal]
    pub(super) fn event(event: VarDictionary);

    /// The model calls a tool. A handler, if there is one, runs behind this signal, unless the call was answered here.
    #[signal]
    pub(super) fn tool_called(call: Gd<OamToolCall>);

    /// Something changed below the path of this subscription. Null is what was not, or is no more, there.
    #[signal]
    pub(super) fn world_changed(path: GString, value: Variant, old_value: Variant);

    /// Whether it is done.
    #[func]
    fn is_completed(&self) -> bool {
        self.is_completed
    }

    /// Cancels it, and with it all that its session or NPC has still to do. It then completes with the error
    /// `cancelled`. False when it is done, or is of a kind that cannot be cancelled: decisions, content, barks, worlds.
    #[func]
    fn cancel(&self) -> bool {
        let cancel = self.cancel.as_ref().filter(|_| !self.is_completed);
        if let Some((life, method)) = cancel {
            life.tell(method);
        }
        cancel.is_some()
    }
}

impl OamRequest {
    pub(super) fn new(method: &str, tools: SharedTools) -> Gd<Self> {
        Gd::from_init_fn(|base| Self {
            method: GString::from(method),
            result: Variant::nil(),
            error: None,
            is_completed: false,
            cancel: None,
            tools,
            has_node: false,
            base,
        })
    }

    /// A request that is over before it was sent. Fails at the end of the frame, so that it can be awaited.
    pub(super) fn failed(method: &str, error: RequestError) -> Gd<Self> {
        let request = Self::new(method, SharedTools::default());
        Self::fail_later(request.clone(), error);
        request
    }

    pub(super) fn fail_later(mut request: Gd<Self>, error: RequestError) {
        request.run_deferred_gd(move |request| Self::complete(request, Err(error)));
    }

    pub(super) fn cancelled_by(&mut self, life: Life, method: &'static str) {
        self.cancel = Some((life, method));
    }

    /// The tools of the node that asked.
    pub(super) fn handler(&self, tool: &str) -> Option<Callable> {
        self.tools.borrow().handler(tool).cloned()
    }

    pub(super) fn complete(mut request: Gd<Self>, outcome: Result<Value, RequestError>) {
        {
            let mut this = request.bind_mut();
            match outcome {
                Ok(result) => this.result = json::to_variant(&result),
                Err(error) => this.error = Some(OamError::of(&error)),
            }
            this.is_completed = true;
            this.cancel = None;
        }
        request.signals().completed().emit(&request);
    }

    /// The result of a request that is completed.
    pub(super) fn outcome(request: &Gd<Self>) -> Result<VarDictionary, Gd<OamError>> {
        let this = request.bind();
        match &this.error {
            Some(error) => Err(error.clone()),
            None => Ok(this.result.try_to().unwrap_or_default()),
        }
    }

    pub(super) fn progress(request: &Gd<Self>, progress: Progress) {
        let event = match &progress.event {
            Value::Object(event) => json::to_dictionary(event),
            _ => VarDictionary::new(),
        };
        request.signals().event().emit(&event);
        match progress.shown {
            Some(Shown::Text { delta, so_far }) => {
                if let Some(delta) = delta {
                    request.signals().delta().emit(&delta);
                }
                request.signals().line_changed().emit(&so_far);
            }
            Some(Shown::Emotion(emotion)) => request.signals().emotion().emit(&emotion),
            None => {}
        }
    }

    pub(super) fn changed(request: &Gd<Self>, change: &Change) {
        let value = |value: &Option<Value>| value.as_ref().map(json::to_variant).unwrap_or_default();
        request.signals().world_changed().emit(&change.path, &value(&change.new), &value(&change.old));
    }

    /// Tells of a call whoever listens.
    pub(super) fn call_tool(request: &Gd<Self>, call: &Gd<OamToolCall>) {
        let own = usize::from(request.bind().has_node);
        OamToolCall::tell(call, &mut request.signals().tool_called(), own);
    }
}
