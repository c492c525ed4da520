//! Paths of the engine as paths of the system.

use std::path::{Path, PathBuf};

use godot::{
    classes::{Engine, Os},
    prelude::*,
};
use serde_json::Value;

/// Where the addon keeps the library for this system, as in its `.gdextension` file.
const LIBRARY_FOLDER: &str = "res://addons/open_apple_models/bin";

/// A program and its arguments.
pub(super) fn command(words: &PackedStringArray) -> Value {
    words.as_slice().iter().map(on_disk).collect()
}

/// The folder of the library in a project, of the game once it is exported.
pub(super) fn home() -> Option<PathBuf> {
    if is_exported() {
        let game = Os::singleton().get_executable_path().to_string();
        return Path::new(&game).parent().map(Path::to_owned);
    }
    Some(PathBuf::from(on_disk(&GString::from(&format!("{LIBRARY_FOLDER}/{}", platform())))))
}

fn is_exported() -> bool {
    !Os::singleton().has_feature("editor")
}

fn platform() -> String {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { std::env::consts::ARCH };
    match std::env::consts::OS {
        "macos" => "macos".to_owned(),
        system => format!("{system}.{arch}"),
    }
}

fn on_disk(path: &GString) -> String {
    let path = path.to_string();
    if let Some(inside) = path.strip_prefix("res://").filter(|_| is_exported()) {
        // An exported project is one file: what has to be on the disk is put beside the game.
        return home().unwrap_or_default().join(inside).to_string_lossy().into_owned();
    }
    let is_the_engines = ["res://", "user://"].iter().any(|start| path.starts_with(start));
    // The class is not among those that are generated for this crate.
    let settings = Engine::singleton().get_singleton("ProjectSettings");
    match settings.filter(|_| is_the_engines) {
        Some(mut settings) => settings.call("globalize_path", &[path.to_variant()]).stringify().to_string(),
        None => path,
    }
}
