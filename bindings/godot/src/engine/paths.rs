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
    let os = Os::singleton();
    if os.has_feature("editor") {
        return Some(PathBuf::from(on_disk(&GString::from(&format!("{LIBRARY_FOLDER}/{}", platform())))));
    }
    Path::new(&os.get_executable_path().to_string()).parent().map(Path::to_owned)
}

fn platform() -> String {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { std::env::consts::ARCH };
    match std::env::consts::OS {
        "macos" => "macos".to_owned(),
        system => format!("{system}.{arch}"),
    }
}

fn on_disk(path: &GString) -> String {
    let is_the_engines = ["res://", "user://"].iter().any(|start| path.begins_with(*start));
    // The class is not among those that are generated for this crate.
    let settings = Engine::singleton().get_singleton("ProjectSettings");
    match settings.filter(|_| is_the_engines) {
        Some(mut settings) => settings.call("globalize_path", &[path.to_variant()]).stringify().to_string(),
        None => path.to_string(),
    }
}
