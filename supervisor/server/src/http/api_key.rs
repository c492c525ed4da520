//! The key that clients must know.

use std::fmt;

use hyper::{HeaderMap, header::AUTHORIZATION};
use subtle::ConstantTimeEq;

/// The key of a server.
pub(super) struct ApiKey(String);

impl ApiKey {
    /// `None` for an empty key: then there is none.
    pub(super) fn new(key: Option<&str>) -> Option<Self> {
        key.filter(|key| !key.is_empty()).map(|key| Self(key.to_owned()))
    }

    /// Whether a request has the key as `Authorization: Bearer <key>`. The time this takes does not tell how much of a wrong
    /// key is right.
    pub(super) fn opens(&self, request: &HeaderMap) -> bool {
        let Some(sent) = request.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes())) else {
            return false;
        };
        sent.ct_eq(self.0.as_bytes()).into()
    }
}

fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = authorization.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| key.trim_ascii())
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opens(authorization: &'static str) -> bool {
        let key = ApiKey::new(Some("secret")).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().unwrap());
        key.opens(&headers)
    }

    #[test]
    fn only_the_whole_key_opens() {
        for authorization in ["Bearer secret", "bearer secret", "BEARER   secret  "] {
            assert!(opens(authorization), "{authorization}");
        }
        for authorization in [
            "Bearer secre",
            "Bearer secret2",
            "Bearer Secret",
            "Bearer",
            "Bearer ",
            "secret",
            "Basic secret",
            "Bearersecret",
            "",
        ] {
            assert!(!opens(authorization), "{authorization}");
        }
        assert!(!ApiKey::new(Some("secret")).unwrap().opens(&HeaderMap::new()));
    }

    #[test]
    fn an_empty_key_is_none() {
        assert!(ApiKey::new(Some("")).is_none() && ApiKey::new(None).is_none());
    }
}
