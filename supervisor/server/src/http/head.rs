//! What a request's head must be before hyper gets to see it.
//!
//! hyper parses the head again, and what it makes of it counts. But it answers bad heads itself, with an empty body, and it is
//! lenient where two readers of one request could come to different ends: a length beside chunks, for one. So heads are
//! checked here, with the parser that hyper uses, and hyper sees those only that it takes.

use std::mem::MaybeUninit;

use hyper::Uri;

use super::framing::Framing;
use crate::ApiError;

/// As many header fields as hyper takes.
const MOST_FIELDS: usize = 100;
/// As long a target as hyper takes, in bytes.
const LONGEST_TARGET: usize = u16::MAX as usize - 1;
/// As many digits as a length may have.
const MOST_LENGTH_DIGITS: usize = 18;

/// A head that can be served.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Its length in bytes, with the blank line.
    pub(super) length: usize,
    /// What follows it.
    pub(super) body: Framing,
}

/// The head at the start of `bytes`; `None` if more bytes are needed to tell.
pub(super) fn examine(bytes: &[u8], largest_body: u64) -> Result<Option<Head>, ApiError> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(unreadable(error, bytes)),
    };
    check_target(request.method.unwrap_or_default(), request.path.unwrap_or_default())?;
    let is_1_1 = request.version == Some(1);
    check_host(request.headers, is_1_1)?;
    let body = framing(request.headers, is_1_1, largest_body)?;
    Ok(Some(Head { length, body }))
}

fn unreadable(error: httparse::Error, bytes: &[u8]) -> ApiError {
    use httparse::Error;
    match error {
        Error::HeaderName => bad_request(
            "A header name holds characters that it must not hold, has a blank before its colon, or has no colon; or a line is \
             folded.",
        ),
        Error::HeaderValue => bad_request("A header value holds control characters."),
        Error::NewLine => bad_request("A line of the head does not end with CRLF."),
        Error::TooManyHeaders => {
            ApiError::malformed_request(431, format!("The head has more than {MOST_FIELDS} header fields."))
        }
        Error::Version if names_another_version(bytes) => {
            ApiError::malformed_request(505, "This server speaks HTTP/1.1 and HTTP/1.0.")
        }
        Error::Version | Error::Token | Error::Status => {
            bad_request("The first line is no HTTP request line: METHOD /path HTTP/1.1.")
        }
    }
}

fn bad_request(message: &str) -> ApiError {
    ApiError::malformed_request(400, message)
}

/// Whether the first line ends with a well-formed version that is not among this server's.
fn names_another_version(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let version = line.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    matches!(version, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
        if major.is_ascii_digit() && minor.is_ascii_digit() && !(*major == b'1' && matches!(minor, b'0' | b'1')))
}

fn check_target(method: &str, target: &str) -> Result<(), ApiError> {
    if target.len() > LONGEST_TARGET {
        return Err(ApiError::malformed_request(431, "The target of the request is too long."));
    }
    let is_place = target.starts_with('/') || target.contains("://") || target == "*" || method == "CONNECT";
    if !is_place || !target.bytes().all(|byte| byte.is_ascii_graphic()) || Uri::try_from(target).is_err() {
        return Err(bad_request("The target of the request is no path and no URL."));
    }
    Ok(())
}

fn check_host(fields: &[httparse::Header<'_>], is_1_1: bool) -> Result<(), ApiError> {
    match values(fields, "host").count() {
        1 => Ok(()),
        0 if !is_1_1 => Ok(()),
        0 => Err(bad_request("The header field Host is missing.")),
        _ => Err(bad_request("There is more than one header field Host.")),
    }
}

fn framing(fields: &[httparse::Header<'_>], is_1_1: bool, largest_body: u64) -> Result<Framing, ApiError> {
    let mut codings = values(fields, "transfer-encoding");
    let declared = declared_length(fields)?;
    match (codings.next(), declared) {
        (Some(_), Some(_)) => {
            Err(bad_request("A body has either Content-Length or Transfer-Encoding, not both."))
        }
        (Some(_), None) if !is_1_1 => Err(bad_request("HTTP/1.0 has no Transfer-Encoding.")),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none() => {
            Ok(Framing::chunked(largest_body))
        }
        (Some(_), None) => {
            Err(ApiError::malformed_request(501, "Of all transfer codings this server knows 'chunked' only."))
        }
        (None, Some(length)) if length > largest_body => Err(body_too_large(largest_body)),
        (None, length) => Ok(Framing::length(length.unwrap_or(0))),
    }
}

/// The one length that all fields declare.
fn declared_length(fields: &[httparse::Header<'_>]) -> Result<Option<u64>, ApiError> {
    let mut declared = None;
    for value in values(fields, "content-length") {
        let length = length(value).ok_or_else(|| bad_request("Content-Length is not a number of bytes."))?;
        if declared.is_some_and(|other| other != length) {
            return Err(bad_request("There are different values of Content-Length."));
        }
        declared = Some(length);
    }
    Ok(declared)
}

fn length(value: &[u8]) -> Option<u64> {
    let is_number = (1..=MOST_LENGTH_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

fn values<'a>(fields: &'a [httparse::Header<'_>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// The body has more bytes than this server takes.
pub(super) fn body_too_large(largest: u64) -> ApiError {
    ApiError::malformed_request(413, format!("The body is larger than {largest} bytes."))
}

/// The body has more values than this server takes.
pub(super) fn too_many_values(most: usize) -> ApiError {
    ApiError::malformed_request(413, format!("The body holds more than {most} JSON values."))
}

/// The head has more bytes than this server takes.
pub(super) fn head_too_large(largest: usize) -> ApiError {
    ApiError::malformed_request(431, format!("The head is larger than {largest} bytes."))
}
