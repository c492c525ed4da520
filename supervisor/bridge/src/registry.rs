//! The methods that a bridge serves, and how code outside this crate adds its own.
//!
//! A handler runs while no other does, in the order its requests arrived. It validates everything, does what
//! depends on that order, and returns a [`Reply`]: a result, or work that goes on while later requests are
//! handled. Whatever awaits a model belongs into that work.

use std::{collections::HashMap, sync::Arc};

use futures_util::FutureExt;
use oam_agent::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tracing::{Instrument, Span};

use crate::{
    bridge::Bridge,
    message::{BridgeError, Payload, ReceivedParams, RequestId},
    params::Params,
    queue::{Operation, OperationQueue, Work},
    realm::Realm,
};

/// A request, or a notification, on its way to its handler.
#[derive(Debug)]
pub struct Request {
    /// The bridge that received it.
    pub bridge: Bridge,
    /// What events and client calls name as their cause (`requestId`); `None` for a notification.
    pub id: Option<RequestId>,
    /// The parameters; absent ones are an empty object.
    pub params: Params<'static>,
}

/// What a handler returns.
pub struct Reply(pub(crate) ReplyKind);

pub(crate) enum ReplyKind {
    Now(Payload),
    Later(BoxFuture<'static, Result<Payload, BridgeError>>),
    Queued { queue: Arc<OperationQueue>, work: Work },
    Shutdown,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            ReplyKind::Now(_) => "Now",
            ReplyKind::Later(_) => "Later",
            ReplyKind::Queued { .. } => "Queued",
            ReplyKind::Shutdown => "Shutdown",
        })
    }
}

impl Reply {
    /// The result, at once.
    pub fn now(result: &(impl Serialize + ?Sized)) -> Result<Self, BridgeError> {
        Ok(Self(ReplyKind::Now(Payload::of(result))))
    }

    /// `{}`, at once.
    pub fn empty() -> Result<Self, BridgeError> {
        Ok(Self(ReplyKind::Now(Payload::empty_object())))
    }

    /// The result of work that runs beside everything else. Only `shutdown` cancels it, by dropping it.
    pub fn later(
        work: impl Future<Output = Result<Payload, BridgeError>> + Send + 'static,
    ) -> Result<Self, BridgeError> {
        Ok(Self(ReplyKind::Later(Box::pin(work.in_current_span()))))
    }

    /// The result of work that waits for its turn in `queue`. The work must [commit](Operation::commit) right before
    /// it changes something; until then it may be cancelled, by dropping it.
    pub fn queued<F>(
        queue: &Arc<OperationQueue>,
        work: impl FnOnce(Operation) -> F + Send + 'static,
    ) -> Result<Self, BridgeError>
    where
        F: Future<Output = Result<Payload, BridgeError>> + Send + 'static,
    {
        // What it logs is about the connection whose request it is.
        let span = Span::current();
        let work: Work = Box::new(move |operation| Box::pin(work(operation).instrument(span)));
        Ok(Self(ReplyKind::Queued { queue: Arc::clone(queue), work }))
    }

    /// The reply of a method that changes a durable realm: it is only given when the change was written down.
    pub(crate) fn of_change(self, realm: &Arc<Realm>) -> Result<Self, BridgeError> {
        let durable = |work: BoxFuture<'static, Result<Payload, BridgeError>>, realm: Arc<Realm>| {
            async move {
                let result = work.await?;
                realm.is_written_down()?;
                Ok(result)
            }
            .boxed()
        };
        let realm = Arc::clone(realm);
        Ok(Self(match self.0 {
            ReplyKind::Now(result) => {
                realm.is_written_down()?;
                ReplyKind::Now(result)
            }
            ReplyKind::Later(work) => ReplyKind::Later(durable(work, realm)),
            ReplyKind::Queued { queue, work } => {
                ReplyKind::Queued { queue, work: Box::new(move |operation| durable(work(operation), realm)) }
            }
            ReplyKind::Shutdown => ReplyKind::Shutdown,
        }))
    }
}

type Handler = Arc<dyn Fn(Request) -> Result<Reply, BridgeError> + Send + Sync>;

/// A method as it was registered.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) handler: Handler,
    pub(crate) realm_use: RealmUse,
}

impl Method {
    /// Whether a request for it may name a shared realm, as far as can be told of one that is refused.
    pub(crate) fn may_name_realm(&self, params: &ReceivedParams) -> bool {
        let names_none = |client: Option<&Value>| match client {
            None | Some(Value::Null) => true,
            Some(Value::Object(client)) => client.get("realm").is_none_or(Value::is_null),
            Some(_) => false,
        };
        self.realm_use == RealmUse::Decides
            && match params {
                Ok(None | Some(Value::Null)) => false,
                Ok(Some(Value::Object(members))) => !names_none(members.get("client")),
                Ok(Some(_)) | Err(_) => true,
            }
    }
}

/// What a method does with the objects of the realm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RealmUse {
    /// It has nothing to do with them.
    None,
    /// It decides which realm that is.
    Decides,
    /// It looks at them, or at what is done with them.
    Looks,
    /// It changes them: it is refused while changes cannot be kept.
    Changes,
}

/// Collects methods by name while a bridge is made.
#[derive(Default, Clone)]
pub struct MethodRegistry {
    methods: HashMap<String, Method>,
}

impl std::fmt::Debug for MethodRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MethodRegistry").field(&self.names()).finish()
    }
}

impl MethodRegistry {
    /// Adds a method, or replaces the one of that name.
    pub fn register(
        &mut self,
        name: &str,
        handler: impl Fn(Request) -> Result<Reply, BridgeError> + Send + Sync + 'static,
    ) {
        self.insert(name, RealmUse::None, handler);
    }

    /// Adds a method that looks at what is in the realm. It fails while the connection is not in the realm that it asked for.
    pub fn register_look(
        &mut self,
        name: &str,
        handler: impl Fn(Request) -> Result<Reply, BridgeError> + Send + Sync + 'static,
    ) {
        self.insert(name, RealmUse::Looks, handler);
    }

    /// Adds a method that changes what is in the realm. It fails in the same case, and with `storage_failed` while a durable
    /// realm cannot be written.
    pub fn register_change(
        &mut self,
        name: &str,
        handler: impl Fn(Request) -> Result<Reply, BridgeError> + Send + Sync + 'static,
    ) {
        self.insert(name, RealmUse::Changes, handler);
    }

    pub(crate) fn insert(
        &mut self,
        name: &str,
        realm_use: RealmUse,
        handler: impl Fn(Request) -> Result<Reply, BridgeError> + Send + Sync + 'static,
    ) {
        self.methods.insert(name.to_owned(), Method { handler: Arc::new(handler), realm_use });
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Method> {
        self.methods.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.methods.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// Methods that belong together and share state.
pub trait MethodSet: Send + Sync {
    /// Registers the methods. Called once per bridge, after the built-in methods, which may be replaced.
    fn register(self: Arc<Self>, registry: &mut MethodRegistry);

    /// Names of the notifications that the methods send, for `initialize`.
    fn notifications(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The client introduced itself with `initialize`; `client` is what it said. May happen several times, or never.
    fn client_introduced(&self, bridge: &Bridge, client: &serde_json::Map<String, serde_json::Value>) {
        let _ = (bridge, client);
    }

    /// The bridge shuts down: cancel queues and let go of everything. The wait for it is bounded.
    fn shut_down(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}
