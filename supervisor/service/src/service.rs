//! The service from its start to its end.

use std::{
    io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interprocess::local_socket::traits::StreamCommon;
use oam_agent::UnavailableReason;
use oam_bridge::{BridgeConfig, ModelFactory, ModelUse};
use oam_store::ProcessLock;
use oam_system::SupervisorMethods;
use oam_workers::WorkerPool;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::Instrument;

use crate::{
    activation::Manager,
    config::{ServiceConfig, ServiceLimits},
    connection::{self, Opening},
    connections::{Connections, Place},
    entry::{self, Entry},
    error::ServiceError,
    fair_share::FairShares,
    manager::ManagerLink,
    methods::ServiceMethods,
    paths,
    peer::{self, PeerUser},
    phase::{Phase, StopReason},
    realms::{Realms, RealmsStatus},
    shared_look::SharedLook,
    socket::{FrontSocket, SocketFile, Stream},
    watchdog,
};

/// How long to wait for descriptors or memory to accept with.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(100);

/// Connections that are being told why they are not served. Beyond, they are closed without a word.
const MOST_FAREWELLS: usize = 16;

/// How often to look again whether realms that nobody is connected to are still at work.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// How often to look whether the socket and the store are still in their places.
const PLACES_PAUSE: Duration = Duration::from_secs(3);

/// Connections beyond the limit that ask about the service.
const RESERVED: usize = 4;

/// What connections may take after their time is over: to cancel what runs, and to write the last answers.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What the disk may take for what is queued when the service ends.
const CLOSING_TIME: Duration = Duration::from_secs(10);

/// How much longer than it said a service that hands over may have its realms.
const PREDECESSOR_GRACE: Duration = Duration::from_secs(15);

/// A running service. Dropping it ends it at once.
#[derive(Debug)]
pub struct Service {
    shared: Arc<Shared>,
    _end: DropGuard,
}

/// What tests put in the place of the system.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) peer_user: PeerUser,
    pub(crate) manager: ManagerLink,
    pub(crate) places_pause: Duration,
}

impl System {
    fn of_process() -> Self {
        Self { peer_user: peer::of_system, manager: ManagerLink::of_process(), places_pause: PLACES_PAUSE }
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) started: Instant,
    pub(crate) manager_kind: Option<Manager>,
    pub(crate) file: SocketFile,
    pub(crate) log: Option<PathBuf>,
    pub(crate) limits: watch::Sender<ServiceLimits>,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) realms: Arc<Realms>,
    /// For `service/status`.
    pub(crate) realms_seen: SharedLook<RealmsStatus>,
    pub(crate) pool: Option<WorkerPool>,
    /// Who the workers play for next.
    pub(crate) fair_shares: Option<FairShares>,
    /// What connections are made with from now on.
    bridge: Mutex<BridgeConfig>,
    user: u32,
    system: System,
    lock: Mutex<Option<ProcessLock>>,
    accepting: Mutex<Option<Accepting>>,
    /// The connection of a process that is about to take this one's place.
    successor: Mutex<Option<u64>>,
    farewells: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Ends everything at once.
    cut: CancellationToken,
}

/// The task that accepts connections.
#[derive(Debug)]
struct Accepting {
    task: JoinHandle<FrontSocket>,
    end: CancellationToken,
}

impl Service {
    /// Listens, and serves from then on, on the current runtime, which should have several threads: while a realm is read from
    /// disk the others go on.
    ///
    /// A store that cannot be opened does not keep the service from starting; requests for realms tell what is wrong
    /// with it.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    pub async fn start(config: ServiceConfig) -> Result<Self, ServiceError> {
        Self::start_on(config, System::of_process()).await
    }

    pub(crate) async fn start_on(config: ServiceConfig, system: System) -> Result<Self, ServiceError> {
        let ServiceConfig { socket, activation, data, log, mut bridge, pool, replace, limits } = config;
        let user = nix::unistd::geteuid().as_raw();
        let manager_kind = activation.as_ref().map(|activation| activation.manager);
        let Entry { front, file, lock, predecessor } = if let Some(activation) = activation {
            entry::adopt(activation)?
        } else {
            let path = socket.map_or_else(paths::socket, Ok)?;
            entry::listen(&path, user, replace).await?
        };
        let fair_shares = pool.as_ref().map(FairShares::of_pool);
        bridge.realms = None;
        bridge.models = shared_fairly(fair_shares.as_ref(), bridge.models);
        let realms = Arc::new(Realms::new(data, limits.realms, bridge.clone()));
        bridge.realms = Some(realms.clone());
        let cut = CancellationToken::new();
        let shared = Arc::new(Shared {
            started: Instant::now(),
            manager_kind,
            file,
            log,
            limits: watch::Sender::new(limits),
            phase: watch::Sender::new(Phase::Serving),
            connections: Connections::new(),
            realms,
            realms_seen: SharedLook::new(),
            pool,
            fair_shares,
            bridge: Mutex::new(bridge),
            user,
            system,
            lock: Mutex::new(Some(lock)),
            accepting: Mutex::new(None),
            successor: Mutex::new(None),
            farewells: Arc::new(Semaphore::new(MOST_FAREWELLS)),
            tasks: TaskTracker::new(),
            cut: cut.clone(),
        });
        shared.open_store(predecessor).await;
        shared.begin(front);
        Ok(Self { shared, _end: cut.drop_guard() })
    }

    /// Where it listens.
    pub fn socket_path(&self) -> &Path {
        self.shared.file.path()
    }

    /// The connections that are open; those that are refused do not count.
    pub fn open_connections(&self) -> usize {
        *self.shared.connections.counts().borrow()
    }

    /// Waits until the service has ended, and tells why.
    pub async fn stopped(&self) -> StopReason {
        self.shared.stopped().await
    }

    /// Stops in order: accepts nobody any more, lets turns end for as long as the [drain](ServiceLimits::drain) allows, ends the
    /// connections, writes what is queued for the disk. Workers are left to who started them.
    pub async fn stop(&self) {
        self.shared.stop(StopReason::Requested);
        self.stopped().await;
    }

    /// Accepts nobody any more and ends all connections now. [`stop`](Self::stop), which is still needed, does not wait for them
    /// any longer then.
    pub fn cut(&self) {
        self.shared.cut.cancel();
    }

    /// Goes on with these limits, and with this for connections and realms that are opened from now on.
    pub fn reload(&self, limits: ServiceLimits, bridge: BridgeConfig) {
        self.shared.system.manager.reloading(|| self.shared.reload(limits, bridge));
    }
}

impl Shared {
    /// Opens the store now, or in the background while a predecessor still has it.
    async fn open_store(self: &Arc<Self>, predecessor: Option<Duration>) {
        let realms = Arc::clone(&self.realms);
        let patience = predecessor.map_or(Duration::ZERO, |drain| drain + PREDECESSOR_GRACE);
        let opening = tokio::task::spawn_blocking(move || realms.open_store(patience));
        if predecessor.is_none()
            && let Err(error) = opening.await
        {
            tracing::error!(%error, "the store was not opened");
        }
    }

    fn begin(self: &Arc<Self>, front: FrontSocket) {
        tracing::info!(socket = %self.file.path().display(), pid = std::process::id(), "the service listens");
        self.accept_at(front);
        let own = Arc::clone(self);
        tokio::spawn(self.cut.clone().run_until_cancelled_owned(async move { own.watch_idleness().await }));
        let own = Arc::clone(self);
        tokio::spawn(self.cut.clone().run_until_cancelled_owned(async move { own.watch_places().await }));
        let own = Arc::clone(self);
        tokio::spawn(self.cut.clone().run_until_cancelled_owned(async move {
            let mut progress = watchdog::Progress::default();
            own.system.manager.watch(|| progress.is_well(own.realms.progress())).await;
        }));
        self.system.manager.ready(&format!("serving at {}", self.file.path().display()));
    }

    async fn stopped(&self) -> StopReason {
        let mut phase = self.phase.subscribe();
        let stopped = phase.wait_for(|phase| matches!(phase, Phase::Stopped(_))).await;
        match stopped.as_deref() {
            Ok(Phase::Stopped(reason)) => reason.clone(),
            // The sender lives as long as this does, and waited for was nothing else.
            _ => StopReason::Requested,
        }
    }

    fn accept_at(self: &Arc<Self>, front: FrontSocket) {
        let end = self.cut.child_token();
        let task = tokio::spawn(Arc::clone(self).accept_until(end.clone(), front));
        *lock(&self.accepting) = Some(Accepting { task, end });
    }

    async fn accept_until(self: Arc<Self>, end: CancellationToken, front: FrontSocket) -> FrontSocket {
        loop {
            let Some(accepted) = end.run_until_cancelled(front.accept()).await else { return front };
            match accepted {
                Ok(stream) => self.receive(stream),
                Err(error) if concerns_one_connection(&error) => {}
                Err(error) if is_exhaustion(&error) => {
                    tracing::warn!(%error, "cannot accept connections now");
                    sleep(EXHAUSTION_PAUSE).await;
                }
                Err(error) => {
                    tracing::error!(%error, "the socket failed");
                    self.stop(StopReason::Failed(format!("the socket failed: {error}")));
                    return front;
                }
            }
        }
    }

    /// Serves who comes in, if it may.
    fn receive(self: &Arc<Self>, stream: Stream) {
        match (self.system.peer_user)(&stream) {
            Ok(user) if user == self.user => {}
            Ok(user) => return tracing::warn!(user, "another user's connection was refused"),
            Err(error) => return tracing::warn!(%error, "a connection whose user is not known was refused"),
        }
        let peer = stream.peer_creds().ok().and_then(|peer| peer.pid()).and_then(|pid| pid.try_into().ok());
        let limit = self.limits.borrow().connections;
        match self.connections.admit(limit, peer) {
            Some(place) => self.serve(stream.into(), place),
            None => self.receive_beyond(limit, stream.into(), peer),
        }
    }

    /// Turns away who finds no place, but serves those who ask about the service: that it is full is when they do.
    fn receive_beyond(self: &Arc<Self>, limit: NonZeroUsize, mut opening: Opening, peer: Option<u32>) {
        let Ok(permit) = Arc::clone(&self.farewells).try_acquire_owned() else { return };
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            if opening.asks_about_the_service().await
                && let Some(place) = shared.connections.admit(limit.saturating_add(RESERVED), peer)
            {
                shared.serve(opening, place);
            } else {
                tracing::warn!(limit, "a connection was refused: there are as many as there may be");
                connection::turn_away(opening, connection::too_many(limit.get())).await;
            }
            drop(permit);
        });
    }

    fn serve(self: &Arc<Self>, opening: Opening, place: Place) {
        let id = place.connection.id;
        let span = tracing::error_span!("connection", id, client = tracing::field::Empty);
        let config = self.config_of(&place, &span);
        let shared = Arc::clone(self);
        let serving = async move {
            tracing::info!(pid = place.connection.peer, "a connection opened");
            let serving = connection::run(opening, place, config, shared.phase.subscribe());
            match shared.cut.run_until_cancelled(serving).await {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::error!(%error, "a connection cannot be served"),
                None => tracing::warn!("the connection was cut"),
            }
            shared.connection_ended(id);
        };
        self.tasks.spawn(serving.instrument(span));
    }

    /// Why the model `system` cannot be asked, if so.
    pub(crate) fn model_unavailable(&self) -> Option<UnavailableReason> {
        let models = Arc::clone(&lock(&self.bridge).models);
        models.system(ModelUse::Availability).availability().unavailable
    }

    fn config_of(self: &Arc<Self>, place: &Place, span: &tracing::Span) -> BridgeConfig {
        let mut config = lock(&self.bridge).clone();
        config.method_sets.push(Arc::new(ServiceMethods {
            service: Arc::downgrade(self),
            connection: Arc::downgrade(&place.connection),
            span: span.clone(),
        }));
        if let Some(pool) = &self.pool {
            config.method_sets.push(Arc::new(SupervisorMethods::new(pool.clone())));
        }
        config
    }

    fn turn_away(&self, stream: Stream, why: oam_bridge::BridgeError) {
        if let Ok(permit) = Arc::clone(&self.farewells).try_acquire_owned() {
            self.tasks.spawn(async move {
                connection::turn_away(stream.into(), why).await;
                drop(permit);
            });
        }
    }

    /// Promises a successor to make room when its connection ends; returns how long realms may be kept.
    pub(crate) fn promise_handover(&self, connection: u64) -> Result<Duration, String> {
        if let Some(manager) = self.manager_kind {
            return Err(format!("{manager} keeps the socket; restart the service through it."));
        }
        if *self.phase.borrow() != Phase::Serving {
            return Err("The service is ending already.".to_owned());
        }
        let mut successor = lock(&self.successor);
        match *successor {
            Some(other) if other != connection => {
                return Err("Another process is about to take the service's place.".to_owned());
            }
            _ => *successor = Some(connection),
        }
        tracing::info!(connection, "another process asks to take this one's place");
        Ok(self.limits.borrow().drain)
    }

    fn connection_ended(self: &Arc<Self>, id: u64) {
        let mut successor = lock(&self.successor);
        if successor.take_if(|successor| *successor == id).is_none() {
            return;
        }
        if self.file.is_in_place() {
            tracing::warn!("the process that asked to take this one's place did not do so");
        } else {
            self.stop(StopReason::HandedOver);
        }
    }

    /// Ends the service when nobody finds it any more, or its store is lost to it.
    async fn watch_places(self: Arc<Self>) {
        while *self.phase.borrow() == Phase::Serving {
            sleep(self.system.places_pause).await;
            let shared = Arc::clone(&self);
            // A file system may take its time.
            if let Err(error) = tokio::task::spawn_blocking(move || shared.stop_if_lost()).await {
                tracing::error!(%error, "the files of the service were not looked at");
            }
        }
    }

    fn stop_if_lost(self: &Arc<Self>) {
        if let Err(error) = self.realms.check_store() {
            self.stop(StopReason::Failed(error.to_string()));
        }
        let successor = lock(&self.successor);
        // A successor puts its own socket there.
        if successor.is_none() && !self.file.is_in_place() {
            let path = self.file.path().display();
            self.stop(StopReason::Failed(format!("the socket {path} was removed or replaced")));
        }
    }

    /// Ends the service once nobody has used it for as long as its limits say.
    async fn watch_idleness(self: Arc<Self>) {
        let (mut counts, mut limits) = (self.connections.counts(), self.limits.subscribe());
        loop {
            let limit = limits.borrow_and_update().idle_exit;
            let is_empty = *counts.borrow_and_update() == 0;
            let idle = async {
                match limit {
                    Some(limit) if is_empty => sleep(limit).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                // The senders live as long as this does.
                _ = counts.changed() => {}
                _ = limits.changed() => {}
                () = idle => {
                    if self.end_if_unused().await {
                        return;
                    }
                    sleep(BUSY_PAUSE).await;
                }
            }
        }
    }

    /// Stops unless somebody came in at the last moment, or works in a realm without being connected.
    async fn end_if_unused(self: &Arc<Self>) -> bool {
        let Some(front) = self.take_front().await else { return true };
        if *self.connections.counts().borrow() == 0 && !self.realms.is_busy() {
            self.stop_with(StopReason::Idle, Some(front));
            return true;
        }
        self.accept_at(front);
        let is_serving = *self.phase.borrow() == Phase::Serving;
        // Whoever ended that meanwhile may have found nothing to end.
        if !is_serving && let Some(front) = self.take_front().await {
            self.close(front, false);
        }
        false
    }

    fn reload(&self, limits: ServiceLimits, mut bridge: BridgeConfig) {
        bridge.realms = None;
        bridge.models = shared_fairly(self.fair_shares.as_ref(), bridge.models);
        self.realms.reload(limits.realms, bridge.clone());
        bridge.realms = Some(self.realms.clone());
        *lock(&self.bridge) = bridge;
        self.limits.send_replace(limits);
        tracing::info!("the settings were read again");
    }

    /// Begins to stop, unless that has begun.
    fn stop(self: &Arc<Self>, reason: StopReason) {
        self.stop_with(reason, None);
    }

    /// The same where accepting has ended already.
    fn stop_with(self: &Arc<Self>, reason: StopReason, front: Option<FrontSocket>) {
        let deadline = Instant::now() + self.limits.borrow().drain;
        let has_begun = self.phase.send_if_modified(|phase| {
            let begins = *phase == Phase::Serving;
            if begins {
                *phase = match reason {
                    StopReason::HandedOver => Phase::HandingOver { deadline },
                    _ => Phase::Stopping { deadline },
                };
            }
            begins
        });
        if has_begun {
            tracing::info!(%reason, "the service stops");
            self.system.manager.stopping();
            tokio::spawn(Arc::clone(self).wind_down(reason, deadline, front));
        } else if let Some(front) = front {
            self.close(front, false);
        }
    }

    async fn wind_down(self: Arc<Self>, reason: StopReason, deadline: Instant, front: Option<FrontSocket>) {
        let front = match front {
            Some(front) => Some(front),
            None => self.take_front().await,
        };
        if let Some(front) = front {
            self.close(front, reason == StopReason::HandedOver);
        }
        if reason == StopReason::HandedOver {
            // The successor serves alone from now on, and opens the realms when they are closed here.
            lock(&self.lock).take();
            let _ = timeout_at(deadline + LAST_WORDS, self.realms.unused()).await;
            self.close_realms().await;
            let mut counts = self.connections.counts();
            let _ = timeout_at(deadline, counts.wait_for(|count| *count == 0)).await;
            self.phase.send_replace(Phase::Stopping { deadline });
        }
        self.realms.give_up_opening();
        self.tasks.close();
        let ended = timeout_at(deadline + LAST_WORDS, self.tasks.wait());
        if self.cut.run_until_cancelled(ended).await.is_none_or(|ended| ended.is_err()) {
            self.cut.cancel();
            if timeout(LAST_WORDS, self.tasks.wait()).await.is_err() {
                tracing::error!("a connection does not end; it is left behind");
            }
        }
        self.close_realms().await;
        lock(&self.lock).take();
        tracing::info!(%reason, "the service has stopped");
        self.phase.send_replace(Phase::Stopped(reason));
    }

    /// Accepts nobody any more.
    async fn take_front(&self) -> Option<FrontSocket> {
        let Accepting { task, end } = lock(&self.accepting).take()?;
        end.cancel();
        match task.await {
            Ok(front) => Some(front),
            Err(error) => {
                tracing::error!(%error, "accepting connections failed");
                None
            }
        }
    }

    /// Listens no more. Who had connected before is served while a successor is there for the others, and turned away
    /// otherwise; where a manager keeps the socket, it waits for the next start.
    fn close(self: &Arc<Self>, front: FrontSocket, has_successor: bool) {
        if self.manager_kind.is_some() {
            return;
        }
        self.file.remove();
        let waiting = front.into_backlog().unwrap_or_else(|error| {
            tracing::warn!(%error, "those who had just connected are not heard");
            Vec::new()
        });
        for stream in waiting {
            if has_successor {
                self.receive(stream);
            } else {
                self.turn_away(stream, connection::stopping());
            }
        }
    }

    async fn close_realms(&self) {
        let realms = Arc::clone(&self.realms);
        let closing = tokio::task::spawn_blocking(move || realms.close());
        match timeout(CLOSING_TIME, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "closing the store failed"),
            Err(_) => tracing::error!("the disk did not take in time what was to be written"),
        }
    }
}

fn shared_fairly(shares: Option<&FairShares>, models: Arc<dyn ModelFactory>) -> Arc<dyn ModelFactory> {
    match shares {
        Some(shares) => shares.models(models),
        None => models,
    }
}

/// Nothing that runs under these locks can leave what they guard half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// It is gone, and the socket goes on.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// No descriptors left (in the process, in the system), no buffers.
fn is_exhaustion(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE, ENOBUFS, ENOMEM};
    error.raw_os_error().is_some_and(|code| [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(&code))
}
