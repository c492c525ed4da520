//! Which request asks for what.

use hyper::Method;
use percent_encoding::percent_decode_str;

use crate::ApiError;

/// What there is, for those who ask for something else.
const SUPPORTED: &str = "POST /v1/chat/completions, POST /v1/responses, GET /v1/models, GET /v1/models/{id}, GET /health and GET /metrics";

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    Chat,
    Responses,
    Models,
    Model(String),
    Health,
    Metrics,
}

impl Route {
    /// The route at a decoded path.
    pub(super) fn find(method: &Method, path: &str) -> Result<Self, ApiError> {
        let route = Self::at(path).ok_or_else(|| ApiError::unknown_url(method.as_str(), path, SUPPORTED))?;
        if route.takes(method) {
            Ok(route)
        } else {
            Err(ApiError::method_not_allowed(method.as_str(), path, route.method()))
        }
    }

    fn at(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let path =
            path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).map_or(path, |rest| match rest {
                "/healthz" | "/metrics" => path,
                _ => rest,
            });
        match path {
            "/chat/completions" => Some(Self::Chat),
            "/responses" => Some(Self::Responses),
            "/models" => Some(Self::Models),
            "/health" | "/healthz" => Some(Self::Health),
            "/metrics" => Some(Self::Metrics),
            _ => {
                let id = path.strip_prefix("/models/")?;
                (!id.is_empty() && !id.contains('/')).then(|| Self::Model(id.to_owned()))
            }
        }
    }

    /// The method of the route, as in `Allow`.
    fn method(&self) -> &'static str {
        if self.is_completion() { "POST" } else { "GET" }
    }

    fn takes(&self, method: &Method) -> bool {
        if self.is_completion() {
            *method == Method::POST
        } else {
            matches!(*method, Method::GET | Method::HEAD)
        }
    }

    /// Whether a model is asked.
    pub(super) fn is_completion(&self) -> bool {
        matches!(self, Self::Chat | Self::Responses)
    }

    /// Whether it opens without a key.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::Health
    }

    /// The name in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Chat => "chat_completions",
            Self::Responses => "responses",
            Self::Models => "models",
            Self::Model(_) => "model",
            Self::Health => "health",
            Self::Metrics => "metrics",
        }
    }
}

/// The method that a path wants, as in `Allow`.
pub(super) fn allowed_method(path: &str) -> &'static str {
    Route::at(path).map_or("GET, POST", |route| route.method())
}

/// A path as its characters.
pub(super) fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_route_with_and_without_version() {
        let model = |id: &str| Some(Route::Model(id.to_owned()));
        for (path, route) in [
            ("/v1/chat/completions", Some(Route::Chat)),
            ("/chat/completions", Some(Route::Chat)),
            ("/v1/chat/completions//", Some(Route::Chat)),
            ("/v1/responses", Some(Route::Responses)),
            ("/responses/", Some(Route::Responses)),
            ("/v1/responses/resp_1", None),
            ("/v1/models", Some(Route::Models)),
            ("/models/", Some(Route::Models)),
            ("/v1/models/system", model("system")),
            ("/models/system/", model("system")),
            ("/v1/models/v1", model("v1")),
            ("/health", Some(Route::Health)),
            ("/healthz", Some(Route::Health)),
            ("/v1/health", Some(Route::Health)),
            ("/metrics", Some(Route::Metrics)),
            ("/", None),
            ("", None),
            ("*", None),
            ("/v1", None),
            ("/v1/healthz", None),
            ("/v1/metrics", None),
            ("/v1models", None),
            ("/v1/v1/models", None),
            ("//v1/models", None),
            ("/v1/models/a/b", None),
            ("/v1/embeddings", None),
            ("/V1/models", None),
        ] {
            assert_eq!(Route::at(path), route, "{path}");
        }
    }
}
