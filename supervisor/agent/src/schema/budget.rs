//! Limits on what one schema may expand to.
//!
//! References that are inlined, parts that are merged and descriptions that are repeated at each use let a short
//! schema describe an enormous one. Everything that can be repeated is therefore paid for.

use std::fmt;

use super::SchemaError;

/// Nodes that one schema may expand to, merged parts included.
pub(super) const MAX_NODES: usize = 10_000;
/// What conversion may look at and write, in bytes.
const MAX_WORK: usize = 64 << 20;
/// What an element or member counts.
const ENTRY: usize = 16;

/// What is left of the limits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    nodes: usize,
    work: usize,
}

impl Budget {
    /// Pays for one node of the result, or for a part that is merged into one.
    pub(super) fn node(&mut self, path: &dyn fmt::Display) -> Result<(), SchemaError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(SchemaError::new(
                path,
                format!("the schema expands to more than {MAX_NODES} types and parts"),
            ));
        }
        Ok(())
    }

    /// Pays for text.
    pub(super) fn bytes(&mut self, count: usize, path: &dyn fmt::Display) -> Result<(), SchemaError> {
        self.work = self.work.saturating_add(count);
        if self.work > MAX_WORK {
            return Err(SchemaError::new(path, "the schema expands to too much text"));
        }
        Ok(())
    }

    /// Pays for elements or members.
    pub(super) fn entries(&mut self, count: usize, path: &dyn fmt::Display) -> Result<(), SchemaError> {
        self.bytes(count.saturating_mul(ENTRY), path)
    }

    /// What has been paid since `earlier`.
    pub(super) fn since(&self, earlier: Self) -> Self {
        Self { nodes: self.nodes - earlier.nodes, work: self.work - earlier.work }
    }

    /// Pays once more for something that has this cost.
    pub(super) fn again(&mut self, cost: Self, path: &dyn fmt::Display) -> Result<(), SchemaError> {
        self.nodes += cost.nodes;
        self.node(path)?;
        self.bytes(cost.work, path)
    }
}
