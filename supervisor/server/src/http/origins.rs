//! Which pages may use a server, and what browsers must be told for it (CORS).

use hyper::{
    HeaderMap,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue,
        ORIGIN, VARY,
    },
};

use crate::ApiError;

/// The origins whose pages may use a server.
#[derive(Debug)]
pub(super) enum Origins {
    Any,
    These(Vec<String>),
}

/// What an allowed origin is told. Nothing, where a request has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant(Option<HeaderValue>);

impl Origins {
    pub(super) fn new(allowed: &[String]) -> Self {
        if allowed.iter().any(|origin| origin == "*") { Self::Any } else { Self::These(allowed.to_vec()) }
    }

    /// Fails for a page of another origin. Of several origins, each must be allowed.
    pub(super) fn admit(&self, request: &HeaderMap) -> Result<Grant, ApiError> {
        let mut grant = None;
        for origin in request.get_all(ORIGIN) {
            grant = Some(match self {
                Self::Any => HeaderValue::from_static("*"),
                Self::These(allowed)
                    if allowed.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) =>
                {
                    origin.clone()
                }
                Self::These(_) => {
                    return Err(ApiError::origin_not_allowed(&String::from_utf8_lossy(origin.as_bytes())));
                }
            });
        }
        Ok(Grant(grant))
    }
}

impl Grant {
    /// For a request that no page made, or that no page is to see the answer of.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Lets the page read a response.
    pub(super) fn write(&self, response: &mut HeaderMap) {
        if let Some(origin) = &self.0 {
            response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.insert(VARY, HeaderValue::from_static("Origin"));
            response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
        }
    }

    /// Lets the page make the request that it asks for.
    pub(super) fn write_preflight(&self, request: &HeaderMap, response: &mut HeaderMap) {
        if self.0.is_none() {
            return;
        }
        let headers = request
            .get(ACCESS_CONTROL_REQUEST_HEADERS)
            .cloned()
            .unwrap_or(HeaderValue::from_static("Authorization, Content-Type"));
        response.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
        response.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
}
