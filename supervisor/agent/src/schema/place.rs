//! Where in a schema the converter is.

use std::fmt;

/// The path of a node as warnings and errors show it: `#/properties/x/items`. Keys are not escaped.
///
/// It is a chain into the callers' stack frames, so that nothing is written until somebody wants to read it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    /// `#`, or the text of the `$ref` that was followed.
    Base(&'p str),
    Property(&'p Path<'p>, &'p str),
    Items(&'p Path<'p>),
    /// A branch of `anyOf` or `oneOf`, counted without the null branches.
    Branch(&'p Path<'p>, usize),
    /// A part of `allOf`.
    Part(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(super) const ROOT: Path<'static> = Path::Base("#");
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(text) => f.write_str(text),
            Self::Property(parent, key) => write!(f, "{parent}/properties/{key}"),
            Self::Items(parent) => write!(f, "{parent}/items"),
            Self::Branch(parent, index) => write!(f, "{parent}/anyOf/{index}"),
            Self::Part(parent, index) => write!(f, "{parent}/allOf/{index}"),
        }
    }
}

/// A node's surroundings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) path: Path<'p>,
    /// Conversions on the way to the node, its own included.
    pub(super) depth: usize,
    /// The name of the node's type, should it need one; the names inside derive from it.
    pub(super) name: &'p str,
}

impl<'p> Place<'p> {
    /// A node one level below.
    pub(super) fn inner(&self, path: Path<'p>, name: &'p str) -> Self {
        Self { path, depth: self.depth + 1, name }
    }

    /// The same node, converted in another form.
    pub(super) fn again(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}
