//! `world/*`: the state that a game and its NPCs share (docs/PROTOCOL.md, World state).
//!
//! Worlds answer at once. A subscription writes its notifications straight into the outbox while the change is made, so
//! they stand before the response to whatever made it.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use oam_game::world::{World, WorldChange, WorldError, WorldPath};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    message::{BridgeError, Members, Outgoing},
    outbox::Outbox,
    params::Params,
    realm::{Subscription, SubscriptionId},
    registry::{MethodRegistry, MethodSet, Reply, Request},
    timestamp,
    worlds::{GameWorld, WorldId},
};

const CHANGED: &str = "world/changed";

pub(super) struct WorldMethods;

impl MethodSet for WorldMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register_change("world/create", create);
        registry.register_look("world/get", get);
        registry.register_change("world/set", set);
        registry.register_change("world/merge", merge);
        registry.register_change("world/remove", remove);
        registry.register_look("world/snapshot", snapshot);
        registry.register_change("world/delete", delete);
        registry.register_look("world/subscribe", subscribe);
        registry.register_look("world/unsubscribe", unsubscribe);
        registry.register_look("world/list", list);
    }

    fn notifications(&self) -> Vec<&'static str> {
        vec![CHANGED]
    }
}

/// The path that a request may give; the root if it does not.
fn optional_path<'p>(params: &'p Params<'_>) -> Result<&'p str, BridgeError> {
    Ok(params.optional_string("path")?.unwrap_or_default())
}

impl GameWorld {
    fn path(&self, text: &str) -> Result<WorldPath, BridgeError> {
        text.parse().map_err(|error| self.error(&error))
    }

    fn error(&self, error: &WorldError) -> BridgeError {
        world_error(&self.id, error)
    }
}

fn world_error(id: &WorldId, error: &WorldError) -> BridgeError {
    BridgeError::world_error(&id.to_string(), &error.path(), error.to_string())
}

/// A member that must be there, whatever its value: `null` is one.
fn take_value(params: Params<'_>, name: &str) -> Result<Value, BridgeError> {
    // The message is the one of every missing parameter.
    if !params.has(name) {
        params.value(name)?;
    }
    Ok(params.into_members().remove(name).unwrap_or_default())
}

fn create(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Created<'a> {
        world: &'a WorldId,
        version: u64,
    }
    let Request { bridge, params, .. } = request;
    let realm = bridge.realm();
    let id = realm.worlds.new_id(params.optional_client_id("world")?)?;
    params.optional_object("state")?;
    let state = params.into_members().remove("state").filter(|state| !state.is_null());
    let world = World::new(state.unwrap_or_else(|| Value::Object(Map::new())))
        .map_err(|error| world_error(&id, &error))?;
    let version = world.version();
    let keeper = realm.keeper(&id);
    let world = GameWorld { id: id.clone(), world, created_at: SystemTime::now(), keeper };
    realm.worlds.insert(world, bridge.config().max_worlds)?;
    Reply::now(&Created { world: &id, version })
}

fn get(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Found<'a> {
        world: &'a WorldId,
        path: &'a str,
        value: Option<&'a Value>,
        exists: bool,
        version: u64,
    }
    let world = request.bridge.realm().worlds.named(&request.params)?;
    let given = optional_path(&request.params)?;
    let path = world.path(given)?;
    world.world.read(|view| {
        let value = view.get(&path);
        let exists = value.is_some();
        Reply::now(&Found { world: &world.id, path: given, value, exists, version: view.version })
    })
}

/// The answer of a write.
#[derive(Serialize)]
struct Written<'a> {
    world: &'a WorldId,
    path: &'a str,
    version: u64,
}

fn set(request: Request) -> Result<Reply, BridgeError> {
    write(request, "value", World::set)
}

fn merge(request: Request) -> Result<Reply, BridgeError> {
    write(request, "patch", World::merge)
}

fn write(
    request: Request,
    name: &str,
    write: fn(&World, &WorldPath, Value) -> Result<u64, WorldError>,
) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = request;
    let world = bridge.realm().worlds.named(&params)?;
    let given = optional_path(&params)?.to_owned();
    let value = take_value(params, name)?;
    let path = world.path(&given)?;
    let version = write(&world.world, &path, value).map_err(|error| world.error(&error))?;
    Reply::now(&Written { world: &world.id, path: &given, version })
}

fn remove(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Removal<'a> {
        world: &'a WorldId,
        path: &'a str,
        removed: bool,
        old_value: Option<Value>,
        version: u64,
    }
    let world = request.bridge.realm().worlds.named(&request.params)?;
    let given = request.params.string("path")?;
    let removal = world.world.remove(&world.path(given)?);
    Reply::now(&Removal {
        world: &world.id,
        path: given,
        removed: removal.old_value.is_some(),
        old_value: removal.old_value,
        version: removal.version,
    })
}

fn snapshot(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Snapshot<'a> {
        world: &'a WorldId,
        state: &'a Value,
        version: u64,
    }
    let world = request.bridge.realm().worlds.named(&request.params)?;
    world
        .world
        .read(|view| Reply::now(&Snapshot { world: &world.id, state: view.state(), version: view.version }))
}

fn delete(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Deletion<'a> {
        world: &'a WorldId,
        deleted: bool,
        ended_subscriptions: usize,
    }
    let (world, ended_subscriptions) =
        request.bridge.realm().delete_world(request.params.string("world")?)?;
    Reply::now(&Deletion { world: &world.id, deleted: true, ended_subscriptions })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedWorld<'a> {
    world: &'a WorldId,
    version: u64,
    npcs: usize,
    subscriptions: Vec<Subscribed<'a>>,
    created_at: String,
}

/// A subscription as results tell of it.
#[derive(Serialize)]
struct Subscribed<'a> {
    subscription: &'a SubscriptionId,
    world: &'a WorldId,
    path: &'a str,
}

fn list(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct All<'a> {
        worlds: Vec<ListedWorld<'a>>,
    }
    let realm = request.bridge.realm();
    let npcs = realm.npcs.all();
    let mut inhabitants: HashMap<&WorldId, usize> = HashMap::new();
    for world in npcs.iter().filter_map(|npc| npc.world.as_ref()) {
        *inhabitants.entry(world).or_default() += 1;
    }
    let subscriptions = request.bridge.subscriptions().by_world();
    let all = realm.worlds.all();
    let worlds = all.iter().map(|world| ListedWorld {
        world: &world.id,
        version: world.world.version(),
        npcs: inhabitants.get(&world.id).copied().unwrap_or_default(),
        subscriptions: subscriptions
            .get(world.id.as_str())
            .into_iter()
            .flatten()
            .map(|(subscription, path)| Subscribed { subscription, world: &world.id, path })
            .collect(),
        created_at: timestamp::iso8601(world.created_at),
    });
    Reply::now(&All { worlds: worlds.collect() })
}

fn subscribe(request: Request) -> Result<Reply, BridgeError> {
    let Request { bridge, params, .. } = &request;
    let (realm, subscriptions) = (bridge.realm(), bridge.subscriptions());
    let world = realm.worlds.named(params)?;
    let given = optional_path(params)?;
    let path = world.path(given)?;
    let id = subscriptions.new_id(bridge.config().max_world_subscriptions)?;
    let observation = world.world.observe(path, notifier(&world.id, &id, bridge.outbox().clone()));
    let subscription =
        Subscription { world: Arc::clone(&world), path: given.to_owned(), _observation: observation };
    subscriptions.insert(Arc::clone(&id), subscription);
    if !realm.worlds.has(&world) {
        // Another connection deleted it meanwhile, and may have looked for subscriptions before.
        subscriptions.end_those_of(&world);
        return Err(BridgeError::world_not_found(world.id.as_str()));
    }
    Reply::now(&Subscribed { subscription: &id, world: &world.id, path: given })
}

/// Sends a `world/changed` for each change. It holds the outbox, not the bridge: that would keep itself alive.
fn notifier(
    world: &WorldId,
    subscription: &SubscriptionId,
    outbox: Outbox,
) -> impl FnMut(WorldChange<'_>) + Send + 'static {
    let context = Members::new().with("world", world).with("subscription", subscription);
    move |change| {
        let mut members = context.clone().with("path", change.path);
        if let Some(old) = change.old_value {
            members = members.with("oldValue", old);
        }
        if let Some(new) = change.new_value {
            members = members.with("newValue", new);
        }
        outbox.push(Outgoing::Notification { method: CHANGED, params: &members.payload() });
    }
}

fn unsubscribe(request: Request) -> Result<Reply, BridgeError> {
    #[derive(Serialize)]
    struct Ended<'a> {
        subscription: &'a SubscriptionId,
        world: &'a WorldId,
        path: &'a str,
        unsubscribed: bool,
    }
    let (id, Subscription { world, path, .. }) =
        request.bridge.subscriptions().end(request.params.string("subscription")?)?;
    Reply::now(&Ended { subscription: &id, world: &world.id, path: &path, unsubscribed: true })
}
