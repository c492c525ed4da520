//! An NPC as a node.

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
    world::OamWorld,
};
use crate::client::RequestError;

/// A character that talks. It needs an `OamBridge` above it, or as an autoload.
///
/// The character comes to life with the first thing that is asked of it, as its properties say then; later changes take
/// effect through `update`. It ends when the node is freed.
#[derive(GodotClass)]
#[class(init, base = Node)]
pub(super) struct OamNpc {
    /// The bridge to ask through. Empty: the nearest above this node, else an autoload.
    #[export]
    bridge: Option<Gd<OamBridge>>,
    /// Its id in the protocol. Empty: one of its own.
    #[export]
    npc_id: GString,
    /// The world it lives in, if any.
    #[export]
    world: Option<Gd<OamWorld>>,
    /// What it can ask the game to do. Say who answers with `handle_tool`.
    #[export]
    tools: Array<Gd<OamTool>>,
    /// Options of `npc/create`, by their names there: `{"groundingTool": "check_inventory"}`.
    #[export]
    options: VarDictionary,
    /// What it remembers at first: `{"facts": [], "relationship": 0, "summary": ""}`.
    #[export]
    memory: VarDictionary,

    /// What it is called. Empty: like this node.
    #[export_group(name = "Persona")]
    #[export]
    character_name: GString,
    /// "the village blacksmith".
    #[export]
    role: GString,
    /// A sentence or two.
    #[export(multiline)]
    personality: GString,
    /// How it speaks: the most audible of all.
    #[export(multiline)]
    speaking_style: GString,
    /// Where it comes from.
    #[export(multiline)]
    backstory: GString,
    /// What it wants.
    #[export]
    goals: PackedStringArray,
    /// What it knows.
    #[export]
    knowledge: PackedStringArray,
    /// What it tells only those whom it likes.
    #[export]
    secrets: PackedStringArray,
    /// The face of its fallback lines.
    #[export(enum = (neutral, happy, sad, angry, afraid, surprised, suspicious, amused, disgusted, excited, curious, confused, worried, grateful, annoyed, proud))]
    #[init(val = "neutral".into())]
    default_emotion: GString,
    /// How long a reply may be.
    #[export(range = (1.0, 10.0))]
    #[init(val = 2)]
    max_sentences: i64,

    /// For development: a JSON file with a scripted model. Empty: Apple's model.
    #[export_group(name = "Model")]
    #[export(file = "*.json")]
    model_script: GString,
    /// The `model` of `npc/create` itself; goes before `model_script`.
    #[export]
    model: VarDictionary,

    toolbox: SharedTools,
    /// Once it is alive.
    life: Option<Life>,
    base: Base<Node>,
}

#[godot_api]
impl OamNpc {
    /// It has come to life. `warnings` tell of misspelt options and the like.
    #[signal]
    fn created(warnings: PackedStringArray);

    /// It has not. The next thing that is asked of it tries again.
    #[signal]
    fn create_failed(error: Gd<OamError>);

    /// Its line has changed: the whole line so far.
    #[signal]
    fn line_changed(line_so_far: GString);

    /// Text was appended to its line. When a line is replaced, only `line_changed` tells.
    #[signal]
    fn delta(text: GString);

    /// How it feels, before most of the line; a later one replaces it.
    #[signal]
    fn emotion(emotion: GString);

    /// It calls a tool. The handler, if there is one, runs behind this signal, unless the call was answered here.
    #[signal]
    fn tool_called(call: Gd<OamToolCall>);

    /// It has spoken: the result of `npc/talk`.
    #[signal]
    fn turn_finished(turn: VarDictionary);

    /// It has not; as if nothing had been said.
    #[signal]
    fn turn_failed(error: Gd<OamError>);

    /// Brings it to life if it is not alive yet. Everything else does so by itself.
    #[func]
    fn create(&mut self) -> Option<Gd<OamError>> {
        self.alive().err().map(|error| OamError::of(&error))
    }

    /// The player says `line`; an empty one is silence. `result` is that of `npc/talk`.
    #[func]
    fn talk(&mut self, line: GString) -> Gd<OamRequest> {
        self.talk_with(line, VarDictionary::new())
    }

    /// Like `talk`, with the further params of `npc/talk`: `context` is what happens right now, `toolChoice` goes before the
    /// options for this turn.
    #[func]
    fn talk_with(&mut self, line: GString, settings: VarDictionary) -> Gd<OamRequest> {
        let params = json::to_object("settings", &settings).map(|mut params| {
            params.insert("line".to_owned(), line.to_string().into());
            params.insert("stream".to_owned(), true.into());
            params
        });
        let mut request = self.ask("npc/talk", params);
        self.pass_on(&request);
        if let Some(life) = &self.life {
            request.bind_mut().cancelled_by(life.clone(), "npc/cancel");
        }
        request
    }

    /// A short remark, beside the conversation: `result.line`.
    #[func]
    fn bark(&mut self) -> Gd<OamRequest> {
        self.ask("npc/bark", Ok(Map::new()))
    }

    /// A short remark about a situation: a text, or any value with a JSON form.
    #[func]
    fn bark_about(&mut self, situation: Variant) -> Gd<OamRequest> {
        let params = json::to_json("situation", &situation)
            .map(|situation| json::object(json!({"situation": situation})));
        self.ask("npc/bark", params)
    }

    /// Its state for a saved game, once it has done what was asked of it before: `result.state`. With `settle` false
    /// the state of this moment.
    #[func]
    fn state(&mut self, #[opt(default = true)] settle: bool) -> Gd<OamRequest> {
        self.ask("npc/state", Ok(json::object(json!({"settle": settle}))))
    }

    /// Brings it back from a saved state, in place of what it is now. Persona, memory, tools and options are those of the
    /// state; world and model those of this node.
    #[func]
    fn restore(&mut self, state: VarDictionary) -> Gd<OamRequest> {
        self.end();
        let params = self.restore_params(&state);
        match self.begin_with("npc/restore", params) {
            Ok(life) => {
                let restored = life.creation().clone();
                self.live(life);
                restored
            }
            Err(error) => OamRequest::failed("npc/restore", error),
        }
    }

    /// Changes it from the next turn on. `changes` are params of `npc/update`: `persona`, `options` and `memory` with the
    /// members to change, `tools` as names or definitions.
    #[func]
    fn update(&mut self, changes: VarDictionary) -> Gd<OamRequest> {
        let params = json::to_object("changes", &changes).and_then(|mut params| {
            tool::resolve(&self.toolbox, &mut params)?;
            Ok(params)
        });
        self.ask("npc/update", params)
    }

    /// Forgets the conversation, and with `clear_memory` all it has learnt.
    #[func]
    fn reset(&mut self, #[opt(default = false)] clear_memory: bool) -> Gd<OamRequest> {
        self.ask("npc/reset", Ok(json::object(json!({"clearMemory": clear_memory}))))
    }

    /// Cancels all it is doing and has still to do: `result.cancelled` tells how much that was.
    #[func]
    fn cancel(&mut self) -> Gd<OamRequest> {
        self.ask("npc/cancel", Ok(Map::new()))
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

    /// Its id in the protocol; empty until it is alive. `actor` of a decision takes it.
    #[func]
    fn id(&self) -> GString {
        self.life.as_ref().map(|life| GString::from(life.id())).unwrap_or_default()
    }
}

impl Drop for OamNpc {
    fn drop(&mut self) {
        self.end();
    }
}

impl Living for OamNpc {
    fn life(&mut self) -> &mut Option<Life> {
        &mut self.life
    }

    fn begin(&mut self) -> Result<Life, RequestError> {
        let params = self.create_params()?;
        self.begin_with("npc/create", Ok(params))
    }

    fn tell_created(node: &Gd<Self>, result: &VarDictionary) {
        node.signals().created().emit(&json::warnings(result));
    }

    fn tell_create_failed(node: &Gd<Self>, error: &Gd<OamError>) {
        node.signals().create_failed().emit(error);
    }
}

impl OamNpc {
    fn begin_with(
        &self,
        method: &str,
        params: Result<Map<String, Value>, RequestError>,
    ) -> Result<Life, RequestError> {
        let node = self.to_gd().upcast();
        let link = link::link_of(&node, self.bridge.as_ref(), &self.toolbox)?;
        Ok(Life::begin(link, "npc", link::id_of(&node, &self.npc_id), method, params))
    }

    fn end(&mut self) {
        if let Some(life) = self.life.take() {
            life.tell("npc/delete");
        }
    }

    fn create_params(&mut self) -> Result<Map<String, Value>, RequestError> {
        tool::define_all(&self.tools, &self.toolbox)?;
        let mut params = Map::new();
        params.insert("persona".to_owned(), self.persona());
        params.insert("tools".to_owned(), self.toolbox.borrow().definitions().into());
        params.insert("options".to_owned(), json::to_object("options", &self.options)?.into());
        params.insert("memory".to_owned(), json::to_object("memory", &self.memory)?.into());
        self.add_surroundings(&mut params)?;
        Ok(params)
    }

    fn restore_params(&mut self, state: &VarDictionary) -> Result<Map<String, Value>, RequestError> {
        let mut params = Map::new();
        params.insert("state".to_owned(), json::to_object("state", state)?.into());
        self.add_surroundings(&mut params)?;
        Ok(params)
    }

    fn add_surroundings(&mut self, params: &mut Map<String, Value>) -> Result<(), RequestError> {
        if let Some(world) = self.world.as_mut().filter(|world| world.is_instance_valid()) {
            params.insert("world".to_owned(), world.bind_mut().create_now()?.into());
        }
        model::add_to(params, &self.model_script, &self.model)
    }

    fn persona(&self) -> Value {
        let name = match self.character_name.to_string() {
            name if name.is_empty() => self.base().get_name().to_string(),
            name => name,
        };
        json!({
            "name": name,
            "role": self.role.to_string(),
            "personality": self.personality.to_string(),
            "speakingStyle": self.speaking_style.to_string(),
            "backstory": self.backstory.to_string(),
            "goals": json::strings(&self.goals),
            "knowledge": json::strings(&self.knowledge),
            "secrets": json::strings(&self.secrets),
            "defaultEmotion": self.default_emotion.to_string(),
            "maxSentences": self.max_sentences,
        })
    }

    /// What comes of a turn is told by this node, too.
    fn pass_on(&self, request: &Gd<OamRequest>) {
        let node = self.to_gd();
        request.clone().bind_mut().has_node = true;
        request.signals().line_changed().builder().connect_other_gd(&node, |npc: Gd<Self>, line: GString| {
            npc.signals().line_changed().emit(&line);
        });
        request.signals().delta().builder().connect_other_gd(&node, |npc: Gd<Self>, text: GString| {
            npc.signals().delta().emit(&text);
        });
        request.signals().emotion().builder().connect_other_gd(&node, |npc: Gd<Self>, emotion: GString| {
            npc.signals().emotion().emit(&emotion);
        });
        request.signals().tool_called().builder().connect_other_gd(
            &node,
            |npc: Gd<Self>, call: Gd<OamToolCall>| {
                OamToolCall::tell(&call, &mut npc.signals().tool_called(), 0);
            },
        );
        request.signals().completed().builder().connect_other_gd(
            &node,
            |npc: Gd<Self>, request: Gd<OamRequest>| match OamRequest::outcome(&request) {
                Ok(turn) => npc.signals().turn_finished().emit(&turn),
                Err(error) => npc.signals().turn_failed().emit(&error),
            },
        );
    }
}
