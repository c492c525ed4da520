//! Members in the schema's order.
//!
//! Models write members in the order in which they are asked for, but not every model can be held to it, and hosts
//! that read a structured answer from top to bottom rely on it.

use serde_json::{Map, Value};

use super::{
    effort::{Looks, TooLarge},
    types::{Alternatives, Object, Type, TypeId, Types},
};

/// Deeper values stay as they are.
const MAX_DEPTH: usize = 64;

pub(super) fn reorder(types: &Types, value: Value, looks: Looks) -> Result<Value, TooLarge> {
    Order { types, looks }.value(&TypeId::ROOT, value, 0)
}

struct Order<'t> {
    types: &'t Types,
    looks: Looks,
}

impl<'t> Order<'t> {
    fn value(&mut self, id: &'t TypeId, value: Value, depth: usize) -> Result<Value, TooLarge> {
        self.looks.spend(1)?;
        Ok(match value {
            Value::Object(members) if depth < MAX_DEPTH => {
                Value::Object(match self.object_for(id, &members)? {
                    Some(object) => self.members(object, members, depth)?,
                    None => members,
                })
            }
            Value::Array(elements) if depth < MAX_DEPTH => match self.items_for(id)? {
                Some(items) => elements
                    .into_iter()
                    .map(|element| self.value(items, element, depth + 1))
                    .collect::<Result<_, _>>()?,
                None => Value::Array(elements),
            },
            value => value,
        })
    }

    fn members(
        &mut self,
        object: &'t Object,
        members: Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, TooLarge> {
        let mut ordered = Vec::with_capacity(members.len());
        for (key, value) in members {
            self.looks.spend_on_text(&key)?;
            ordered.push(match object.properties.get_full(key.as_str()) {
                Some((number, _, property)) => (number, key, self.value(&property.value, value, depth + 1)?),
                None => (usize::MAX, key, value),
            });
        }
        ordered.sort_by_key(|(number, ..)| *number);
        Ok(ordered.into_iter().map(|(_, key, value)| (key, value)).collect())
    }

    /// The object type that a value with these members is of: in a union the best match, the first of equals.
    fn object_for(
        &mut self,
        id: &'t TypeId,
        members: &Map<String, Value>,
    ) -> Result<Option<&'t Object>, TooLarge> {
        let mut best: Option<(i64, &Object)> = None;
        let mut alternatives = Alternatives::of(self.types, id);
        while let Some(id) = alternatives.next(&mut self.looks)? {
            let Type::Object(object) = self.types.get(*id) else { continue };
            let score = self.score(object, members)?;
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, object));
            }
        }
        Ok(best.map(|(_, object)| object))
    }

    /// Two points for each property that there is, one less for each that is missing.
    fn score(&mut self, object: &Object, members: &Map<String, Value>) -> Result<i64, TooLarge> {
        let mut known = 0;
        for key in members.keys() {
            self.looks.spend(1)?;
            self.looks.spend_on_text(key)?;
            known += i64::from(object.properties.contains_key(key.as_str()));
        }
        let properties = i64::try_from(object.properties.len()).unwrap_or(i64::MAX);
        Ok(3 * known - properties)
    }

    /// The items of the first alternative that is an array.
    fn items_for(&mut self, id: &'t TypeId) -> Result<Option<&'t TypeId>, TooLarge> {
        let mut alternatives = Alternatives::of(self.types, id);
        while let Some(id) = alternatives.next(&mut self.looks)? {
            if let Type::Array(array) = self.types.get(*id) {
                return Ok(Some(&array.items));
            }
        }
        Ok(None)
    }
}
