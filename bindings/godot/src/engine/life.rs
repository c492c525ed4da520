//! What a node stands for in the supervisor, once it is created there.

use godot::{obj::WithBaseField, prelude::*};
use serde_json::{Map, Value};

use super::{error::OamError, link::Link, request::OamRequest};
use crate::client::RequestError;

/// An NPC, a session or a world: an id, and the way to ask.
#[derive(Clone)]
pub(super) struct Life {
    link: Link,
    /// `npc`, `session` or `world`: the param that holds the id.
    kind: &'static str,
    id: String,
    creation: Gd<OamRequest>,
}

impl Life {
    /// Asks for its creation with `method`.
    pub(super) fn begin(
        link: Link,
        kind: &'static str,
        id: String,
        method: &str,
        params: Result<Map<String, Value>, RequestError>,
    ) -> Self {
        let creation = link.ask(method, params.map(|params| with_id(kind, &id, params)));
        Self { link, kind, id, creation }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The request that creates it.
    pub(super) fn creation(&self) -> &Gd<OamRequest> {
        &self.creation
    }

    /// Asks for a method of it.
    pub(super) fn ask(
        &self,
        method: &str,
        params: Result<Map<String, Value>, RequestError>,
    ) -> Gd<OamRequest> {
        self.link.ask(method, params.map(|params| with_id(self.kind, &self.id, params)))
    }

    /// The same without an answer.
    pub(super) fn tell(&self, method: &str) {
        // A bridge that is closed has ended it already.
        let _ = self.link.notify(method, with_id(self.kind, &self.id, Map::new()).into());
    }
}

fn with_id(kind: &str, id: &str, params: Map<String, Value>) -> Map<String, Value> {
    [(kind.to_owned(), id.into())].into_iter().chain(params).collect()
}

/// A node with a life: it begins with the first thing that is asked of the node.
pub(super) trait Living: WithBaseField + Inherits<Node> {
    fn life(&mut self) -> &mut Option<Life>;

    /// Begins a life as the node's properties say.
    fn begin(&mut self) -> Result<Life, RequestError>;

    /// Tells that the creation has succeeded.
    fn tell_created(node: &Gd<Self>, result: &VarDictionary);

    /// Tells that the creation has failed.
    fn tell_create_failed(node: &Gd<Self>, error: &Gd<OamError>);

    fn alive(&mut self) -> Result<Life, RequestError> {
        if let Some(life) = self.life() {
            return Ok(life.clone());
        }
        let life = self.begin()?;
        self.live(life.clone());
        Ok(life)
    }

    fn ask(&mut self, method: &str, params: Result<Map<String, Value>, RequestError>) -> Gd<OamRequest> {
        match self.alive() {
            Ok(life) => life.ask(method, params),
            Err(error) => OamRequest::failed(method, error),
        }
    }

    /// Takes on a life, until its creation fails.
    fn live(&mut self, life: Life) {
        let node = self.to_gd();
        life.creation.signals().completed().builder().connect_other_gd(
            &node,
            |mut node: Gd<Self>, creation: Gd<OamRequest>| match OamRequest::outcome(&creation) {
                Ok(result) => Self::tell_created(&node, &result),
                Err(error) => {
                    godot_error!(
                        "'{}' was not created: {}",
                        node.upcast_ref::<Node>().get_name(),
                        error.bind().text()
                    );
                    // By now it may have been restored to another life.
                    node.bind_mut().life().take_if(|life| life.creation == creation);
                    Self::tell_create_failed(&node, &error);
                }
            },
        );
        *self.life() = Some(life);
    }
}
