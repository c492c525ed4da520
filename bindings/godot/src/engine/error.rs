//! Errors as scripts see them.

use godot::prelude::*;

use super::json;
use crate::client::RequestError;

/// Why a request failed.
#[derive(GodotClass)]
#[class(no_init, base = RefCounted)]
pub(super) struct OamError {
    /// The number of JSON-RPC.
    #[var(no_set)]
    code: i64,
    /// The stable name, as in the protocol's table of errors: `"cancelled"`, `"npc_not_found"`. Go by this one.
    #[var(no_set)]
    name: GString,
    /// A sentence for the developer.
    #[var(no_set)]
    message: GString,
    /// What else is known.
    #[var(no_set)]
    data: VarDictionary,
}

impl OamError {
    pub(super) fn of(error: &RequestError) -> Gd<Self> {
        Gd::from_object(Self {
            code: error.code,
            name: GString::from(&error.name),
            message: GString::from(&error.message),
            data: json::to_dictionary(&error.data),
        })
    }

    pub(super) fn text(&self) -> String {
        format!("{} ({}, {})", self.message, self.name, self.code)
    }
}

#[godot_api]
impl IRefCounted for OamError {
    fn to_string(&self) -> GString {
        GString::from(&self.text())
    }
}
