//! The objects that clients create and name: sessions, NPCs, worlds. Each kind has one list of them.

use std::{
    borrow::Borrow,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use crate::{journal::ObjectKind, message::BridgeError, params::Params, realm::Keeper};

/// Something that a client creates and names.
pub(crate) trait Object: Sized {
    /// The parameter that names one.
    const PARAMETER: &'static str;

    /// Generated ids are this and a number.
    const ID_PREFIX: &'static str;

    /// What a journal calls its kind.
    const KIND: ObjectKind;

    fn id(&self) -> &Id<Self>;

    /// Writes down what happens to it, in a durable realm.
    fn keeper(&self) -> Option<&Arc<Keeper>>;

    /// Records it as it is, and from now on what happens to it.
    fn begin_keeping(&self);

    /// There is none with this id.
    fn not_found(id: &str) -> BridgeError;

    /// The id is in use.
    fn exists(id: &str) -> BridgeError;

    /// There are as many as there may be.
    fn limit_reached(limit: usize) -> BridgeError;
}

/// Identifies an object among those of its kind: chosen by the client or generated.
pub(crate) struct Id<T> {
    text: Arc<str>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), kind: PhantomData }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        Self { text: Arc::clone(&self.text), kind: PhantomData }
    }
}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> Eq for Id<T> {}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<T> Borrow<str> for Id<T> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl<T> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T> Serialize for Id<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// All objects of a kind, in the order of their creation.
#[derive(Debug)]
pub(crate) struct Objects<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    by_id: IndexMap<Id<T>, Arc<T>>,
    last_generated: u64,
    /// How many generated ids the journal knows of.
    noted_generated: u64,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { by_id: IndexMap::new(), last_generated: 0, noted_generated: 0 }) }
    }
}

impl<T: Object> Objects<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object with this id.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<T>, BridgeError> {
        self.lock().by_id.get(id).cloned().ok_or_else(|| T::not_found(id))
    }

    /// The object that a request names.
    pub(crate) fn named(&self, params: &Params<'_>) -> Result<Arc<T>, BridgeError> {
        self.get(params.string(T::PARAMETER)?)
    }

    /// The id for a new object: the given one, if it is unused, or the next generated one.
    pub(crate) fn new_id(&self, chosen: Option<&str>) -> Result<Id<T>, BridgeError> {
        let mut state = self.lock();
        if let Some(id) = chosen {
            let is_used = state.by_id.contains_key(id);
            return if is_used { Err(T::exists(id)) } else { Ok(Id::new(id)) };
        }
        loop {
            state.last_generated += 1;
            let id = Id::new(&format!("{}{}", T::ID_PREFIX, state.last_generated));
            if !state.by_id.contains_key(&id) {
                return Ok(id);
            }
        }
    }

    /// Adds an object, unless its id is in use or there are `limit` already.
    pub(crate) fn insert(&self, object: T, limit: usize) -> Result<(), BridgeError> {
        let mut state = self.lock();
        if state.by_id.contains_key(object.id()) {
            return Err(T::exists(&object.id().text));
        }
        if state.by_id.len() >= limit {
            return Err(T::limit_reached(limit));
        }
        // Before anybody else has it, and in the order of the list.
        if let Some(keeper) = object.keeper() {
            if state.last_generated > state.noted_generated {
                keeper.note_generated(state.last_generated);
                state.noted_generated = state.last_generated;
            }
            object.begin_keeping();
        }
        state.by_id.insert(object.id().clone(), Arc::new(object));
        Ok(())
    }

    /// Puts in objects that are recorded already, and as many generated ids as there were.
    pub(crate) fn restore(&self, objects: impl IntoIterator<Item = T>, generated: u64) {
        let mut state = self.lock();
        (state.last_generated, state.noted_generated) = (generated, generated);
        for object in objects {
            state.by_id.insert(object.id().clone(), Arc::new(object));
        }
    }

    /// Whether the id of this object still names it.
    pub(crate) fn has(&self, object: &Arc<T>) -> bool {
        self.lock().by_id.get(object.id()).is_some_and(|named| Arc::ptr_eq(named, object))
    }

    /// Frees the id and returns the object it belonged to.
    pub(crate) fn remove(&self, id: &str) -> Result<Arc<T>, BridgeError> {
        let mut state = self.lock();
        let object = state.by_id.shift_remove(id).ok_or_else(|| T::not_found(id))?;
        // While nobody can create another of that id.
        if let Some(keeper) = object.keeper() {
            keeper.remove();
        }
        Ok(object)
    }

    /// Takes all objects out.
    pub(crate) fn remove_all(&self) -> Vec<Arc<T>> {
        std::mem::take(&mut self.lock().by_id).into_values().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.lock().by_id.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Thing(Id<Thing>);

    impl Object for Thing {
        const PARAMETER: &'static str = "thing";
        const ID_PREFIX: &'static str = "t";
        const KIND: ObjectKind = ObjectKind::World;

        fn id(&self) -> &Id<Self> {
            &self.0
        }

        fn keeper(&self) -> Option<&Arc<Keeper>> {
            None
        }

        fn begin_keeping(&self) {}

        fn not_found(id: &str) -> BridgeError {
            BridgeError::npc_not_found(id)
        }

        fn exists(id: &str) -> BridgeError {
            BridgeError::npc_exists(id)
        }

        fn limit_reached(limit: usize) -> BridgeError {
            BridgeError::limit_reached(limit, "things")
        }
    }

    #[test]
    fn an_id_names_one_object() {
        let things = Objects::default();
        let id = things.new_id(Some("one")).unwrap();
        things.insert(Thing(id.clone()), 2).unwrap();
        assert_eq!(things.new_id(Some("one")).unwrap_err().name, "npc_exists");
        // Both were given the id before either was added.
        assert_eq!(things.insert(Thing(id), 2).unwrap_err().name, "npc_exists");
        things.insert(Thing(things.new_id(None).unwrap()), 2).unwrap();
        assert_eq!(things.insert(Thing(Id::new("three")), 2).unwrap_err().name, "limit_reached");
        assert_eq!(things.all().len(), 2);
    }
}
