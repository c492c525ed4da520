//! The bridge: a node that runs a supervisor in the game's process, and delivers what it says once a frame.

use std::{cell::RefCell, collections::HashMap, mem, rc::Rc, time::Duration};

use godot::{classes::notify::NodeNotification, prelude::*, signal::ConnectHandle};
use serde_json::{Map, Value};

use super::{
    error::OamError,
    json,
    link::{Link, SharedClient, SharedTools},
    paths,
    request::OamRequest,
    tool,
    tool_call::OamToolCall,
    tool_handlers,
};
use crate::client::{self, Client, Delivery, RequestError, ToolAnswer, ToolCall};

/// Runs the agents of a game. One is enough: NPCs, sessions and worlds find it above themselves in the tree, or as an
/// autoload. It starts with the first request and ends when it is freed.
///
/// Everything reaches scripts on the main thread, once a frame, in the order in which it happened: while the tree is
/// paused only if `process_mode` says so.
#[derive(GodotClass)]
#[class(init, base = Node)]
pub(super) struct OamBridge {
    /// The worker that runs Apple's model: a program and its arguments, `res://` and `user://` allowed; in an exported game
    /// `res://` is the folder of the game. Empty: it is looked for beside the library and the game. Scripted models need
    /// none.
    #[export]
    worker: PackedStringArray,
    /// How many workers run side by side.
    #[export(range = (1.0, 16.0))]
    #[init(val = 1)]
    workers: i64,
    /// Further options, named like those of the C library: `{"stepTimeoutSeconds": 60}`.
    #[export]
    options: VarDictionary,
    state: State,
    /// Tools of decisions and content, and handlers for calls that no node handles.
    tools: SharedTools,
    open_calls: HashMap<String, Gd<OamToolCall>>,
    /// While it is in the tree.
    frames: Option<ConnectHandle>,
    base: Base<Node>,
}

#[derive(Default)]
enum State {
    #[default]
    NotStarted,
    Running(SharedClient),
    Closed,
}

#[godot_api]
impl OamBridge {
    /// A model calls a tool. Comes after `tool_called` of the node and before the handler.
    #[signal]
    fn tool_called(call: Gd<OamToolCall>);

    /// The supervisor tells something that belongs to no request.
    #[signal]
    fn notified(method: GString, params: Variant);

    /// A message of this side was not understood. A bug: please report it.
    #[signal]
    fn refused(error: Gd<OamError>);

    /// Starts the supervisor if it does not run yet; requests do so by themselves. Null, or why it does not run.
    #[func]
    fn start(&mut self) -> Option<Gd<OamError>> {
        self.client().err().map(|error| OamError::of(&error))
    }

    /// Asks for any method of the protocol.
    #[func]
    fn request(&mut self, method: GString, params: VarDictionary) -> Gd<OamRequest> {
        self.ask(&method.to_string(), json::to_object("params", &params))
    }

    /// Sends a notification: carried out like a request, in silence.
    #[func]
    fn notify(&mut self, method: GString, params: VarDictionary) {
        let sent = self
            .link()
            .and_then(|link| link.notify(&method.to_string(), json::to_object("params", &params)?.into()));
        if let Err(error) = sent {
            godot_error!("{method} was not sent: {error}");
        }
    }

    /// Asks, and holds the game until the answer is there, or the time over: for tools and tests. Returns the completed
    /// request. What calls tools of the game does not belong here: nobody answers them meanwhile.
    #[func]
    fn call_blocking(
        &mut self,
        method: GString,
        params: VarDictionary,
        #[opt(default = 30.0)] timeout_seconds: f64,
    ) -> Gd<OamRequest> {
        let outcome = self.call(&method.to_string(), &params, timeout_seconds);
        let request = OamRequest::new(&method.to_string(), SharedTools::default());
        OamRequest::complete(request.clone(), outcome);
        request
    }

    /// Whether Apple's model can be used: `result` is the answer of `model/availability`.
    #[func]
    fn availability(&mut self) -> Gd<OamRequest> {
        self.ask("model/availability", Ok(Map::new()))
    }

    /// Adds a tool for decisions and content, and its handler. `parameters` is a JSON Schema of its arguments.
    /// `handler` gets the `OamToolCall` and returns the output, at once or after an `await`.
    #[func]
    fn add_tool(
        &mut self,
        name: GString,
        description: GString,
        parameters: VarDictionary,
        handler: Callable,
        #[opt(default = 0.0)] timeout_seconds: f64,
    ) {
        tool::add(&self.tools, &name, &description, &parameters, handler, timeout_seconds);
    }

    /// Says who answers the calls of a tool that no node answers itself.
    #[func]
    fn handle_tool(&mut self, name: GString, handler: Callable) {
        self.tools.borrow_mut().handle(&name.to_string(), handler);
    }

    /// Picks one of `options`, which are texts or `{"id", "description"}`. `settings` are the further params of
    /// `decision/decide`; `tools` among them are names of tools that were added, or definitions.
    #[func]
    fn decide(&mut self, situation: Variant, options: VarArray, settings: VarDictionary) -> Gd<OamRequest> {
        let params = self.settings(&settings).and_then(|mut params| {
            params.insert("situation".to_owned(), json::to_json("situation", &situation)?);
            params.insert("options".to_owned(), json::to_json("options", &options.to_variant())?);
            Ok(params)
        });
        self.ask("decision/decide", params)
    }

    /// Decides several times: `requests` are the params of each, `settings` those of all.
    #[func]
    fn decide_many(&mut self, requests: VarArray, settings: VarDictionary) -> Gd<OamRequest> {
        let params = self.settings(&settings).and_then(|mut params| {
            let mut requests = json::to_json("requests", &requests.to_variant())?;
            for request in requests.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                tool::resolve(&self.tools, request)?;
            }
            params.insert("requests".to_owned(), requests);
            Ok(params)
        });
        self.ask("decision/decideMany", params)
    }

    /// Makes something of the form of `schema`, a JSON Schema: `result.content`. `settings` as for `decide`.
    #[func]
    fn generate(
        &mut self,
        prompt: GString,
        schema: VarDictionary,
        settings: VarDictionary,
    ) -> Gd<OamRequest> {
        let params = self.settings(&settings).and_then(|mut params| {
            params.insert("prompt".to_owned(), prompt.to_string().into());
            params.insert("schema".to_owned(), json::to_object("schema", &schema)?.into());
            Ok(params)
        });
        self.ask("content/generate", params)
    }

    /// Delivers what has arrived. Done once a frame; call it yourself where no frames pass, outside of the tree.
    #[func(gd_self)]
    fn pump(this: Gd<Self>) {
        let Some(client) = this.bind().running() else { return };
        client::pump(&client, |delivery| Self::deliver(&this, &client, delivery));
    }

    /// Ends the supervisor. What is under way completes with the error `shut_down` at the end of the frame, and so does
    /// what is asked for from now on.
    #[func]
    fn close(&mut self) {
        for mut call in self.open_calls.drain().map(|(_, call)| call) {
            call.run_deferred_gd(|call| call.signals().cancelled().emit("The bridge is closed."));
        }
        if let State::Running(client) = mem::replace(&mut self.state, State::Closed) {
            let owners = client.borrow_mut().close();
            for request in owners {
                OamRequest::fail_later(request, RequestError::closed());
            }
        }
    }
}

#[godot_api]
impl INode for OamBridge {
    /// Not `_enter_tree` and `_exit_tree`: a script that extends this class may have its own, which would take their place.
    fn on_notification(&mut self, what: NodeNotification) {
        match what {
            NodeNotification::ENTER_TREE => self.follow_frames(),
            NodeNotification::EXIT_TREE => {
                if let Some(frames) = self.frames.take().filter(ConnectHandle::is_connected) {
                    frames.disconnect();
                }
            }
            _ => {}
        }
    }
}

impl Drop for OamBridge {
    fn drop(&mut self) {
        self.close();
    }
}

impl OamBridge {
    /// Pumps once a frame. A process callback would not do: this object would be borrowed while scripts run, and the engine
    /// be taken down if one of them freed it.
    fn follow_frames(&mut self) {
        let bridge = self.to_gd();
        let tree = bridge.get_tree();
        let frames =
            tree.signals().process_frame().builder().connect_other_gd(&bridge, |bridge: Gd<Self>| {
                if bridge.can_process() {
                    Self::pump(bridge);
                }
            });
        self.frames = Some(frames);
    }

    /// What a node with tools of its own asks through.
    pub(super) fn link_with(&mut self, tools: SharedTools) -> Result<Link, RequestError> {
        Ok(Link::new(self.client()?, tools))
    }

    fn link(&mut self) -> Result<Link, RequestError> {
        self.link_with(Rc::clone(&self.tools))
    }

    fn ask(&mut self, method: &str, params: Result<Map<String, Value>, RequestError>) -> Gd<OamRequest> {
        match self.link() {
            Ok(link) => link.ask(method, params),
            Err(error) => OamRequest::failed(method, error),
        }
    }

    fn call(
        &mut self,
        method: &str,
        params: &VarDictionary,
        timeout_seconds: f64,
    ) -> Result<Value, RequestError> {
        let params = json::to_object("params", params)?;
        let limit = Duration::try_from_secs_f64(timeout_seconds).map_err(|_| {
            RequestError::invalid_params(format!(
                "'timeout_seconds' must be 0 or more; got {timeout_seconds}."
            ))
        })?;
        let client = self.client()?;
        client.borrow().call(method, params.into(), (!limit.is_zero()).then_some(limit))
    }

    fn settings(&self, settings: &VarDictionary) -> Result<Map<String, Value>, RequestError> {
        let mut params = json::to_object("settings", settings)?;
        tool::resolve(&self.tools, &mut params)?;
        Ok(params)
    }

    fn running(&self) -> Option<SharedClient> {
        match &self.state {
            State::Running(client) => Some(Rc::clone(client)),
            State::NotStarted | State::Closed => None,
        }
    }

    fn client(&mut self) -> Result<SharedClient, RequestError> {
        match &self.state {
            State::Running(client) => Ok(Rc::clone(client)),
            State::Closed => Err(RequestError::closed()),
            State::NotStarted => {
                let client = Rc::new(RefCell::new(Client::start(&self.start_options()?, paths::home())?));
                self.state = State::Running(Rc::clone(&client));
                Ok(client)
            }
        }
    }

    fn start_options(&self) -> Result<Value, RequestError> {
        let mut options = json::to_object("options", &self.options)?;
        options.insert("workers".to_owned(), self.workers.into());
        if !self.worker.is_empty() {
            options.insert("worker".to_owned(), paths::command(&self.worker));
        }
        Ok(options.into())
    }

    fn deliver(this: &Gd<Self>, client: &SharedClient, delivery: Delivery<Gd<OamRequest>>) {
        match delivery {
            Delivery::Progress { owner, progress } => OamRequest::progress(&owner, progress),
            Delivery::Completed { owner, outcome } => OamRequest::complete(owner, outcome),
            Delivery::WorldChanged { owner, change } => OamRequest::changed(&owner, &change),
            Delivery::ToolCall { owner, call } => Self::call_tool(this.clone(), client, owner.as_ref(), call),
            Delivery::ToolCancelled { call, reason } => Self::cancel_call(this.clone(), &call, &reason),
            // A script may have freed the node in a delivery before this one.
            Delivery::Notification { .. } | Delivery::Refused(_) if !this.is_instance_valid() => {}
            Delivery::Notification { method, params } => {
                this.signals().notified().emit(&method, &json::to_variant(&params));
            }
            Delivery::Refused(error) => {
                godot_error!("the supervisor refused a message: {error}");
                this.signals().refused().emit(&OamError::of(&error));
            }
        }
    }

    fn call_tool(mut this: Gd<Self>, client: &SharedClient, owner: Option<&Gd<OamRequest>>, call: ToolCall) {
        let (id, tool) = (call.id.clone(), call.tool.clone());
        let call = OamToolCall::of(call, Rc::clone(client));
        if this.is_instance_valid() {
            this.bind_mut().remember(id, &call);
        }
        if let Some(request) = owner {
            OamRequest::call_tool(request, &call);
        }
        let mut handler = owner.and_then(|request| request.bind().handler(&tool));
        if this.is_instance_valid() {
            OamToolCall::tell(&call, &mut this.signals().tool_called(), 0);
            handler = handler.or_else(|| this.bind().tools.borrow().handler(&tool).cloned());
        }
        let (is_open, is_expected) = (call.bind().is_open(), call.bind().is_expected());
        match handler {
            _ if !is_open => {}
            Some(handler) => tool_handlers::run(&handler, &call),
            None if is_expected => {}
            None => {
                godot_error!(
                    "tool '{tool}' was called, and nobody handles it: use handle_tool or the signal tool_called"
                );
                call.bind().settle(ToolAnswer::not_offered(&tool));
            }
        }
    }

    fn remember(&mut self, id: String, call: &Gd<OamToolCall>) {
        self.open_calls.retain(|_, call| call.bind().is_open());
        self.open_calls.insert(id, call.clone());
    }

    fn cancel_call(mut this: Gd<Self>, id: &str, reason: &str) {
        if !this.is_instance_valid() {
            return;
        }
        let call = this.bind_mut().open_calls.remove(id);
        if let Some(call) = call {
            call.signals().cancelled().emit(reason);
        }
    }
}
