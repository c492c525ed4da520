//! `$ref`: which targets become types of their own, and which are inlined at each use.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use serde_json::Value;

use super::{
    SchemaError,
    budget::Budget,
    convert::{Converter, is_named_type},
    place::{Path, Place},
    tree::{Node, TargetId, Typed},
};

/// The named targets of references. The first one is the root type.
#[derive(Debug, Default)]
pub(super) struct Targets<'s> {
    list: Vec<Target<'s>>,
    by_reference: HashMap<&'s str, TargetId>,
}

#[derive(Debug)]
struct Target<'s> {
    reference: &'s str,
    /// `None` while it is being converted.
    typed: Option<Typed>,
    /// What its conversion cost, for types that turn out to be inlined.
    cost: Budget,
    /// Where it was first referred to from inside itself.
    recursion: Option<String>,
}

/// What a reference comes to when other references are followed.
enum End<'t> {
    /// An object or union, which can be referred to by its name.
    Type(&'t Node),
    /// Anything else, which has no name.
    Plain,
    /// A target whose conversion goes on.
    Open,
    /// The reference itself.
    Cycle,
}

impl<'s> Targets<'s> {
    fn open(&mut self, reference: &'s str) -> TargetId {
        let id = TargetId(self.list.len());
        self.list.push(Target { reference, typed: None, cost: Budget::default(), recursion: None });
        self.by_reference.insert(reference, id);
        id
    }

    /// The object or union that a reference leads to.
    ///
    /// # Panics
    /// If the conversion has not ended well: it fails for references that lead to no type.
    pub(super) fn named_type(&self, id: TargetId) -> &Node {
        match self.end(id) {
            End::Type(node) => node,
            _ => unreachable!("conversion only leaves references to types"),
        }
    }

    /// The description of what a reference leads to.
    pub(super) fn description(&self, id: TargetId) -> Option<&str> {
        self.chain(id).find_map(|typed| typed.description.as_deref())
    }

    /// Whether what a reference leads to may be `null`.
    pub(super) fn is_nullable(&self, id: TargetId) -> bool {
        self.chain(id).any(|typed| typed.nullable)
    }

    /// The targets that a reference passes through, as far as they are converted.
    fn chain(&self, id: TargetId) -> impl Iterator<Item = &Typed> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let typed = self.list[next?.0].typed.as_ref()?;
            next = match typed.node {
                Node::Target(following) if following != id => Some(following),
                _ => None,
            };
            Some(typed)
        })
    }

    fn end(&self, id: TargetId) -> End<'_> {
        match self.chain(id).last().map(|typed| &typed.node) {
            Some(Node::Target(last)) if *last == id => End::Cycle,
            None | Some(Node::Target(_)) => End::Open,
            Some(node @ (Node::Object(_) | Node::Union(_))) => End::Type(node),
            Some(_) => End::Plain,
        }
    }

    /// Fails for a union that has itself among its branches, directly or through other unions: no value could tell
    /// how often it was chosen.
    fn check_unions(&self) -> Result<(), SchemaError> {
        let mut done = HashSet::new();
        for start in 0..self.list.len() {
            if done.contains(&start) {
                continue;
            }
            let mut way: Vec<(usize, Vec<TargetId>)> = vec![(start, self.branch_targets(start))];
            let mut on_way = HashSet::from([start]);
            while let Some((current, rest)) = way.last_mut() {
                match rest.pop() {
                    Some(TargetId(next)) if on_way.contains(&next) => {
                        let reference = self.list[next].reference;
                        let message = format!("the union at '{reference}' must not be a branch of itself");
                        return Err(SchemaError::new(Path::Base(reference), message));
                    }
                    Some(TargetId(next)) if !done.contains(&next) => {
                        on_way.insert(next);
                        way.push((next, self.branch_targets(next)));
                    }
                    Some(_) => {}
                    None => {
                        done.insert(*current);
                        on_way.remove(current);
                        way.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// The references among the branches of a target that is a union, or the one that it consists of.
    fn branch_targets(&self, target: usize) -> Vec<TargetId> {
        let mut found = Vec::new();
        let mut nodes: Vec<_> = self.list[target].typed.iter().map(|typed| &typed.node).collect();
        while let Some(node) = nodes.pop() {
            match node {
                Node::Union(union) => nodes.extend(&union.branches),
                Node::Target(id) => found.push(*id),
                _ => {}
            }
        }
        found
    }
}

impl<'s> Converter<'s> {
    /// Converts the document.
    pub(super) fn root(&mut self, name: &str) -> Result<Typed, SchemaError> {
        let id = self.targets.open("#");
        let typed = self.convert(self.schema, Place { path: Path::ROOT, depth: 1, name })?;
        self.close(id, typed.clone(), Budget::default())?;
        self.targets.check_unions()?;
        Ok(typed)
    }

    pub(super) fn reference(
        &mut self,
        reference: &'s str,
        description: Option<&'s str>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        if let Some(id) = self.targets.by_reference.get(reference) {
            return self.refer(*id, description, at);
        }
        let target = self.look_up(reference, at)?;
        let last = reference.rsplit('/').next().unwrap_or_default();
        if target.as_object().is_some_and(is_named_type) {
            let name = self.name_of(target, || unescaped(last));
            let id = self.targets.open(reference);
            let before = self.budget;
            // The type is converted once, so what leads here cannot come here again.
            let inlining = mem::take(&mut self.inlining);
            let typed = self.convert(target, at.inner(Path::Base(reference), &name))?;
            self.inlining = inlining;
            self.close(id, typed, before)?;
            return self.refer(id, description, at);
        }
        if !self.inlining.insert(reference) {
            return Err(SchemaError::new(at.path, needs_a_type(reference)));
        }
        let name = self.name_of(target, || unescaped(last));
        let typed = self.convert(target, at.inner(Path::Base(reference), &name))?;
        self.inlining.remove(reference);
        Ok(Typed { description: typed.description.or_else(|| description.map(str::to_owned)), ..typed })
    }

    /// A use of a target.
    fn refer(
        &mut self,
        id: TargetId,
        description: Option<&'s str>,
        at: Place<'_>,
    ) -> Result<Typed, SchemaError> {
        let description = description.map(str::to_owned);
        let by_name = Typed::new(Node::Target(id), description);
        match self.targets.end(id) {
            End::Type(_) => Ok(by_name),
            End::Plain => {
                let cost = self.targets.list[id.0].cost;
                self.budget.again(cost, &at.path)?;
                let chain = self.targets.chain(id);
                let inlined = chain.last().cloned().unwrap_or(by_name.clone());
                Ok(Typed {
                    description: by_name
                        .description
                        .or_else(|| self.targets.description(id).map(str::to_owned)),
                    nullable: self.targets.is_nullable(id),
                    ..inlined
                })
            }
            End::Open | End::Cycle => {
                self.targets.list[id.0].recursion.get_or_insert_with(|| at.path.to_string());
                Ok(by_name)
            }
        }
    }

    /// Ends the conversion of a target. One that refers to itself must have a name to do so.
    fn close(&mut self, id: TargetId, typed: Typed, before: Budget) -> Result<(), SchemaError> {
        let target = &mut self.targets.list[id.0];
        target.typed = Some(typed);
        target.cost = self.budget.since(before);
        match self.targets.end(id) {
            End::Type(_) | End::Open => Ok(()),
            End::Plain | End::Cycle => match &self.targets.list[id.0] {
                Target { recursion: Some(path), reference, .. } => {
                    Err(SchemaError::new(path, needs_a_type(reference)))
                }
                _ => Ok(()),
            },
        }
    }

    /// The node that a reference points to.
    pub(super) fn look_up(&self, reference: &str, at: Place<'_>) -> Result<&'s Value, SchemaError> {
        if reference == "#" {
            return Ok(self.schema);
        }
        let Some(pointer) = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/')) else {
            let message = format!("only local $ref values are supported, got '{reference}'");
            return Err(SchemaError::new(at.path, message));
        };
        self.schema
            .pointer(pointer)
            .ok_or_else(|| SchemaError::new(at.path, format!("unresolvable $ref '{reference}'")))
    }
}

fn needs_a_type(reference: &str) -> String {
    format!("recursive $ref '{reference}' must point to an object or union schema")
}

fn unescaped(component: &str) -> String {
    component.replace("~1", "/").replace("~0", "~")
}
