//! Whose socket or data somebody takes away.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
};

use serde_json::json;

use super::kit::{Home, start, within_patience};
use crate::{Activation, Manager, ServiceConfig, StopReason};

type Displace = fn(&Path);

fn remove_socket(home: &Path) {
    fs::remove_file(home.join("oam.sock")).unwrap();
}

fn replace_socket(home: &Path) {
    remove_socket(home);
    drop(UnixListener::bind(home.join("oam.sock")).unwrap());
}

fn replace_folder(home: &Path) {
    fs::remove_dir_all(home).unwrap();
    fs::create_dir(home).unwrap();
    fs::set_permissions(home, Permissions::from_mode(0o700)).unwrap();
}

fn remove_data(home: &Path) {
    fs::remove_dir_all(home.join("data")).unwrap();
}

fn replace_data(home: &Path) {
    let data = home.join("data");
    fs::copy(data.join("realms.db"), home.join("copy")).unwrap();
    fs::rename(home.join("copy"), data.join("realms.db")).unwrap();
}

const SOCKET_GONE: &str = "the socket HOME/oam.sock was removed or replaced";
const DATA_GONE: &str = "the database is not in its place any more (HOME/data/realms.db): it was removed or replaced while it was open";

fn reason(home: &Home, expected: &str) -> StopReason {
    StopReason::Failed(expected.replace("HOME", home.path().to_str().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_nobody_finds_ends_and_another_one_serves() {
    let rows: [(Displace, &[&str]); 5] = [
        (remove_socket, &[SOCKET_GONE]),
        (replace_socket, &[SOCKET_GONE]),
        (replace_folder, &[DATA_GONE, SOCKET_GONE]),
        (remove_data, &[DATA_GONE]),
        (replace_data, &[DATA_GONE]),
    ];
    for (number, (displace, expected)) in rows.into_iter().enumerate() {
        let home = Home::new();
        let service = home.start().await;
        let mut client = home.connect().await;
        client.enter("castle").await.unwrap();
        client.call("world/create", json!({"world": "w"})).await.unwrap();
        displace(home.path());
        let ended = within_patience(service.stopped()).await;
        assert!(expected.iter().any(|expected| ended == reason(&home, expected)), "{number}: {ended}");
        assert_eq!(client.next().await, None, "{number}");
        let next = home.start().await;
        drop(service);
        home.connect().await.enter("castle").await.unwrap();
        next.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_to_be_done_that_went_into_data_which_is_gone() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.unwrap();
    client.call("world/create", json!({"world": "w"})).await.unwrap();
    remove_data(home.path());
    let id = client.send("world/set", json!({"world": "w", "path": "gold", "value": 1})).await;
    if let Some(answer) = client.next().await {
        assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(id), &json!("storage_failed")));
    }
    assert_eq!(within_patience(service.stopped()).await, reason(&home, DATA_GONE));
    assert!(!home.path().join("data").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_manager_listens_only_the_data_is_looked_at() {
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let activation = Activation::with(Manager::Systemd, listener).unwrap();
    let service = start(ServiceConfig { activation: Some(activation), ..home.config() }).await.unwrap();
    remove_socket(home.path());
    remove_data(home.path());
    assert_eq!(within_patience(service.stopped()).await, reason(&home, DATA_GONE));
}
