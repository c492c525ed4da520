//! Who may serve at a socket.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use oam_bridge::BridgeConfig;
use serde_json::json;

use super::kit::{Home, start, until, within_patience};
use crate::{Activation, Manager, ServiceConfig, ServiceError};

#[tokio::test(flavor = "multi_thread")]
async fn a_service_serves_at_its_socket_and_takes_it_along() {
    let home = Home::new();
    let service = home.start().await;
    assert_eq!(service.socket_path(), home.socket());
    assert_eq!(fs::metadata(home.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = home.connect().await;
    assert_eq!(client.call("ping", json!({})).await, Ok(json!({})));
    client.finish().await;
    within_patience(service.stop()).await;
    assert!(!home.socket().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_one_is_refused_and_told_of_the_first() {
    let home = Home::new();
    let first = home.start().await;
    let error = start(home.config()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "process {} serves at {} already; stop it first, or take its place with --replace",
            std::process::id(),
            home.socket().display()
        )
    );
    home.connect().await.call("ping", json!({})).await.unwrap();
    first.stop().await;
    home.start().await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_without_a_lock_is_left_alone_while_somebody_listens() {
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let error = start(home.config()).await.unwrap_err();
    assert!(matches!(error, ServiceError::SomebodyListens { .. }), "{error}");
    drop(listener);
    home.start().await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_socket_is_left_alone() {
    let home = Home::new();
    fs::write(home.socket(), "precious").unwrap();
    let error = start(home.config()).await.unwrap_err();
    assert!(matches!(error, ServiceError::NotASocket { .. }), "{error}");
    assert_eq!(fs::read_to_string(home.socket()).unwrap(), "precious");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "it is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_beside_the_socket_is_taken_for_its_lock() {
    let home = Home::new();
    let neighbours = ["oam.lock", "oam.sock.lock"].map(|name| home.path().join(name));
    fs::write(&neighbours[0], "precious").unwrap();
    home.start().await.stop().await;
    fs::write(&neighbours[1], "precious").unwrap();
    let error = start(home.config()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{} is there and is not the lock of a service; move it away, or name another place with --socket",
            neighbours[1].display()
        )
    );
    for path in &neighbours {
        assert_eq!(fs::read_to_string(path).unwrap(), "precious");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn services_whose_sockets_differ_in_their_endings_are_two() {
    let home = Home::new();
    let at = |name| ServiceConfig {
        socket: Some(home.path().join(name)),
        ..ServiceConfig::new(home.path().join(format!("{name}.data")), BridgeConfig::default())
    };
    let mut services = Vec::new();
    for name in ["a.sock", "a.other", "a.lock"] {
        services.push(start(at(name)).await.unwrap());
    }
    for service in services {
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_others_may_enter_is_refused() {
    let home = Home::new();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let error = start(home.config()).await.unwrap_err();
    assert!(matches!(error, ServiceError::Folder(_)), "{error}");
    assert!(error.to_string().contains("(its mode is 0755); run chmod 700 on it"), "{error}");
    assert!(!home.socket().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_too_long_for_a_socket_is_refused() {
    let home = Home::new();
    let socket = home.path().join("d".repeat(100));
    let error = start(ServiceConfig { socket: Some(socket), ..home.config() }).await.unwrap_err();
    assert!(matches!(error, ServiceError::Path(_)), "{error}");
}

/// A service in a process of its own, for tests that kill it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by other tests"]
async fn a_service_until_it_is_killed() {
    let home = PathBuf::from(std::env::var_os("OAM_TEST_HOME").unwrap());
    let config = ServiceConfig {
        socket: Some(home.join("oam.sock")),
        ..ServiceConfig::new(home.join("data"), BridgeConfig::default())
    };
    let service = start(config).await.unwrap();
    service.stopped().await;
}

/// That service, listening.
pub(super) async fn in_a_process_of_its_own(home: &Home) -> Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::starts::a_service_until_it_is_killed", "--ignored"])
        .env("OAM_TEST_HOME", home.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until(|| std::os::unix::net::UnixStream::connect(home.socket()).is_ok()).await;
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_one_leaves_behind_is_replaced() {
    let home = Home::new();
    let mut killed = in_a_process_of_its_own(&home).await;
    let refused = start(home.config()).await.unwrap_err();
    assert!(refused.to_string().starts_with(&format!("process {} serves", killed.id())), "{refused}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(home.socket().exists(), "nobody was there to remove it");
    let service = home.start().await;
    home.connect().await.call("ping", json!({})).await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_descriptor_is_handed_down_to_children() {
    let home = Home::new();
    let service = home.start().await;
    let mut client = home.connect().await;
    client.enter("castle").await.ok();
    let shown = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("/dev/"), "{shown}");
    assert!(!shown.contains("socket:") && !shown.contains("oam"), "{shown}");
    drop(client);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_a_manager_is_served_and_stays() {
    let home = Home::new();
    let listener = UnixListener::bind(home.socket()).unwrap();
    let kept = listener.try_clone().unwrap();
    let activation = Activation::with(Manager::Systemd, listener).unwrap();
    let config = ServiceConfig { activation: Some(activation), socket: None, ..home.config() };
    let service = start(config).await.unwrap();
    let mut client = home.connect().await;
    let status = client.call("service/status", json!({})).await.unwrap();
    assert_eq!((&status["activation"], &status["socket"]), (&json!("systemd"), &json!(home.socket())));
    let error = client.call("service/handover", json!({})).await.unwrap_err();
    assert_eq!(error["data"]["code"], "handover_refused");
    client.finish().await;
    service.stop().await;
    // Whoever connects now waits for the next start.
    let mut late = home.connect().await;
    let id = late.send("ping", json!({})).await;
    let activation = Activation::with(Manager::Systemd, kept).unwrap();
    let next = start(ServiceConfig { activation: Some(activation), ..home.config() }).await.unwrap();
    assert_eq!(late.answer(id).await, Ok(json!({})));
    drop(late);
    next.stop().await;
}
