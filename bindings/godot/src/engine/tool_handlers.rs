//! Running the handlers that scripts have registered.

use godot::prelude::*;

use super::tool_call::OamToolCall;
use crate::client::ToolAnswer;

/// What a script function returns that has come to an `await`: it completes later, with what the function returns.
const PAUSED_FUNCTION: &str = "GDScriptFunctionState";

/// Calls a handler, and answers the call with what it returns, at once or once it has done waiting.
pub(super) fn run(handler: &Callable, call: &Gd<OamToolCall>) {
    if !handler.is_valid() {
        let call = call.bind();
        call.settle(ToolAnswer::not_offered(&call.tool()));
        return;
    }
    let output = handler.callv(&varray![call]);
    match paused(&output) {
        None => answer(call, &output),
        Some(function) => {
            let call = call.clone();
            let finish = Callable::from_fn("answer of a tool", move |outputs: &[&Variant]| {
                answer(&call, outputs.first().copied().unwrap_or(&Variant::nil()));
            });
            Signal::from_object_signal(&function, "completed").connect(&finish);
        }
    }
}

/// A handler that has answered or failed the call itself returns nothing that counts.
fn answer(call: &Gd<OamToolCall>, output: &Variant) {
    let is_open = call.bind().is_open();
    if is_open {
        call.bind().answer(output.clone());
    }
}

fn paused(output: &Variant) -> Option<Gd<Object>> {
    let object = output.try_to::<Gd<Object>>().ok()?;
    (object.get_class() == PAUSED_FUNCTION).then_some(object)
}
