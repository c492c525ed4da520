//! A session as a node.

use godot::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    bridge::OamBridge,
    error::OamError,
    json,
    life::{Life, Living},
    link::{self, SharedTools},
    model,
    request::OamRequest,
    tool::{self, OamTool},
    tool_call::OamToolCall,
};
use crate::client::RequestError;

/// An agent that is no character: a narrator, a dungeon master, a parser of commands. It needs an `OamBridge` above it, or
/// as an autoload.
///
/// It is created with the first thing that is asked of it, as its properties say then, and ends when the node is freed.
#[derive(GodotClass)]
#[class(init, base = Node)]
pub(super) struct OamSession {
    /// The bridge to ask through. Empty: the nearest above this node, else an autoload.
    #[export]
    bridge: Option<Gd<OamBridge>>,
    /// Its id in the protocol. Empty: one of its own.
    #[export]
    session_id: GString,
    /// What it is and how it is to behave.
    #[export(multiline)]
    instructions: GString,
    /// What it can ask the game to do. Say who answers with `handle_tool`.
    #[export]
    tools: Array<Gd<OamTool>>,
    /// Options of `session/create`, by their names there: `{"toolChoice": "required"}`.
    #[export]
    options: VarDictionary,
    /// A transcript to go on from, as `transcript` gave it. Empty: a new conversation.
    #[export(storage)]
    history: VarDictionary,

    /// For development: a JSON file with a scripted model. Empty: Apple's model.
    #[export_group(name = "Model")]
    #[export(file = "*.json")]
    model_script: GString,
    /// The `model` of `session/create` itself; goes before `model_script`.
    #[export]
    model: VarDictionary,

    toolbox: SharedTools,
    /// Once it is created.
    life: Option<Life>,
    base: Base<Node>,
}

#[godot_api]
impl OamSession {
    /// It has been created. `warnings` tell of misspelt options and the like.
    #[signal]
    fn created(warnings: PackedStringArray);

    /// It has not. The next thing that is asked of it tries again.
    #[signal]
    fn create_failed(error: Gd<OamError>);

    /// Its answer has changed: the whole text so far.
    #[signal]
    fn text_changed(text_so_far: GString);

    /// Text was appended to its answer. When text is replaced, only `text_changed` tells.
    #[signal]
    fn delta(text: GString);

    /// It calls a tool. The handler, if there is one, runs behind this signal, unless the call was answered here.
    #[signal]
    fn tool_called(call: Gd<OamToolCall>);

    /// It has answered: the result of `session/respond`.
    #[signal]
    fn turn_finished(turn: VarDictionary);

    /// It has not; as if nothing had been asked.
    #[signal]
    fn turn_failed(error: Gd<OamError>);

    /// Creates it if that is not done yet. Everything else does so by itself.
    #[func]
    fn create(&mut self) -> Option<Gd<OamError>> {
        self.alive().err().map(|error| OamError::of(&error))
    }

    /// Asks it. `result` is that of `session/respond`.
    #[func]
    fn respond(&mut self, prompt: GString) -> Gd<OamRequest> {
        self.respond_with(prompt, VarDictionary::new())
    }

    /// Like `respond`, with the further params of `session/respond`: `schema`, `toolChoice`, `maxToolRounds` and so on.
    #[func]
    fn respond_with(&mut self, prompt: GString, settings: VarDictionary) -> Gd<OamRequest> {
        let params = json::to_object("settings", &settings).map(|mut params| {
            params.insert("prompt".to_owned(), prompt.to_string().into());
            params.insert("stream".to_owned(), true.into());
            params
        });
        let mut request = self.ask("session/respond", params);
        self.pass_on(&request);
        if let Some(life) = &self.life {
            request.bind_mut().cancelled_by(life.clone(), "session/cancel");
        }
        request
    }

    /// Its conversation, to be saved: `result` is what `history` takes.
    #[func]
    fn transcript(&mut self) -> Gd<OamRequest> {
        self.ask("session/transcript", Ok(Map::new()))
    }

    /// Forgets the conversation.
    #[func]
    fn reset(&mut self) -> Gd<OamRequest> {
        self.ask("session/reset", Ok(Map::new()))
    }

    /// Sums up all but the latest turns: `result.summary`, null when there was nothing to sum up.
    #[func]
    fn compact(&mut self, #[opt(default = 2)] keep_recent_turns: i64) -> Gd<OamRequest> {
        self.ask("session/compact", Ok(json::object(json!({"keepRecentTurns": keep_recent_turns}))))
    }

    /// Other instructions from the next turn on.
    #[func]
    fn change_instructions(&mut self, instructions: GString) -> Gd<OamRequest> {
        self.ask(
            "session/setInstructions",
            Ok(json::object(json!({"instructions": instructions.to_string()}))),
        )
    }

    /// A note that goes with the instructions from the next turn on: what is happening. Empty: none.
    #[func]
    fn change_context_note(&mut self, note: GString) -> Gd<OamRequest> {
        let note = Some(note.to_string()).filter(|note| !note.is_empty());
        self.ask("session/setContextNote", Ok(json::object(json!({"note": note}))))
    }

    /// Other tools from the next turn on: names of those that were added, or definitions.
    #[func]
    fn change_tools(&mut self, tools: VarArray) -> Gd<OamRequest> {
        let params = json::to_json("tools", &tools.to_variant()).and_then(|tools| {
            let mut params = json::object(json!({"tools": tools}));
            tool::resolve(&self.toolbox, &mut params)?;
            Ok(params)
        });
        self.ask("session/setTools", params)
    }

    /// Cancels all it is doing and has still to do: `result.cancelled` tells how much that was.
    #[func]
    fn cancel(&mut self) -> Gd<OamRequest> {
        self.ask("session/cancel", Ok(Map::new()))
    }

    /// Says who answers the calls of a tool: gets the `OamToolCall` and returns the output, at once or after an `await`.
    #[func]
    fn handle_tool(&mut self, name: GString, handler: Callable) {
        self.toolbox.borrow_mut().handle(&name.to_string(), handler);
    }

    /// Adds a tool beside those of `tools`, and its handler. `parameters` is a JSON Schema of its arguments.
    #[func]
    fn add_tool(
        &mut self,
        name: GString,
        description: GString,
        parameters: VarDictionary,
        handler: Callable,
        #[opt(default = 0.0)] timeout_seconds: f64,
    ) {
        tool::add(&self.toolbox, &name, &description, &parameters, handler, timeout_seconds);
    }

    /// Its id in the protocol; empty until it is created.
    #[func]
    fn id(&self) -> GString {
        self.life.as_ref().map(|life| GString::from(life.id())).unwrap_or_default()
    }
}

impl Drop for OamSession {
    fn drop(&mut self) {
        if let Some(life) = self.life.take() {
            life.tell("session/delete");
        }
    }
}

impl Living for OamSession {
    fn life(&mut self) -> &mut Option<Life> {
        &mut self.life
    }

    fn begin(&mut self) -> Result<Life, RequestError> {
        let params = self.create_params()?;
        let node = self.to_gd().upcast();
        let link = link::link_of(&node, self.bridge.as_ref(), &self.toolbox)?;
        Ok(Life::begin(link, "session", link::id_of(&node, &self.session_id), "session/create", Ok(params)))
    }

    fn tell_created(node: &Gd<Self>, result: &VarDictionary) {
        node.signals().created().emit(&json::warnings(result));
    }

    fn tell_create_failed(node: &Gd<Self>, error: &Gd<OamError>) {
        node.signals().create_failed().emit(error);
    }
}

impl OamSession {
    fn create_params(&mut self) -> Result<Map<String, Value>, RequestError> {
        tool::define_all(&self.tools, &self.toolbox)?;
        let mut params = Map::new();
        if !self.history.is_empty() {
            params.insert("history".to_owned(), json::to_object("history", &self.history)?.into());
        }
        // What is left out is taken from the history.
        if !self.instructions.is_empty() {
            params.insert("instructions".to_owned(), self.instructions.to_string().into());
        }
        let tools = self.toolbox.borrow().definitions().to_vec();
        if !tools.is_empty() {
            params.insert("tools".to_owned(), tools.into());
        }
        params.insert("options".to_owned(), json::to_object("options", &self.options)?.into());
        model::add_to(&mut params, &self.model_script, &self.model)?;
        Ok(params)
    }

    /// What comes of a turn is told by this node, too.
    fn pass_on(&self, request: &Gd<OamRequest>) {
        let node = self.to_gd();
        request.clone().bind_mut().has_node = true;
        request.signals().line_changed().builder().connect_other_gd(
            &node,
            |session: Gd<Self>, text: GString| {
                session.signals().text_changed().emit(&text);
            },
        );
        request.signals().delta().builder().connect_other_gd(&node, |session: Gd<Self>, text: GString| {
            session.signals().delta().emit(&text);
        });
        request.signals().tool_called().builder().connect_other_gd(
            &node,
            |session: Gd<Self>, call: Gd<OamToolCall>| {
                OamToolCall::tell(&call, &mut session.signals().tool_called(), 0);
            },
        );
        request.signals().completed().builder().connect_other_gd(
            &node,
            |session: Gd<Self>, request: Gd<OamRequest>| match OamRequest::outcome(&request) {
                Ok(turn) => session.signals().turn_finished().emit(&turn),
                Err(error) => session.signals().turn_failed().emit(&error),
            },
        );
    }
}
