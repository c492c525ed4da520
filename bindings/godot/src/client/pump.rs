//! One frame's deliveries of a client that is shared.

use std::cell::RefCell;

use super::{Client, delivery::Delivery};

/// Delivers what has arrived. `deliver` may use the client in any way, closing it included; what arrives meanwhile waits
/// for the next pump, so that this one ends.
pub fn pump<O: Clone>(client: &RefCell<Client<O>>, mut deliver: impl FnMut(Delivery<O>)) {
    // The borrows are statements of their own: they must be over before anything is delivered.
    let waiting = client.borrow().waiting();
    for _ in 0..waiting {
        let delivery = client.borrow_mut().next_delivery();
        let Some(delivery) = delivery else { break };
        deliver(delivery);
    }
}
