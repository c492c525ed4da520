//! Making a realm of what was recorded of it.

use std::{collections::HashMap, fmt, sync::Arc};

use indexmap::IndexMap;

use super::{
    Books, Keeper, Realm, RealmName,
    keeper::{LIST_ID, ListRecord},
    record::{self, UnreadableRecord},
    world_record,
};
use crate::{
    config::BridgeConfig,
    journal::{Journal, ObjectKind, ObjectName},
    objects::Id,
    worlds::GameWorld,
};

/// Makes a realm of what was recorded of it: of each object its snapshot, if it has one, and then its records, in order;
/// of the objects the earlier created first.
#[derive(Debug)]
pub struct RealmLoader {
    name: RealmName,
    config: BridgeConfig,
    worlds: IndexMap<Arc<str>, Option<GameWorld>>,
    /// How many ids were generated for objects of each kind.
    generated: HashMap<ObjectKind, u64>,
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
        Self { name, config: config.clone(), worlds: IndexMap::new(), generated: HashMap::new() }
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
            ObjectKind::Session | ObjectKind::Npc => Ok(()),
        }
    }

    /// The realm, whose further changes go to `journal`.
    pub fn finish(self, journal: Arc<dyn Journal>) -> Result<Arc<Realm>, LoadError> {
        let Self { name, config: _, worlds, generated } = self;
        let books = Books::new(journal);
        let generated = |kind| generated.get(&kind).copied().unwrap_or_default();
        let keeper = |kind, id: &Arc<str>| Keeper::new(&books, ObjectName { kind, id: Arc::clone(id) });
        let realm = Realm { name: Some(name), books: Some(Arc::clone(&books)), ..Realm::default() };
        let worlds = worlds.into_iter().filter_map(|(id, world)| {
            let keeper = keeper(ObjectKind::World, &id);
            let world = GameWorld { keeper: Some(Arc::clone(&keeper)), ..world? };
            world.record_edits(&keeper);
            Some(world)
        });
        realm.worlds.restore(worlds, generated(ObjectKind::World));
        Ok(Arc::new(realm))
    }
}
