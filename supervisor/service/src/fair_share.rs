//! Fair shares: whose step the workers play next, when clients ask for more than they can play at once.
//!
//! A step takes one of as many slots as the workers play steps in parallel. Who finds none waits. A slot that becomes free
//! goes to that client, of those that wait, whose turn was the longest ago, and within it to the step that has waited longest. So
//! a client with 64 busy sessions gets no more than one with a single session that always has something to ask, though the
//! latter is not among those that wait in the moment in which its step ends.
//! Steps that no client waits for, such as compactions of NPCs' memories, count as those of one more client.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use oam_agent::{BoxFuture, Model, ModelError, ModelLayer, StepOutcome, StepRequest, StepSink};
use oam_bridge::{ClientId, ModelFactory, ModelUse, current_client};
use oam_workers::WorkerPool;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

/// The slots of one pool of workers. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct FairShares(Arc<Mutex<State>>);

/// How busy the slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// How many steps may play at once.
    pub(crate) capacity: NonZeroUsize,
    /// Steps that play.
    pub(crate) playing: usize,
    /// Steps that wait for a slot.
    pub(crate) waiting: usize,
}

/// Who steps belong to; those without a client belong together.
type Owner = Option<ClientId>;

/// Counts turns and tickets, so that of two the earlier is known.
type Moment = u64;

#[derive(Debug)]
struct State {
    capacity: NonZeroUsize,
    playing: usize,
    now: Moment,
    /// Those who wait and those who have waited lately.
    clients: HashMap<Owner, Client>,
    /// Those who wait, by their last turns.
    round: BTreeMap<Moment, Owner>,
    waiting: usize,
}

#[derive(Debug)]
struct Client {
    /// When it was its turn, or when it came.
    last_turn: Moment,
    /// The longest waiting first.
    steps: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    ticket: Moment,
    slot: oneshot::Sender<Slot>,
}

impl FairShares {
    /// As many slots as `capacity`, all free.
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Arc::new(Mutex::new(State {
            capacity,
            playing: 0,
            now: 0,
            clients: HashMap::new(),
            round: BTreeMap::new(),
            waiting: 0,
        })))
    }

    /// As many slots as the pool plays steps at once, also when that changes.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) fn of_pool(pool: &WorkerPool) -> Self {
        let mut parallel_steps = pool.parallel_steps();
        let shares = Self::new(*parallel_steps.borrow_and_update());
        let state = Arc::downgrade(&shares.0);
        tokio::spawn(async move {
            while parallel_steps.changed().await.is_ok()
                && let Some(state) = state.upgrade()
            {
                Self(state).set_capacity(*parallel_steps.borrow_and_update());
            }
        });
        shares
    }

    /// From now on as many steps may play at once. Steps that play already are not stopped.
    pub(crate) fn set_capacity(&self, capacity: NonZeroUsize) {
        let mut state = self.state();
        state.capacity = capacity;
        self.grant(&mut state);
    }

    /// How busy the slots are.
    pub(crate) fn load(&self) -> Load {
        let state = self.state();
        Load { capacity: state.capacity, playing: state.playing, waiting: state.waiting }
    }

    /// `inner`, whose steps each take a slot first.
    pub(crate) fn model(&self, inner: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(SharedModel { shares: self.clone(), inner })
    }

    /// `inner`, whose system models share these slots. Models of custom types play elsewhere.
    pub(crate) fn models(&self, inner: Arc<dyn ModelFactory>) -> Arc<dyn ModelFactory> {
        Arc::new(SharedModels { shares: self.clone(), inner })
    }

    /// Resolves when it is `owner`'s turn. Dropped before, it has never waited.
    async fn slot(&self, owner: Owner) -> Slot {
        match self.take_or_wait(owner) {
            Ok(slot) => slot,
            Err(place) => place.slot().await,
        }
    }

    fn take_or_wait(&self, owner: Owner) -> Result<Slot, Place> {
        let mut state = self.state();
        if state.has_free_slot() {
            state.playing += 1;
            return Ok(Slot(Some(self.clone())));
        }
        let (sender, receiver) = oneshot::channel();
        let ticket = state.wait(owner, sender);
        Err(Place { shares: self.clone(), owner, ticket, slot: receiver })
    }

    /// Gives free slots to those who wait.
    fn grant(&self, state: &mut State) {
        while state.has_free_slot()
            && let Some(next) = state.next()
        {
            state.playing += 1;
            if let Err(mut unclaimed) = next.slot.send(Slot(Some(self.clone()))) {
                // Whoever waited has gone in this moment. Its slot must not come back here by itself: the state is locked.
                unclaimed.0 = None;
                state.playing -= 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_free_slot(&self) -> bool {
        self.playing < self.capacity.get()
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    fn wait(&mut self, owner: Owner, slot: oneshot::Sender<Slot>) -> Moment {
        let ticket = self.tick();
        let client =
            self.clients.entry(owner).or_insert_with(|| Client { last_turn: ticket, steps: VecDeque::new() });
        if client.steps.is_empty() {
            self.round.insert(client.last_turn, owner);
        }
        client.steps.push_back(Waiting { ticket, slot });
        self.waiting += 1;
        self.forget_long_gone();
        ticket
    }

    /// The step whose turn it is.
    fn next(&mut self) -> Option<Waiting> {
        let (_, owner) = self.round.pop_first()?;
        let turn = self.tick();
        let client = self.clients.get_mut(&owner)?;
        client.last_turn = turn;
        let next = client.steps.pop_front()?;
        if !client.steps.is_empty() {
            self.round.insert(turn, owner);
        }
        self.waiting -= 1;
        Some(next)
    }

    /// Forgets a step that no longer waits, if it is not its turn already.
    fn forget(&mut self, owner: Owner, ticket: Moment) {
        let Some(client) = self.clients.get_mut(&owner) else { return };
        let Ok(at) = client.steps.binary_search_by_key(&ticket, |step| step.ticket) else { return };
        client.steps.remove(at);
        self.waiting -= 1;
        if client.steps.is_empty() {
            self.round.remove(&client.last_turn);
        }
    }

    /// Clients that do not come back must not be remembered forever.
    fn forget_long_gone(&mut self) {
        const REMEMBERED: usize = 2048;
        const LONG: Moment = REMEMBERED as Moment / 2;
        if self.clients.len() > REMEMBERED {
            let now = self.now;
            self.clients.retain(|_, client| !client.steps.is_empty() || now - client.last_turn < LONG);
        }
    }
}

/// A step's right to play; whoever is next gets it when it is dropped.
#[derive(Debug)]
struct Slot(Option<FairShares>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(shares) = self.0.take() {
            let mut state = shares.state();
            state.playing -= 1;
            shares.grant(&mut state);
        }
    }
}

/// A place among those who wait. A slot that was given to it and not taken is passed on when it is dropped.
#[derive(Debug)]
struct Place {
    shares: FairShares,
    owner: Owner,
    ticket: Moment,
    slot: oneshot::Receiver<Slot>,
}

impl Place {
    async fn slot(mut self) -> Slot {
        (&mut self.slot).await.expect("a step waits until it gets a slot or is dropped")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shares.state().forget(self.owner, self.ticket);
    }
}

struct SharedModel {
    shares: FairShares,
    inner: Arc<dyn Model>,
}

impl ModelLayer for SharedModel {
    fn below(&self) -> &dyn Model {
        &*self.inner
    }

    fn pass_step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        Box::pin(async move {
            let _slot = self.shares.slot(current_client()).await;
            self.inner.step(request, sink).await
        })
    }
}

struct SharedModels {
    shares: FairShares,
    inner: Arc<dyn ModelFactory>,
}

impl ModelFactory for SharedModels {
    fn system(&self, for_use: ModelUse<'_>) -> Arc<dyn Model> {
        self.shares.model(self.inner.system(for_use))
    }

    fn custom_types(&self) -> Vec<String> {
        self.inner.custom_types()
    }

    fn custom(
        &self,
        model_type: &str,
        members: &Map<String, Value>,
    ) -> Option<Result<Arc<dyn Model>, String>> {
        self.inner.custom(model_type, members)
    }
}

#[cfg(test)]
#[path = "fair_share_tests.rs"]
mod tests;
