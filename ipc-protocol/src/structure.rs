//! The bounds of a frame's content, checked before anything is built from it.
//!
//! One pass over the bytes, without recursion and in memory that their depth bounds. What passes is exactly one map,
//! and the keys of its maps are text: integers as keys, which serde would take for the members they number, never
//! get that far. What is encoded keeps to the same, so what one side sends, the other reads.

use rmp::Marker;

/// How deep maps and arrays may nest, the message itself included.
///
/// The values of a conversation nest at most 100 levels, those of schemas about as deep; the message around them
/// adds seven.
pub const MAX_DEPTH: usize = 128;

/// How many values a message may consist of, keys and containers included. Built up, a value takes a hundred times
/// the memory of the byte that it may be in a frame.
pub const MAX_VALUES: usize = 1 << 20;

const TOO_DEEP: &str = "nests deeper than 128";
const TOO_MANY_VALUES: &str = "holds more than 1048576 values";

/// Most messages nest no deeper.
const USUAL_DEPTH: usize = 16;

/// Checks that `bytes` are one message and nothing else. The error completes "the frame …".
///
/// Returns the message's `type` where that comes first, is text and comes once. Whoever knows it can build the message
/// while reading it; serde without it keeps all members until it finds the type.
pub(crate) fn check(bytes: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let mut rest = bytes;
    let mut open: Vec<Container> = Vec::with_capacity(USUAL_DEPTH);
    let mut kind = Kind::Unseen;
    for _ in 0..MAX_VALUES {
        let marker = Marker::from_u8(take(&mut rest, 1)?[0]);
        let value = enter(marker, &mut rest)?;
        let is_outermost = open.len() == 1;
        match open.last_mut() {
            Some(parent) => {
                if parent.is_at_key() && !matches!(value, Value::Text(_)) {
                    return Err("has a key that is not text");
                }
                if is_outermost {
                    kind = kind.after(value, parent.is_at_key());
                }
                parent.left -= 1;
            }
            None if matches!(value, Value::Container(Container { is_map: true, .. })) => {}
            None => return Err("is not a map"),
        }
        if let Value::Container(container) = value {
            if open.len() == MAX_DEPTH {
                return Err(TOO_DEEP);
            }
            open.push(container);
        }
        while open.pop_if(|container| container.left == 0).is_some() {}
        if open.is_empty() {
            return if rest.is_empty() { Ok(kind.known()) } else { Err("goes on behind its message") };
        }
    }
    Err(TOO_MANY_VALUES)
}

/// Whether a look at its bytes tells that a message of our own has a structure that [`check`] takes: not longer than it may
/// have values, and not as many bytes that may begin a map or an array as those may nest.
pub(crate) fn is_surely_bounded(bytes: &[u8]) -> bool {
    let may_open = |byte: &&u8| matches!(byte, 0x80..=0x9f | 0xdc..=0xdf);
    bytes.len() <= MAX_VALUES && bytes.iter().filter(may_open).count() <= MAX_DEPTH
}

/// What the members so far tell of the message's `type`.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// There were none.
    Unseen,
    /// It is the next value.
    Next,
    Known(&'a [u8]),
    /// It is not to be relied on.
    Unclear,
}

impl<'a> Kind<'a> {
    fn after(self, value: Value<'a>, is_key: bool) -> Self {
        let is_type = is_key && matches!(value, Value::Text(b"type"));
        match (self, value) {
            (Self::Unseen, _) if is_type => Self::Next,
            (Self::Next, Value::Text(kind)) => Self::Known(kind),
            (Self::Known(kind), _) if !is_type => Self::Known(kind),
            _ => Self::Unclear,
        }
    }

    fn known(self) -> Option<&'a [u8]> {
        match self {
            Self::Known(kind) => Some(kind),
            _ => None,
        }
    }
}

/// A value, as far as its structure goes.
#[derive(Clone, Copy)]
enum Value<'a> {
    Text(&'a [u8]),
    Container(Container),
    /// A number, bytes or the like.
    Other,
}

/// A map or an array whose values are being read.
#[derive(Clone, Copy)]
struct Container {
    is_map: bool,
    /// Values to come; of a map, keys as well.
    left: u64,
}

impl Container {
    fn is_at_key(&self) -> bool {
        self.is_map && self.left.is_multiple_of(2)
    }
}

/// Steps over a value, or into it if it is a container.
fn enter<'a>(marker: Marker, rest: &mut &'a [u8]) -> Result<Value<'a>, &'static str> {
    let array = |len| Ok(Value::Container(Container { is_map: false, left: len }));
    let map = |len: u64| Ok(Value::Container(Container { is_map: true, left: 2 * len }));
    let len = match marker {
        Marker::FixArray(len) => return array(len.into()),
        Marker::Array16 => return array(length(rest, 2)?),
        Marker::Array32 => return array(length(rest, 4)?),
        Marker::FixMap(len) => return map(len.into()),
        Marker::Map16 => return map(length(rest, 2)?),
        Marker::Map32 => return map(length(rest, 4)?),
        Marker::FixStr(len) => return Ok(Value::Text(take(rest, len.into())?)),
        Marker::Str8 => return text(rest, 1),
        Marker::Str16 => return text(rest, 2),
        Marker::Str32 => return text(rest, 4),
        Marker::Null | Marker::False | Marker::True | Marker::FixPos(_) | Marker::FixNeg(_) => 0,
        Marker::U8 | Marker::I8 => 1,
        Marker::U16 | Marker::I16 | Marker::FixExt1 => 2,
        Marker::FixExt2 => 3,
        Marker::U32 | Marker::I32 | Marker::F32 => 4,
        Marker::FixExt4 => 5,
        Marker::U64 | Marker::I64 | Marker::F64 => 8,
        Marker::FixExt8 => 9,
        Marker::FixExt16 => 17,
        Marker::Bin8 => length(rest, 1)?,
        Marker::Bin16 => length(rest, 2)?,
        Marker::Bin32 => length(rest, 4)?,
        Marker::Ext8 => length(rest, 1)? + 1,
        Marker::Ext16 => length(rest, 2)? + 1,
        Marker::Ext32 => length(rest, 4)? + 1,
        Marker::Reserved => return Err("holds a byte that MessagePack does not use"),
    };
    take(rest, len)?;
    Ok(Value::Other)
}

/// A text whose length has `size` bytes.
fn text<'a>(rest: &mut &'a [u8], size: u64) -> Result<Value<'a>, &'static str> {
    let len = length(rest, size)?;
    Ok(Value::Text(take(rest, len)?))
}

/// A length of `size` bytes.
fn length(rest: &mut &[u8], size: u64) -> Result<u64, &'static str> {
    Ok(take(rest, size)?.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)))
}

fn take<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8], &'static str> {
    let (taken, left) = usize::try_from(len)
        .ok()
        .and_then(|len| rest.split_at_checked(len))
        .ok_or("ends within its message")?;
    *rest = left;
    Ok(taken)
}
