//! A world as a node.

use godot::prelude::*;
use serde_json::{Map, json};

use super::{
    bridge::OamBridge,
    error::OamError,
    json,
    life::{Life, Living},
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

impl Living for OamWorld {
    fn life(&mut self) -> &mut Option<Life> {
        &mut self.life
    }

    fn begin(&mut self) -> Result<Life, RequestError> {
        let state = json::to_object("state", &self.state)?;
        let node = self.to_gd().upcast();
        let link = link::link_of(&node, self.bridge.as_ref(), &SharedTools::default())?;
        let params = json::object(json!({"state": state}));
        let life = Life::begin(link, "world", link::id_of(&node, &self.world_id), "world/create", Ok(params));
        self.pass_on(&life.ask("world/subscribe", Ok(json::object(json!({"path": ""})))));
        Ok(life)
    }

    fn tell_created(node: &Gd<Self>, _result: &VarDictionary) {
        node.signals().created().emit();
    }

    fn tell_create_failed(node: &Gd<Self>, error: &Gd<OamError>) {
        node.signals().create_failed().emit(error);
    }
}

impl OamWorld {
    /// Its id, for an NPC that is to live in it.
    pub(super) fn create_now(&mut self) -> Result<String, RequestError> {
        self.alive().map(|life| life.id().to_owned())
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
