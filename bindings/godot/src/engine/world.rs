//! A world as a node.

use godot::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    bridge::OamBridge,
    error::OamError,
    json,
    life::Life,
    link::{self, SharedTools},
    request::OamRequest,
};
use crate::client::RequestError;

/// State that the game and its NPCs share: a JSON object with dot paths, as in `player.gold`. It needs an `OamBridge`
/// above it or as an autoload, and is created with the first thing that is asked of it or of an NPC in it.
#[derive(GodotClass)]
#[class(init, base = Node)]
pub(super) struct OamWorld {
    /// The bridge to ask through. Empty: the nearest above this node, else an autoload.
    #[export]
    bridge: Option<Gd<OamBridge>>,
    /// Its id in the protocol. Empty: one of its own.
    #[export]
    world_id: GString,
    /// What is in it at first.
    #[export]
    state: VarDictionary,
    life: Option<Life>,
    base: Base<Node>,
}

#[godot_api]
impl OamWorld {
    /// It has been created.
    #[signal]
    fn created();

    /// It has not. The next thing that is asked of it tries again.
    #[signal]
    fn create_failed(error: Gd<OamError>);

    /// Something in it changed, by the game or by an NPC. Null is what was not, or is no more, there.
    #[signal]
    fn world_changed(path: GString, value: Variant, old_value: Variant);

    /// Creates it if that is not done yet. Everything else does so by itself.
    #[func]
    fn create(&mut self) -> Option<Gd<OamError>> {
        self.create_now().err().map(|error| OamError::of(&error))
    }

    /// What is at `path`: `result.value`, null where nothing is (`result.exists`).
    #[func]
    fn get_value(&mut self, path: GString) -> Gd<OamRequest> {
        self.ask("world/get", Ok(json::object(json!({"path": path.to_string()}))))
    }

    /// Puts a value at `path`, and the objects that are missing on the way there.
    #[func]
    fn set_value(&mut self, path: GString, value: Variant) -> Gd<OamRequest> {
        let params = json::to_json("value", &value)
            .map(|value| json::object(json!({"path": path.to_string(), "value": value})));
        self.ask("world/set", params)
    }

    /// Merges `changes` into what is at `path`: null in it removes.
    #[func]
    fn merge(&mut self, changes: VarDictionary, #[opt(default = "")] path: GString) -> Gd<OamRequest> {
        let params = json::to_object("changes", &changes)
            .map(|patch| json::object(json!({"path": path.to_string(), "patch": patch})));
        self.ask("world/merge", params)
    }

    /// Removes what is at `path`: `result.oldValue`.
    #[func]
    fn remove_value(&mut self, path: GString) -> Gd<OamRequest> {
        self.ask("world/remove", Ok(json::object(json!({"path": path.to_string()}))))
    }

    /// All of it: `result.state`.
    #[func]
    fn snapshot(&mut self) -> Gd<OamRequest> {
        self.ask("world/snapshot", Ok(Map::new()))
    }

    /// Watches a part of it: the request's `world_changed` tells of each change at, in or above `path` until
    /// `unsubscribe` with `result.subscription`.
    #[func]
    fn subscribe(&mut self, path: GString) -> Gd<OamRequest> {
        self.ask("world/subscribe", Ok(json::object(json!({"path": path.to_string()}))))
    }

    /// Ends a subscription.
    #[func]
    fn unsubscribe(&mut self, subscription: GString) -> Gd<OamRequest> {
        self.ask("world/unsubscribe", Ok(json::object(json!({"subscription": subscription.to_string()}))))
    }

    /// Its id in the protocol; empty until it is created.
    #[func]
    fn id(&self) -> GString {
        self.life.as_ref().map(|life| GString::from(life.id())).unwrap_or_default()
    }
}

impl Drop for OamWorld {
    fn drop(&mut self) {
        if let Some(life) = self.life.take() {
            life.tell("world/delete");
        }
    }
}

impl OamWorld {
    /// Its id, for an NPC that is to live in it.
    pub(super) fn create_now(&mut self) -> Result<String, RequestError> {
        self.alive().map(|life| life.id().to_owned())
    }

    fn ask(&mut self, method: &str, params: Result<Map<String, Value>, RequestError>) -> Gd<OamRequest> {
        match self.alive() {
            Ok(life) => life.ask(method, params),
            Err(error) => OamRequest::failed(method, error),
        }
    }

    fn alive(&mut self) -> Result<Life, RequestError> {
        if let Some(life) = &self.life {
            return Ok(life.clone());
        }
        let state = json::to_object("state", &self.state)?;
        let node = self.to_gd().upcast::<Node>();
        let mut bridge = link::bridge_of(&node, self.bridge.as_ref())?;
        let link = bridge.bind_mut().link_with(SharedTools::default())?;
        let life = Life::new(link, "world", link::id_of(&node, &self.world_id));
        let request = life.ask("world/create", Ok(json::object(json!({"state": state}))));
        self.follow_creation(&request);
        let changes = life.ask("world/subscribe", Ok(json::object(json!({"path": ""}))));
        self.pass_on(&changes);
        self.life = Some(life.clone());
        Ok(life)
    }

    fn follow_creation(&self, request: &Gd<OamRequest>) {
        let node = self.to_gd();
        request.signals().completed().builder().connect_other_gd(
            &node,
            |mut world: Gd<Self>, request: Gd<OamRequest>| match OamRequest::outcome(&request) {
                Ok(_) => world.signals().created().emit(),
                Err(error) => {
                    godot_error!("'{}' was not created: {}", world.get_name(), error.bind().text());
                    world.bind_mut().life = None;
                    world.signals().create_failed().emit(&error);
                }
            },
        );
    }

    fn pass_on(&self, changes: &Gd<OamRequest>) {
        let node = self.to_gd();
        changes.signals().world_changed().builder().connect_other_gd(
            &node,
            |world: Gd<Self>, path: GString, value: Variant, old_value: Variant| {
                world.signals().world_changed().emit(&path, &value, &old_value);
            },
        );
    }
}
