//! How nodes ask: through the client of their bridge.

use std::{cell::RefCell, rc::Rc};

use godot::prelude::*;
use serde_json::{Map, Value};

use super::{bridge::OamBridge, request::OamRequest};
use crate::client::{Client, RequestError, Toolbox};

/// The client, as the bridge and all who ask through it hold it. Borrowed for moments only, never while scripts run.
pub(super) type SharedClient = Rc<RefCell<Client<Gd<OamRequest>>>>;

/// The tools of a node. Its requests hold them, too.
pub(super) type SharedTools = Rc<RefCell<Toolbox<Callable>>>;

/// A client, and the tools of the one who asks.
#[derive(Clone)]
pub(super) struct Link {
    client: SharedClient,
    tools: SharedTools,
}

impl Link {
    pub(super) fn new(client: SharedClient, tools: SharedTools) -> Self {
        Self { client, tools }
    }

    /// Asks. Bad params and a closed bridge fail the request, never the caller.
    pub(super) fn ask(
        &self,
        method: &str,
        params: Result<Map<String, Value>, RequestError>,
    ) -> Gd<OamRequest> {
        let request = OamRequest::new(method, Rc::clone(&self.tools));
        let sent = params.and_then(|params| {
            self.client.borrow_mut().request(method, Value::Object(params), request.clone())
        });
        if let Err(error) = sent {
            OamRequest::fail_later(request.clone(), error);
        }
        request
    }

    pub(super) fn notify(&self, method: &str, params: Value) -> Result<(), RequestError> {
        self.client.borrow_mut().notify(method, params)
    }
}

/// How a node asks, with tools of its own: through the bridge that it was given, else the nearest above it, else an autoload.
pub(super) fn link_of(
    node: &Gd<Node>,
    given: Option<&Gd<OamBridge>>,
    tools: &SharedTools,
) -> Result<Link, RequestError> {
    bridge_of(node, given)?.bind_mut().link_with(Rc::clone(tools))
}

fn bridge_of(node: &Gd<Node>, given: Option<&Gd<OamBridge>>) -> Result<Gd<OamBridge>, RequestError> {
    if let Some(bridge) = given.filter(|bridge| bridge.is_instance_valid()) {
        return Ok(bridge.clone());
    }
    let mut top = node.clone();
    while let Some(above) = top.get_parent() {
        if let Ok(bridge) = above.clone().try_cast::<OamBridge>() {
            return Ok(bridge);
        }
        top = above;
    }
    let autoload = top.get_children().iter_shared().find_map(|child| child.try_cast::<OamBridge>().ok());
    autoload.ok_or_else(|| {
        RequestError::closed_because(format!(
            "'{}' has no bridge: put it into the tree below an OamBridge, make one an autoload, or set its 'bridge'.",
            node.get_name()
        ))
    })
}

/// The id of what a node stands for: the one it was given, else one that no other node has.
pub(super) fn id_of(node: &Gd<Node>, given: &GString) -> String {
    if given.is_empty() { format!("{}-{}", node.get_name(), node.instance_id()) } else { given.to_string() }
}
