//! A connection's place in a realm.

use std::sync::Arc;

use super::{Realm, Subscriptions};

/// A connection in a realm. Its subscriptions end when this is dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    realm: Arc<Realm>,
    subscriptions: Arc<Subscriptions>,
}

impl Membership {
    pub(crate) fn of(realm: Arc<Realm>) -> Self {
        let subscriptions = Arc::<Subscriptions>::default();
        realm.members().push(Arc::clone(&subscriptions));
        Self { realm, subscriptions }
    }

    pub(crate) fn realm(&self) -> &Arc<Realm> {
        &self.realm
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// The connection shuts down: ends what belongs to it alone, which is everything in a realm of its own. In a shared
    /// one, its operations end by themselves: they are told apart in the queues.
    pub(crate) fn leave(&self) {
        if self.realm.name().is_none() {
            self.realm.close();
        }
        self.end_subscriptions();
    }

    fn end_subscriptions(&self) {
        self.realm.members().retain(|member| !Arc::ptr_eq(member, &self.subscriptions));
        self.subscriptions.clear();
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.end_subscriptions();
    }
}
