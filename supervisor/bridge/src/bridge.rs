//! The bridge: takes messages in, in order, and has them handled.
//!
//! [`Bridge::receive`] is the whole way in. It reads the envelope, gives a client's reply to the turn that waits for
//! it, and runs the handler of a request or notification under the one dispatch lock, so handlers run one at a time
//! in arrival order. What takes long goes on as a task and answers through its responder. The whole way out is the
//! outbox; it is never waited for here.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use oam_agent::{BoxFuture, ErrorCode, Model};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    client_calls::ClientCalls,
    client_id::ClientId,
    config::{BridgeConfig, ModelUse},
    message::{
        BridgeError, ClientReply, Incoming, Outgoing, Payload, ReceivedParams, Rejected, RequestId,
        parse_line,
    },
    methods,
    outbox::{Outbox, OutboxConsumer, OutboxLimits, outbox},
    params::Params,
    queue::{NewOperation, Operation},
    realm::{Books, Membership, OpenedRealm, Realm, RealmName, Subscriptions},
    registry::{Method, MethodRegistry, MethodSet, RealmUse, Reply, ReplyKind, Request},
    responder::{Answers, Recipient, Responder},
    transport::Connection,
};

/// How long `shutdown` waits for cancelled work to answer.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// A bridge between one client and its agents. Cloning refers to the same bridge.
///
/// Made within a tokio runtime, it runs its turns there; its methods may be called from any thread.
#[derive(Clone)]
pub struct Bridge {
    inner: Arc<Inner>,
}

struct Inner {
    client: ClientId,
    config: BridgeConfig,
    method_sets: Vec<Arc<dyn MethodSet>>,
    registry: MethodRegistry,
    /// Held while a message is handled.
    phase: Mutex<Phase>,
    outbox: Outbox,
    client_calls: ClientCalls,
    answers: Arc<Answers>,
    /// The realm, from when it was first used or named.
    membership: OnceLock<Membership>,
    /// Why the last `initialize` was refused, if it may have asked for a realm.
    refused_realm: Mutex<Option<BridgeError>>,
    /// The work of its requests.
    tasks: TaskTracker,
    /// Cancels the work of its requests.
    stop: CancellationToken,
    /// Cancelled when `shutdown` has been answered.
    is_shut_down: CancellationToken,
    runtime: Handle,
    last_local_id: AtomicU64,
}

enum Phase {
    Running,
    /// Requests that arrive now are answered after `shutdown` is.
    ShuttingDown {
        waiting: Vec<Responder>,
    },
    ShutDown,
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

impl Bridge {
    /// A bridge that hands every outgoing message to `send`, one at a time, in order, without a newline. `send` runs
    /// on a task of the current runtime, and should not block for long.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(config: BridgeConfig, mut send: impl FnMut(&str) + Send + 'static) -> Self {
        let (bridge, mut outgoing) = Self::connect(config);
        bridge.inner.runtime.spawn(async move {
            while let Some(batch) = outgoing.next_batch().await {
                for line in batch.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    send(std::str::from_utf8(line).expect("outgoing messages are JSON text"));
                }
            }
        });
        bridge
    }

    /// A bridge for a transport: outgoing messages are taken from the returned end of its outbox.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn connect(config: BridgeConfig) -> (Self, OutboxConsumer) {
        let limits = OutboxLimits { overflow_above: config.max_unread_output, ..OutboxLimits::default() };
        let (outbox, consumer) = outbox(limits);
        let mut method_sets = methods::built_in();
        method_sets.extend(config.method_sets.iter().cloned());
        let mut registry = MethodRegistry::default();
        for set in &method_sets {
            Arc::clone(set).register(&mut registry);
        }
        let inner = Inner {
            client: ClientId::new(),
            config,
            method_sets,
            registry,
            phase: Mutex::new(Phase::Running),
            answers: Arc::new(Answers::new(outbox.clone())),
            outbox,
            client_calls: ClientCalls::default(),
            membership: OnceLock::new(),
            refused_realm: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            is_shut_down: CancellationToken::new(),
            runtime: Handle::current(),
            last_local_id: AtomicU64::new(0),
        };
        (Self { inner: Arc::new(inner) }, consumer)
    }

    /// Takes in one message from the client: a line without its newline. Returns when the message has been handled
    /// as far as the next one must wait for it. Must not be called by a handler.
    pub fn receive(&self, line: &[u8]) {
        match parse_line(line) {
            Ok(None) => {}
            Ok(Some(Incoming::Request { id, method, params })) => {
                let to = Recipient::Client { id: id.clone() };
                self.handle(Some(id), &method, params, to);
            }
            Ok(Some(Incoming::Notification { method, params })) => {
                self.handle(None, &method, params, Recipient::Nobody);
            }
            Ok(Some(Incoming::Reply { id, reply })) => self.take_reply(&id, reply),
            Err(Rejected { id, error, request }) => {
                tracing::debug!("refused a line: {}", error.message);
                if let Some((method, params)) = request
                    && self.inner.registry.get(&method).is_some_and(|method| method.may_name_realm(&params))
                {
                    self.realm_is_refused(&error);
                }
                self.inner.outbox.push(Outgoing::Error { id: id.as_ref(), error: &error });
            }
        }
    }

    /// Calls a method from within this process, as if it had arrived now. Events and client calls of the work name
    /// `id`, or a private `local-<n>`. Dropping the future does not cancel the work. Must not be called by a
    /// handler.
    pub async fn call(
        &self,
        method: &str,
        params: Value,
        id: Option<RequestId>,
    ) -> Result<Value, BridgeError> {
        let (caller, answer) = oneshot::channel();
        self.call_then(method, Ok(Some(params)), id, move |result| {
            // A caller that went away asked for nothing more.
            let _ = caller.send(result);
        });
        let payload = answer.await.unwrap_or_else(|_| Err(BridgeError::shut_down()))?;
        Ok(payload.to_value())
    }

    /// Calls a method in the same way, without a future: the request has taken its place when this returns, and
    /// `answered` is called once, perhaps before that. It may run on any thread and under locks of the bridge, so it must
    /// return at once and must not use the bridge.
    pub fn call_then(
        &self,
        method: &str,
        params: ReceivedParams,
        id: Option<RequestId>,
        answered: impl FnOnce(Result<Payload, BridgeError>) + Send + 'static,
    ) -> Canceller {
        let id = id.unwrap_or_else(|| {
            let number = self.inner.last_local_id.fetch_add(1, Ordering::Relaxed) + 1;
            RequestId::from(format!("local-{number}").as_str())
        });
        self.handle(Some(id), method, params, Recipient::Caller(Box::new(answered)))
    }

    /// A handle that only sends notifications. It does not keep the bridge alive.
    pub fn notifier(&self) -> Notifier {
        Notifier { outbox: self.inner.outbox.clone() }
    }

    /// Whom [`current_client`](crate::current_client) tells of while its requests are worked on.
    pub fn client(&self) -> ClientId {
        self.inner.client
    }

    /// The configuration the bridge was made with.
    pub fn config(&self) -> &BridgeConfig {
        &self.inner.config
    }

    /// The model behind `"model": "system"`.
    pub fn system_model(&self, for_use: ModelUse<'_>) -> Arc<dyn Model> {
        self.inner.config.models.system(for_use)
    }

    /// The types of models that requests may name.
    pub fn model_types(&self) -> Vec<String> {
        self.inner.config.model_types()
    }

    /// The realm whose objects requests name. Unless `initialize` named one before, it is the bridge's own.
    pub fn realm(&self) -> &Realm {
        self.membership().realm()
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        self.membership().subscriptions()
    }

    fn membership(&self) -> &Membership {
        self.inner.membership.get_or_init(|| Membership::of(Arc::new(Realm::private())))
    }

    fn refused_realm(&self) -> MutexGuard<'_, Option<BridgeError>> {
        self.inner.refused_realm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request to decide the realm was refused that may have named one. No other realm takes the place of that: what the client has
    /// sent for it must not be done elsewhere.
    fn realm_is_refused(&self, error: &BridgeError) {
        let message = format!("This connection has no realm, as 'initialize' was refused: {}", error.message);
        *self.refused_realm() = Some(BridgeError { message, ..error.clone() });
    }

    /// Fails while the bridge has no realm, since it did not get the one that it asked for.
    fn must_have_realm(&self) -> Result<(), BridgeError> {
        match (self.inner.membership.get(), &*self.refused_realm()) {
            (None, Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Makes the realm of this name the bridge's, for all its life. Returns whether it was made for that. Called while
    /// `initialize` is handled.
    pub(crate) fn enter(&self, name: &RealmName) -> Result<bool, BridgeError> {
        if let Some(membership) = self.inner.membership.get() {
            return match membership.realm().name() {
                Some(current) if current == name => Ok(false),
                Some(current) => Err(BridgeError::invalid_params(format!(
                    "'client.realm' cannot change: this connection is in realm '{current}'."
                ))),
                None => Err(BridgeError::invalid_params(
                    "'client.realm' must be given before sessions, NPCs or worlds are used.",
                )),
            };
        }
        let directory = self.inner.config.realms.as_ref().ok_or_else(|| {
            BridgeError::invalid_params(
                "'client.realm' needs the background service: connect with 'oam stdio --connect'. This connection \
                 has only a realm of its own.",
            )
        })?;
        let OpenedRealm { realm, is_new } = directory.open(name)?;
        if let Some(books) = realm.books() {
            self.guard_output(Arc::clone(books));
        }
        self.inner.membership.get_or_init(|| Membership::of(realm));
        Ok(is_new)
    }

    /// The name of its realm, if that is a shared one.
    pub fn realm_name(&self) -> Option<&RealmName> {
        self.inner.membership.get().and_then(|membership| membership.realm().name())
    }

    /// The names of all methods, sorted.
    pub fn method_names(&self) -> Vec<&str> {
        self.inner.registry.names()
    }

    /// The names of all notifications the bridge may send.
    pub fn notification_names(&self) -> Vec<&'static str> {
        self.inner.method_sets.iter().flat_map(|set| set.notifications()).collect()
    }

    /// Resolves when no request waits for its answer and no notification is at work.
    pub async fn idle(&self) {
        self.inner.answers.none_owed().await;
    }

    /// How many requests wait for their answers, and notifications are at work.
    pub fn unanswered(&self) -> usize {
        self.inner.answers.owed()
    }

    /// Does what the `shutdown` method does; returns when it is done.
    pub async fn shut_down(&self) {
        {
            let mut phase = self.phase();
            if matches!(*phase, Phase::Running) {
                let to = Recipient::Nobody;
                self.begin_shutdown(&mut phase, Responder::new(to, &self.inner.answers));
            }
        }
        self.wait_until_shut_down().await;
    }

    /// Resolves when `shutdown` has been answered.
    pub async fn wait_until_shut_down(&self) {
        self.inner.is_shut_down.cancelled().await;
    }

    /// Sends a notification, behind everything that has been said so far. `params` is an object.
    pub fn notify(&self, method: &str, params: &Payload) {
        self.notifier().notify(method, params);
    }

    /// Tells all method sets who the client is. Called while `initialize` is handled.
    pub(crate) fn introduce(&self, client: &Map<String, Value>) {
        for set in &self.inner.method_sets {
            set.client_introduced(self, client);
        }
    }

    /// Where messages leave, for whoever watches how many wait.
    pub fn outbox(&self) -> &Outbox {
        &self.inner.outbox
    }

    /// From now on nothing is said that the books' journal has not on disk, and nothing any more once a change is lost.
    /// What calls within this process return is not held back.
    fn guard_output(&self, books: Arc<Books>) {
        let outbox = self.inner.outbox.clone();
        let guarding = outbox.guard(Arc::clone(books.journal()));
        self.inner.runtime.spawn(async move {
            let mut guarding = pin!(guarding);
            if books.lost().run_until_cancelled(&mut guarding).await.is_none() {
                outbox.close();
                guarding.await;
            }
        });
    }

    pub(crate) fn client_calls(&self) -> &ClientCalls {
        &self.inner.client_calls
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.inner.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_reply(&self, id: &RequestId, reply: ClientReply) {
        let is_taken = id.as_text().is_some_and(|id| self.inner.client_calls.answer(id, reply));
        if !is_taken {
            tracing::warn!(%id, "ignored an answer to a call that is not open");
        }
    }

    fn handle(
        &self,
        id: Option<RequestId>,
        method: &str,
        params: ReceivedParams,
        to: Recipient,
    ) -> Canceller {
        tracing::debug!(method, id = id.as_ref().map(tracing::field::display), "a request arrived");
        let mut responder = Responder::new(to, &self.inner.answers);
        let mut phase = self.phase();
        match &mut *phase {
            Phase::Running => {}
            Phase::ShuttingDown { waiting } => {
                waiting.push(responder);
                return Canceller::NOTHING;
            }
            Phase::ShutDown => {
                responder.answer(Err(BridgeError::shut_down()));
                return Canceller::NOTHING;
            }
        }
        let registered = self.inner.registry.get(method);
        if registered.is_some_and(|method| method.realm_use == RealmUse::Changes) {
            responder.is_of_change();
        }
        let replied = match registered {
            Some(registered) => self.invoke(registered, id, method, params),
            None => Err(BridgeError::method_not_found(method)),
        };
        match replied {
            Ok(Reply(ReplyKind::Now(payload))) => responder.answer(Ok(payload)),
            Ok(Reply(ReplyKind::Later(work))) => return self.spawn(work, responder),
            Ok(Reply(ReplyKind::Queued { queue, work })) => {
                let limit = self.inner.config.max_pending_operations;
                let operation = NewOperation {
                    client: self.inner.client,
                    work,
                    responder,
                    stop: self.inner.stop.child_token(),
                    tracked: self.inner.tasks.token(),
                };
                let pushed = queue.push(limit, operation, &self.inner.runtime);
                match pushed {
                    Ok(operation) => return Canceller(Cancelled::Operation(operation)),
                    Err(responder) => {
                        let owner = queue.owner();
                        let message =
                            format!("The queue of {owner} is full: {limit} operations are unfinished.");
                        let error = BridgeError::agent(ErrorCode::Busy, message).with("limit", limit);
                        responder.answer(Err(error));
                    }
                }
            }
            Ok(Reply(ReplyKind::Shutdown)) => self.begin_shutdown(&mut phase, responder),
            Err(error) => responder.answer(Err(error)),
        }
        Canceller::NOTHING
    }

    fn invoke(
        &self,
        registered: &Method,
        id: Option<RequestId>,
        method: &str,
        params: ReceivedParams,
    ) -> Result<Reply, BridgeError> {
        let may_name_realm = registered.may_name_realm(&params);
        let replied = self.run_handler(registered, id, method, params);
        match &replied {
            Err(error) if may_name_realm => self.realm_is_refused(error),
            Ok(_) if registered.realm_use == RealmUse::Decides => *self.refused_realm() = None,
            _ => {}
        }
        replied
    }

    fn run_handler(
        &self,
        registered: &Method,
        id: Option<RequestId>,
        method: &str,
        params: ReceivedParams,
    ) -> Result<Reply, BridgeError> {
        let params = Params::of_request(params)?;
        let request = Request { bridge: self.clone(), id, params };
        if matches!(registered.realm_use, RealmUse::Looks | RealmUse::Changes) {
            self.must_have_realm()?;
        }
        let durable = (registered.realm_use == RealmUse::Changes)
            .then(|| self.membership().realm())
            .filter(|realm| realm.is_durable());
        if let Some(realm) = durable {
            realm.ready()?;
        }
        let reply =
            catch_unwind(AssertUnwindSafe(|| (registered.handler)(request))).unwrap_or_else(|_| {
                Err(BridgeError::internal_error(format!(
                    "'{method}' failed unexpectedly; please report this."
                )))
            })?;
        match durable {
            Some(realm) => reply.of_change(realm),
            None => Ok(reply),
        }
    }

    fn spawn(
        &self,
        work: BoxFuture<'static, Result<Payload, BridgeError>>,
        responder: Responder,
    ) -> Canceller {
        let stop = self.inner.stop.child_token();
        let canceller = Canceller(Cancelled::Work(stop.clone()));
        let task = async move {
            let result = tokio::select! {
                biased;
                result = work => result,
                () = stop.cancelled() => Err(BridgeError::cancelled("The request was cancelled.")),
            };
            responder.answer(result);
        };
        self.inner.tasks.spawn_on(self.inner.client.scope(task), &self.inner.runtime);
        canceller
    }

    fn begin_shutdown(&self, phase: &mut Phase, responder: Responder) {
        *phase = Phase::ShuttingDown { waiting: Vec::new() };
        let bridge = self.clone();
        self.inner.runtime.spawn(async move { bridge.finish_shutdown(responder).await });
    }

    /// Cancels all work, waits for its answers, then answers `shutdown` and whatever arrived meanwhile.
    async fn finish_shutdown(&self, responder: Responder) {
        let inner = &*self.inner;
        inner.stop.cancel();
        inner.tasks.close();
        let stopping = async {
            let sets = inner
                .method_sets
                .iter()
                .map(|set| AssertUnwindSafe(async { set.shut_down().await }).catch_unwind());
            if join_all(sets).await.iter().any(Result::is_err) {
                tracing::error!("a set of methods failed unexpectedly while it shut down");
            }
            if let Some(membership) = inner.membership.get() {
                membership.leave();
            }
            inner.tasks.wait().await;
        };
        if tokio::time::timeout(SHUTDOWN_LIMIT, stopping).await.is_err() {
            tracing::warn!("shut down although some work has not answered its cancellation yet");
        }
        {
            let mut phase = self.phase();
            responder.answer(Ok(Payload::empty_object()));
            if let Phase::ShuttingDown { waiting } = std::mem::replace(&mut *phase, Phase::ShutDown) {
                for responder in waiting {
                    responder.answer(Err(BridgeError::shut_down()));
                }
            }
        }
        inner.is_shut_down.cancel();
        if let Some(on_shutdown) = &inner.config.on_shutdown {
            inner.outbox.written().await;
            on_shutdown();
        }
    }
}

/// Sends notifications for a bridge.
#[derive(Debug, Clone)]
pub struct Notifier {
    outbox: Outbox,
}

impl Notifier {
    /// Sends a notification, behind everything that has been said so far. `params` is an object.
    pub fn notify(&self, method: &str, params: &Payload) {
        self.outbox.push(Outgoing::Notification { method, params });
    }
}

/// Cancels the work of one request.
#[derive(Debug)]
pub struct Canceller(Cancelled);

#[derive(Debug)]
enum Cancelled {
    /// The request was answered at once, or nothing can cancel it.
    Nothing,
    Operation(Operation),
    Work(CancellationToken),
}

impl Canceller {
    const NOTHING: Self = Self(Cancelled::Nothing);

    /// Cancels the request, which is then answered with `cancelled` in its turn. `false` when it changes nothing: the work
    /// is done, or what it does is certain and will be done in a moment.
    pub fn cancel(&self) -> bool {
        match &self.0 {
            Cancelled::Nothing => false,
            Cancelled::Operation(operation) => operation.cancel(),
            Cancelled::Work(work) => {
                let newly_cancelled = !work.is_cancelled();
                work.cancel();
                newly_cancelled
            }
        }
    }
}

impl Connection for Bridge {
    fn receive(&self, line: &[u8]) {
        self.receive(line);
    }

    fn oversized_line(&self, limit: usize) {
        self.inner.outbox.push(Outgoing::Error { id: None, error: &BridgeError::line_too_long(limit) });
    }

    async fn idle(&self) {
        self.idle().await;
    }

    async fn shut_down(&self) {
        self.shut_down().await;
    }

    async fn ended(&self) {
        self.wait_until_shut_down().await;
    }
}
