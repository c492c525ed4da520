//! Reading members of JSON objects. A member that is `null` counts as absent.

use serde_json::{Map, Value};

use super::problem::{Problem, Result, Within, must_be};

pub(crate) type Object = Map<String, Value>;

/// Objects of no more members are looked through: that takes less time than hashing a name.
const FEW_MEMBERS: usize = 16;

/// The member, unless it is absent.
pub(crate) fn optional<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    let member = if object.len() <= FEW_MEMBERS {
        object.iter().find_map(|(other, value)| (other == name).then_some(value))
    } else {
        object.get(name)
    };
    member.filter(|value| !value.is_null())
}

/// What `read` makes of the member, unless it is absent.
pub(crate) fn read<'a, T>(
    object: &'a Object,
    name: &str,
    read: impl FnOnce(&'a Value) -> Result<T>,
) -> Result<Option<T>> {
    optional(object, name).map(read).transpose().within(|| name.to_owned())
}

/// What `read` makes of the member, which must be there.
pub(crate) fn required<'a, T>(
    object: &'a Object,
    name: &str,
    read: impl FnOnce(&'a Value) -> Result<T>,
) -> Result<T> {
    self::read(object, name, read)?.ok_or_else(|| Problem::missing(name))
}

pub(crate) fn string(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| Problem::invalid_type("a string", value))
}

pub(crate) fn boolean(value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| Problem::invalid_type("a boolean", value))
}

pub(crate) fn array(value: &Value) -> Result<&[Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| Problem::invalid_type("an array", value))
}

pub(crate) fn object(value: &Value) -> Result<&Object> {
    value.as_object().ok_or_else(|| Problem::invalid_type("an object", value))
}

/// An object that is an element of a list; anything else has no name.
pub(crate) fn element(value: &Value) -> Result<&Object> {
    value.as_object().ok_or_else(|| Problem::unnamed(must_be("an object", value)))
}

/// A number without a fraction, however it is written.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    /// Integers are exact below it.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    #[expect(clippy::cast_possible_truncation, reason = "integral and below 2^53")]
    integer.or_else(|| {
        value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < LIMIT).map(|n| n as i128)
    })
}
