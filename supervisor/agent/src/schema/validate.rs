//! Does a value fit the dialect?
//!
//! A union that does not fit is one fault, not a tree of the faults of its branches, which for recursive unions would grow
//! exponentially. So would the time, were it not remembered what has been tried within a union.

use std::{cmp::Ordering, collections::HashMap, ptr};

use serde_json::{Map, Number, Value};

use super::{
    effort::{Looks, MAX_LOOKS, TooLarge},
    types::{Alternatives, Array, Object, Range, Type, TypeId, Types, Union},
};
use crate::json_text;

/// Values that nest deeper fit no schema: checking them could exhaust the stack.
const MAX_DEPTH: usize = 128;
/// What took no more looks is rather tried again than remembered.
const SOON_TRIED: usize = 16;
/// Names, values and lists from schema and value are shown up to this many characters.
const SHOWN_CHARS: usize = 100;
/// The same for the place in the value.
const PLACE_CHARS: usize = 200;

/// Whether the value fits the root type; the error says in a sentence why not. Returns the looks that are left.
pub(super) fn validate(types: &Types, value: &Value, looks: Looks) -> Result<Looks, String> {
    if json_text::nests_deeper(value, MAX_DEPTH) {
        return Err(format!("The value must not nest more than {MAX_DEPTH} levels deep."));
    }
    let mut check = Check { types, looks, unions: 0, tried: HashMap::new() };
    match check.fit(&TypeId::ROOT, value) {
        Ok(()) => Ok(check.looks),
        Err(Misfit::Fault(fault)) => Err(Sentence { types, fault: &fault }.text()),
        Err(Misfit::TooLarge) => Err(too_large()),
    }
}

/// What is said of a value that takes too many looks.
pub(super) fn too_large() -> String {
    format!(
        "The value has too many parts for so many alternatives, it takes more than {MAX_LOOKS} looks to check it. The schema must \
         have fewer alternatives ('anyOf'), or the value fewer parts."
    )
}

struct Check<'a> {
    types: &'a Types,
    looks: Looks,
    /// How many unions are tried at the moment, one within the other.
    unions: usize,
    /// Whether a value within a union fits another one.
    tried: HashMap<(TypeId, *const Value), bool>,
}

enum Misfit<'a> {
    Fault(Fault<'a>),
    TooLarge,
}

/// What does not fit.
struct Fault<'a> {
    kind: Kind<'a>,
    value: &'a Value,
    /// The way to the value, from its end. Not told within a union.
    way: Vec<Segment<'a>>,
}

enum Kind<'a> {
    Type(&'a Type),
    Minimum(&'a Number),
    Maximum(&'a Number),
    MinItems(u64),
    MaxItems(u64),
    Required(&'a Object),
    Unknown(&'a str),
}

enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

impl From<TooLarge> for Misfit<'_> {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl<'a> Check<'a> {
    fn fit(&mut self, id: &'a TypeId, value: &'a Value) -> Result<(), Misfit<'a>> {
        self.looks.spend(1)?;
        let wanted = self.types.get(*id);
        let fits = match (wanted, value) {
            (Type::String, Value::String(_))
            | (Type::Boolean, Value::Bool(_))
            | (Type::Null, Value::Null) => true,
            (Type::Choices(choices), Value::String(text)) => {
                self.looks.spend_on_text(text)?;
                choices.contains(text.as_str())
            }
            (Type::Number(range), Value::Number(number)) if !range.is_integer || is_integer(number) => {
                return within(range, number, value);
            }
            (Type::Array(array), Value::Array(elements)) => return self.fit_array(array, elements, value),
            (Type::Object(object), Value::Object(members)) => return self.fit_object(object, members, value),
            (Type::Union(_), _) => self.fits_one_of(id, value)?,
            _ => false,
        };
        if fits { Ok(()) } else { fault(Kind::Type(wanted), value) }
    }

    fn fit_array(
        &mut self,
        array: &'a Array,
        elements: &'a [Value],
        value: &'a Value,
    ) -> Result<(), Misfit<'a>> {
        let count = elements.len() as u64;
        if let Some(least) = array.min_items.filter(|least| count < *least) {
            return fault(Kind::MinItems(least), value);
        }
        if let Some(most) = array.max_items.filter(|most| count > *most) {
            return fault(Kind::MaxItems(most), value);
        }
        for (index, element) in elements.iter().enumerate() {
            self.fit_at(Segment::Index(index), &array.items, element)?;
        }
        Ok(())
    }

    /// What is in members comes last: within a union the plain ones mostly tell already which branch it is.
    fn fit_object(
        &mut self,
        object: &'a Object,
        members: &'a Map<String, Value>,
        value: &'a Value,
    ) -> Result<(), Misfit<'a>> {
        // Within a union it only counts whether a value fits, not why.
        if self.unions > 0 && !(object.required..=object.properties.len()).contains(&members.len()) {
            return fault(Kind::Required(object), value);
        }
        let (mut required, mut has_inner) = (0, false);
        for (key, member) in members {
            self.looks.spend_on_text(key)?;
            let Some(property) = object.properties.get(key.as_str()) else {
                return fault(Kind::Unknown(key), value);
            };
            required += usize::from(property.is_required);
            match member {
                Value::Array(_) | Value::Object(_) => has_inner = true,
                Value::Null if !property.is_required => self.looks.spend(1)?,
                member => self.fit_at(Segment::Key(key), &property.value, member)?,
            }
        }
        if required < object.required {
            return fault(Kind::Required(object), value);
        }
        if !has_inner {
            return Ok(());
        }
        for (key, member) in members {
            self.looks.spend_on_text(key)?;
            if let (Value::Array(_) | Value::Object(_), Some(property)) =
                (member, object.properties.get(key.as_str()))
            {
                self.fit_at(Segment::Key(key), &property.value, member)?;
            }
        }
        Ok(())
    }

    fn fit_at(&mut self, segment: Segment<'a>, id: &'a TypeId, value: &'a Value) -> Result<(), Misfit<'a>> {
        self.fit(id, value).map_err(|mut misfit| {
            if let Misfit::Fault(fault) = &mut misfit
                && self.unions == 0
            {
                fault.way.push(segment);
            }
            misfit
        })
    }

    fn fits_one_of(&mut self, union: &'a TypeId, value: &'a Value) -> Result<bool, TooLarge> {
        let key = (*union, ptr::from_ref(value));
        let may_come_again = self.unions > 0 && matches!(value, Value::Array(_) | Value::Object(_));
        if may_come_again && let Some(fits) = self.tried.get(&key) {
            return Ok(*fits);
        }
        let before = self.looks.left();
        self.unions += 1;
        let fits = self.try_branches(union, value)?;
        self.unions -= 1;
        if may_come_again && before - self.looks.left() > SOON_TRIED {
            self.tried.insert(key, fits);
        }
        Ok(fits)
    }

    fn try_branches(&mut self, union: &'a TypeId, value: &'a Value) -> Result<bool, TooLarge> {
        let mut branches = Alternatives::of(self.types, union);
        while let Some(branch) = branches.next(&mut self.looks)? {
            match self.fit(branch, value) {
                Ok(()) => return Ok(true),
                Err(Misfit::Fault(_)) => {}
                Err(Misfit::TooLarge) => return Err(TooLarge),
            }
        }
        Ok(false)
    }
}

fn fault<'a>(kind: Kind<'a>, value: &'a Value) -> Result<(), Misfit<'a>> {
    Err(Misfit::Fault(Fault { kind, value, way: Vec::new() }))
}

fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn within<'a>(range: &'a Range, number: &'a Number, value: &'a Value) -> Result<(), Misfit<'a>> {
    if let Some(minimum) = range.minimum.as_ref().filter(|it| compare(number, it).is_lt()) {
        return fault(Kind::Minimum(minimum), value);
    }
    if let Some(maximum) = range.maximum.as_ref().filter(|it| compare(number, it).is_gt()) {
        return fault(Kind::Maximum(maximum), value);
    }
    Ok(())
}

fn compare(a: &Number, b: &Number) -> Ordering {
    let rounded = |number: &Number| number.as_f64().unwrap_or_default();
    let (near_a, near_b) = (rounded(a), rounded(b));
    // Rounding keeps the order, but takes large integers for equal that are not.
    near_a.partial_cmp(&near_b).unwrap_or(Ordering::Equal).then_with(|| whole(a).cmp(&whole(b)))
}

/// The number without its fraction.
#[expect(clippy::cast_possible_truncation, reason = "what is beyond the integers is no integer's equal")]
fn whole(number: &Number) -> i128 {
    number.as_i128().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i128)
}

/// The fault for a model that may correct itself, and for the developer who reads along.
struct Sentence<'a> {
    types: &'a Types,
    fault: &'a Fault<'a>,
}

impl Sentence<'_> {
    fn text(&self) -> String {
        let (subject, value) = (self.subject(), self.fault.value);
        let shown = || cut(&json_text::compact(value), SHOWN_CHARS);
        let count = || value.as_array().map_or(0, Vec::len);
        match self.fault.kind {
            Kind::Type(Type::Union(union)) => {
                let branches = cut(&self.labels(union), 2 * SHOWN_CHARS);
                format!("{subject} must fit one of the types {branches}; {} fits none.", shown())
            }
            Kind::Type(wanted @ Type::Choices(choices)) => {
                let one_of = if choices.len() > 1 { "one of " } else { "" };
                format!(
                    "{subject} must be {one_of}{}, not {}.",
                    cut(&label(wanted), 2 * SHOWN_CHARS),
                    shown()
                )
            }
            Kind::Type(wanted) => {
                format!("{subject} must be {}, not {}.", with_article(kind_name(wanted)), shown())
            }
            Kind::Minimum(limit) => {
                format!("{subject} must be at least {}, not {}.", json_text::compact(limit), shown())
            }
            Kind::Maximum(limit) => {
                format!("{subject} must be at most {}, not {}.", json_text::compact(limit), shown())
            }
            Kind::MinItems(limit) => {
                format!("{subject} must have at least {}, not {}.", items(limit), count())
            }
            Kind::MaxItems(limit) => {
                format!("{subject} must have at most {}, not {}.", items(limit), count())
            }
            Kind::Required(object) => {
                format!("{} is required but missing.", self.member(missing(object, value)))
            }
            Kind::Unknown(key) => format!("{} is not a known property.", self.member(key)),
        }
    }

    fn subject(&self) -> String {
        let place = place(&self.fault.way);
        if place.is_empty() { "The value".to_owned() } else { format!("'{place}'") }
    }

    fn member(&self, name: &str) -> String {
        let (place, name) = (place(&self.fault.way), cut(name, SHOWN_CHARS));
        if place.is_empty() { format!("'{name}'") } else { format!("'{place}.{name}'") }
    }

    fn labels(&self, union: &Union) -> String {
        let labels: Vec<_> = union.branches.iter().map(|branch| label(self.types.get(*branch))).collect();
        labels.join(", ")
    }
}

/// The first required property that the value has not.
fn missing<'a>(object: &'a Object, value: &Value) -> &'a str {
    let is_missing = |key: &str| value.get(key).is_none();
    let mut required = object.properties.iter().filter(|(_, property)| property.is_required);
    required.find(|(key, _)| is_missing(key)).map_or("", |(key, _)| key)
}

/// How a fault names a type.
fn label(named: &Type) -> String {
    match named {
        Type::Object(object) => object.name.clone(),
        Type::Union(union) => union.name.clone(),
        Type::Choices(choices) => choices.iter().map(json_text::compact).collect::<Vec<_>>().join(", "),
        plain => kind_name(plain).to_owned(),
    }
}

fn kind_name(named: &Type) -> &'static str {
    match named {
        Type::String | Type::Choices(_) => "string",
        Type::Boolean => "boolean",
        Type::Null => "null",
        Type::Number(range) if range.is_integer => "integer",
        Type::Number(_) => "number",
        Type::Array(_) => "array",
        Type::Object(_) | Type::Union(_) => "object",
    }
}

/// `targets[0].name`; empty for the whole value.
fn place(way: &[Segment<'_>]) -> String {
    let mut place = String::new();
    for segment in way.iter().rev() {
        match segment {
            Segment::Index(index) => place.extend(["[", &index.to_string(), "]"]),
            Segment::Key(key) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&cut(key, SHOWN_CHARS));
            }
        }
    }
    cut(&place, PLACE_CHARS)
}

fn with_article(kind: &str) -> String {
    match kind {
        "array" | "integer" | "object" => format!("an {kind}"),
        "null" => kind.to_owned(),
        kind => format!("a {kind}"),
    }
}

fn items(count: u64) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

/// The text, or its beginning and `…`.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
