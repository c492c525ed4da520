//! What clients can see of a realm.

use serde_json::{Value, json};

use super::Client;

/// All that clients can see of the realm, as text.
pub(crate) async fn seen(client: &mut Client) -> String {
    let mut seen = Vec::new();
    let lists = [
        ("session/list", "sessions", "session", "session/transcript"),
        ("npc/list", "npcs", "npc", "npc/state"),
        ("world/list", "worlds", "world", "world/snapshot"),
    ];
    for (list, members, member, look) in lists {
        let listed = client.call(list, json!({})).await;
        for object in listed[members].as_array().unwrap() {
            seen.push(client.call(look, json!({member: object[member], "settle": false})).await);
        }
        seen.push(listed);
    }
    seen.iter().map(Value::to_string).map(|line| line + "\n").collect()
}
