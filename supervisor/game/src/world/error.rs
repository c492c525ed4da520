//! Why a path or a write was refused.

use super::{path::WorldPath, wording};

/// Why a path or a write was refused. The text is a sentence for developers and models alike.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The text is not a path.
    #[error("{}", wording::invalid_path(path))]
    InvalidPath {
        /// The text, as it was given.
        path: String,
    },
    /// The path leads through something that holds nothing.
    #[error("{}", wording::blocked_by_value(path, blocked_at, kind))]
    Blocked {
        /// Where the write was to go.
        path: WorldPath,
        /// What is in the way.
        blocked_at: WorldPath,
        /// What that is: `a number`.
        kind: &'static str,
    },
    /// A list has no such position, and it is not the one behind its last.
    #[error("{}", wording::no_such_position(path, list, *len))]
    NoSuchPosition {
        /// Where the write was to go.
        path: WorldPath,
        /// The list.
        list: WorldPath,
        /// How many items it has.
        len: usize,
    },
    /// The root of a world is always an object.
    #[error("{}", wording::root_must_be_an_object(kind))]
    RootMustBeAnObject {
        /// What it was to become: `a number`.
        kind: &'static str,
    },
    /// The world would nest deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    #[error("{}", wording::too_deep(path))]
    TooDeep {
        /// Where the write was to go.
        path: WorldPath,
    },
}

impl WorldError {
    /// The path that was refused: canonical, but as it was given when it is no path at all.
    pub fn path(&self) -> String {
        match self {
            Self::InvalidPath { path } => path.clone(),
            Self::Blocked { path, .. } | Self::NoSuchPosition { path, .. } | Self::TooDeep { path } => {
                path.to_string()
            }
            Self::RootMustBeAnObject { .. } => String::new(),
        }
    }
}
