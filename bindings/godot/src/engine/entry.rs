//! The one symbol that Godot looks for in the library.
#![allow(unsafe_code)]

use godot::prelude::*;

struct OpenAppleModels;

// SAFETY: the trait's contract is to have one such entry in a library, and to leave its hooks alone.
#[gdextension(entry_symbol = open_apple_models_init)]
unsafe impl ExtensionLibrary for OpenAppleModels {}
