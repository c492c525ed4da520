//! What a schema is converted to before it is written as JSON: the dialect as types.

use serde_json::Number;

/// A type of the dialect, at its place of use.
#[derive(Debug, Clone)]
pub(super) enum Node {
    String,
    Boolean,
    Null,
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Number {
        minimum: Option<Number>,
        maximum: Option<Number>,
    },
    /// One of these strings; never empty.
    Choices(Vec<String>),
    Array(Box<Array>),
    Object(Box<Object>),
    Union(Box<Union>),
    /// The type that a `$ref` points to, named and converted once.
    Target(TargetId),
}

/// A converted schema node: its type and what its place of use has to know.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) node: Node,
    /// For the property that has this type. Of a [`Node::Target`]: the reference's own one.
    pub(super) description: Option<String>,
    /// Whether `null` was allowed. The dialect has no `null` beside another type: a nullable property is optional.
    pub(super) nullable: bool,
}

impl Typed {
    pub(super) fn new(node: Node, description: Option<String>) -> Self {
        Self { node, description, nullable: false }
    }

    pub(super) fn null(description: Option<String>) -> Self {
        Self { node: Node::Null, description, nullable: true }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) items: Node,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
}

/// A closed object; its name is unique in the schema.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// In the order in which they are generated.
    pub(super) properties: Vec<Property>,
}

#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) key: String,
    pub(super) value: Typed,
    /// Whether `required` lists it; a nullable property is optional even then.
    pub(super) listed: bool,
}

/// A value of one of several types; its name is unique in the schema.
#[derive(Debug, Clone)]
pub(super) struct Union {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// At least two.
    pub(super) branches: Vec<Node>,
}

/// Names a `$ref` target in [`Targets`](super::refs::Targets).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TargetId(pub(super) usize);
