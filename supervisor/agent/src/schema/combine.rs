//! `allOf`, `anyOf` and `oneOf`.

use serde_json::{Map, Value};

use super::{
    SchemaError,
    convert::Converter,
    keywords::{Keywords, Merged},
    place::{Path, Place},
    tree::{Node, Typed, Union},
};

impl<'s> Converter<'s> {
    /// Merges the parts into the node and converts the result; parts that are references are looked up.
    pub(super) fn all_of(
        &mut self,
        keywords: Keywords<'s>,
        parts: &[&'s Value],
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let mut merged = Merged::without_all_of(keywords);
        for (index, part) in parts.iter().enumerate() {
            let part = self.part(part, index, at)?;
            // Parts have parts: a few nested lists can name millions of them.
            self.budget.node(&at.path)?;
            self.budget.entries(entries(part), &at.path)?;
            merged.add(part);
        }
        self.node(Keywords::Merged(Box::new(merged)), at.again())
    }

    /// The members of one part of an `allOf`.
    fn part(
        &self,
        part: &'s Value,
        index: usize,
        at: Place<'_>,
    ) -> Result<&'s Map<String, Value>, SchemaError> {
        let mut part = part;
        let mut hops = 0;
        while let Some(reference) = part.get("$ref").and_then(Value::as_str) {
            hops += 1;
            if hops > self.source.max_depth() {
                return Err(self.too_deep(at));
            }
            part = self.look_up(reference, at)?;
        }
        part.as_object()
            .ok_or_else(|| SchemaError::new(Path::Part(&at.path, index), "expected a schema object"))
    }

    /// A value of one of several types. What is left after removing null branches, and whether it differs at all,
    /// decides if it is really a union.
    pub(super) fn union(
        &mut self,
        branches: &'s [Value],
        keywords: &Keywords<'s>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        self.budget.entries(branches.len(), &at.path)?;
        let described = |typed: Typed| or_described(typed, keywords.description());
        let schemas: Vec<_> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let nullable = schemas.len() < branches.len();
        if let [only] = schemas[..] {
            let path = Path::Branch(&at.path, 0);
            let typed = if only.get("title").is_some_and(Value::is_string) {
                let name = self.name_of(only, String::new);
                self.convert(only, at.inner(path, &name))?
            } else {
                self.convert(only, at.inner(path, at.name))?
            };
            return Ok(described(Typed { nullable: nullable || typed.nullable, ..typed }));
        }
        let choices: Option<Vec<_>> = schemas.iter().map(|schema| string_values(schema)).collect();
        if let Some(choices) = choices
            && !choices.is_empty()
        {
            let typed = self.string_choices(choices.concat(), None, at)?;
            return Ok(described(Typed { nullable, ..typed }));
        }
        let mut nodes = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.into_iter().enumerate() {
            let name = self.name_of(schema, || format!("{}_option{}", at.name, index + 1));
            nodes.push(self.convert(schema, at.inner(Path::Branch(&at.path, index), &name))?.node);
        }
        let node = united(nodes, keywords, at);
        let null = matches!(node.node, Node::Null);
        Ok(described(Typed { nullable: nullable || null || node.nullable, ..node }))
    }
}

/// The branches as one type. Branches that only conversion shows to be null or choices count as such, so that the
/// dialect never says in a union what it says without one.
fn united(mut branches: Vec<Node>, keywords: &Keywords<'_>, at: Place<'_>) -> Typed {
    let before = branches.len();
    branches.retain(|branch| !matches!(branch, Node::Null));
    let nullable = branches.len() < before;
    let node = if branches.len() < 2 {
        branches.pop().unwrap_or(Node::Null)
    } else if branches.iter().all(|branch| matches!(branch, Node::Choices(_))) {
        let choices = branches.into_iter().filter_map(|branch| match branch {
            Node::Choices(choices) => Some(choices),
            _ => None,
        });
        Node::Choices(choices.flatten().collect())
    } else {
        let description = keywords.description().map(str::to_owned);
        Node::Union(Box::new(Union { name: at.name.to_owned(), description, branches }))
    };
    Typed { node, description: None, nullable }
}

/// The type with the union's description, if it has none of its own.
fn or_described(mut typed: Typed, description: Option<&str>) -> Typed {
    let description = description.map(str::to_owned);
    if let Node::Object(object) = &mut typed.node
        && object.description.is_none()
    {
        object.description.clone_from(&description);
    }
    typed.description = typed.description.or(description);
    typed
}

fn is_null(branch: &Value) -> bool {
    branch.get("type").is_some_and(|it| it == "null") || branch.get("const").is_some_and(Value::is_null)
}

/// The strings that a branch allows, if it allows nothing else and says so itself.
fn string_values(branch: &Value) -> Option<Vec<String>> {
    let branch = branch.as_object()?;
    if ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| branch.contains_key(*keyword)) {
        return None;
    }
    match branch.get("enum") {
        Some(Value::Array(values)) if !values.is_empty() => {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        }
        Some(Value::Array(_)) => None,
        _ => Some(vec![branch.get("const")?.as_str()?.to_owned()]),
    }
}

/// How much there is to merge in a part.
fn entries(part: &Map<String, Value>) -> usize {
    let inside = part.values().map(|value| match value {
        Value::Object(members) => members.len(),
        Value::Array(elements) => elements.len(),
        _ => 1,
    });
    inside.sum()
}
