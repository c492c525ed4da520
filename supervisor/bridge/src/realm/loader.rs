//! Making a realm of what was recorded of it.

use std::{collections::HashMap, fmt, sync::Arc};

use indexmap::IndexMap;

use super::{
    Books, Keeper, Realm, RealmName,
    keeper::{LIST_ID, ListRecord},
    npc_record::{self, RecordedNpc},
    record::{self, UnreadableRecord},
    session_record::{self, RecordedSession},
    world_record,
};
use crate::{
    config::BridgeConfig,
    journal::{Journal, ObjectKind, ObjectName},
    message::BridgeError,
    objects::Id,
    worlds::GameWorld,
};

/// Makes a realm of what was recorded of it: of each object its snapshot, if it has one, and then its records, in order;
/// of the objects the earlier created first.
#[derive(Debug)]
pub struct RealmLoader {
    name: RealmName,
    config: BridgeConfig,
    sessions: IndexMap<Arc<str>, Option<RecordedSession>>,
    npcs: IndexMap<Arc<str>, LoadedNpc>,
    worlds: IndexMap<Arc<str>, Option<GameWorld>>,
    /// How many ids were generated for objects of each kind.
    generated: HashMap<ObjectKind, u64>,
}

#[derive(Debug, Default)]
struct LoadedNpc {
    recorded: Option<RecordedNpc>,
    /// Its world exists. One that only comes later is another of the same id.
    world_is_there: bool,
}

/// Why a realm cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// What cannot be loaded.
    pub object: ObjectName,
    /// Why not.
    pub reason: UnreadableRecord,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectName { kind, id } = &self.object;
        write!(f, "what was recorded of {} '{id}' cannot be read: {}", kind.as_str(), self.reason)
    }
}

impl std::error::Error for LoadError {}

impl RealmLoader {
    /// Loads the realm of this name; `config` is that of the bridges that will use it.
    pub fn new(name: RealmName, config: &BridgeConfig) -> Self {
        Self {
            name,
            config: config.clone(),
            sessions: IndexMap::new(),
            npcs: IndexMap::new(),
            worlds: IndexMap::new(),
            generated: HashMap::new(),
        }
    }

    /// Takes in an object's snapshot.
    pub fn snapshot(&mut self, object: ObjectName, snapshot: &[u8]) -> Result<(), LoadError> {
        // A snapshot has the form of the record with which an object begins.
        self.record(object, snapshot)
    }

    /// Takes in an object's next record.
    pub fn record(&mut self, object: ObjectName, record: &[u8]) -> Result<(), LoadError> {
        self.replay(&object, record).map_err(|reason| LoadError { object, reason })
    }

    fn replay(&mut self, object: &ObjectName, record: &[u8]) -> Result<(), UnreadableRecord> {
        if &*object.id == LIST_ID {
            let ListRecord { generated } = record::read(record)?;
            self.generated.insert(object.kind, generated);
            return Ok(());
        }
        match object.kind {
            ObjectKind::World => {
                let world = self.worlds.entry(Arc::clone(&object.id)).or_default();
                world_record::replay(world, &Id::new(&object.id), record)
            }
            ObjectKind::Session => {
                session_record::replay(self.sessions.entry(Arc::clone(&object.id)).or_default(), record)
            }
            ObjectKind::Npc => {
                let is_new = !self.npcs.contains_key(&object.id);
                let npc = self.npcs.entry(Arc::clone(&object.id)).or_default();
                npc_record::replay(&mut npc.recorded, record)?;
                if is_new {
                    let world = npc.recorded.as_ref().and_then(|npc| npc.world.as_ref());
                    npc.world_is_there = world.is_some_and(|id| self.worlds.contains_key(id.as_str()));
                }
                Ok(())
            }
        }
    }

    /// The realm, whose further changes go to `journal`.
    pub fn finish(self, journal: Arc<dyn Journal>) -> Result<Arc<Realm>, LoadError> {
        let Self { name, config, sessions, npcs, worlds, generated } = self;
        let books = Books::new(journal);
        let generated = |kind| generated.get(&kind).copied().unwrap_or_default();
        let keeper = |kind, id: &Arc<str>| Keeper::new(&books, ObjectName { kind, id: Arc::clone(id) });
        let realm = Realm::durable(name, Arc::clone(&books));

        let worlds = worlds.into_iter().filter_map(|(id, world)| {
            let keeper = keeper(ObjectKind::World, &id);
            let world = GameWorld { keeper: Some(Arc::clone(&keeper)), ..world? };
            world.record_edits(&keeper);
            Some(world)
        });
        realm.worlds.restore(worlds, generated(ObjectKind::World));

        let restored = sessions.into_iter().filter_map(|(id, session)| {
            let keeper = keeper(ObjectKind::Session, &id);
            let session = session?.restored(Id::new(&id), &config, keeper);
            Some(session.map_err(|error| unusable(ObjectKind::Session, id, error)))
        });
        let restored = restored.collect::<Result<Vec<_>, _>>()?;
        realm.sessions.restore(restored, generated(ObjectKind::Session));

        let restored = npcs.into_iter().filter_map(|(id, LoadedNpc { recorded, world_is_there })| {
            let recorded = recorded?;
            // One that was deleted lives on for its inhabitants, but nobody knows any more what was in it.
            let world = recorded.world.as_ref().map(|world| {
                let world = realm.worlds.get(world.as_str()).ok().filter(|_| world_is_there);
                world.map(|world| world.world.clone()).unwrap_or_default()
            });
            let keeper = keeper(ObjectKind::Npc, &id);
            let npc = recorded.restored(Id::new(&id), world, &config, keeper);
            Some(npc.map_err(|error| unusable(ObjectKind::Npc, id, error)))
        });
        let restored = restored.collect::<Result<Vec<_>, _>>()?;
        realm.npcs.restore(restored, generated(ObjectKind::Npc));
        Ok(Arc::new(realm))
    }
}

fn unusable(kind: ObjectKind, id: Arc<str>, error: BridgeError) -> LoadError {
    LoadError { object: ObjectName { kind, id }, reason: UnreadableRecord::Malformed(error.message) }
}
