//! What a node stands for in the supervisor, once it is created there.

use godot::prelude::*;
use serde_json::{Map, Value};

use super::{link::Link, request::OamRequest};
use crate::client::RequestError;

/// An NPC, a session or a world: an id, and the way to ask.
#[derive(Clone)]
pub(super) struct Life {
    link: Link,
    /// `npc`, `session` or `world`: the param that holds the id.
    kind: &'static str,
    id: String,
}

impl Life {
    pub(super) fn new(link: Link, kind: &'static str, id: String) -> Self {
        Self { link, kind, id }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Asks for a method of it.
    pub(super) fn ask(
        &self,
        method: &str,
        params: Result<Map<String, Value>, RequestError>,
    ) -> Gd<OamRequest> {
        let params = params.map(|params| self.named().into_iter().chain(params).collect());
        self.link.ask(method, params)
    }

    /// The same without an answer.
    pub(super) fn tell(&self, method: &str) {
        // A bridge that is closed has ended it already.
        let _ = self.link.notify(method, self.named().into());
    }

    fn named(&self) -> Map<String, Value> {
        Map::from_iter([(self.kind.to_owned(), self.id.as_str().into())])
    }
}
