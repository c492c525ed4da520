//! Logs for programs: one JSON object a line, with the time, the level, the message, its fields, and the connection that
//! it is about.

use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{fmt, layer::SubscriberExt};

use crate::{
    Queue,
    level::{LevelHandle, adjustable},
};

/// Makes what logs lines of JSON at `level` and above through `queue`.
pub fn json_subscriber(level: LevelFilter, queue: Queue) -> (impl Subscriber + Send + Sync, LevelHandle) {
    let (registry, handle) = adjustable(level);
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_writer(queue);
    (registry.with(lines), handle)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Guard, tests::Output};

    fn logged(log: impl FnOnce()) -> Vec<Value> {
        let output = Output::default();
        let queue = Queue::new(output.clone()).unwrap();
        let guard = Guard::new(queue.clone());
        let (subscriber, _level) = json_subscriber(LevelFilter::INFO, queue);
        tracing::subscriber::with_default(subscriber, log);
        drop(guard);
        output.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_is_an_object_with_the_connection_it_is_about() {
        let mut lines = logged(|| {
            let span = tracing::info_span!("connection", id = 3, client = tracing::field::Empty);
            span.record("client", "tavern");
            span.in_scope(|| tracing::warn!(limit = 2, path = %"a\nb", "careful\u{1b}"));
        });
        assert_eq!(lines.len(), 1);
        assert!(lines[0].as_object_mut().unwrap().remove("timestamp").unwrap().is_string());
        assert_eq!(
            lines[0],
            json!({
                "level": "WARN",
                "message": "careful\u{1b}",
                "limit": 2,
                "path": "a\nb",
                "span": {"name": "connection", "id": 3, "client": "tavern"},
            })
        );
    }
}
