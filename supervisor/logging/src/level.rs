//! How much is logged, where that can be changed while the process runs.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    Registry,
    layer::{Layered, SubscriberExt},
    reload,
};

/// Changes what is logged.
#[derive(Debug, Clone)]
pub struct LevelHandle(reload::Handle<LevelFilter, Registry>);

impl LevelHandle {
    /// From now on, `level` and above are logged.
    pub fn set(&self, level: LevelFilter) {
        // Fails when the subscriber is gone, and then nothing is logged.
        let _ = self.0.reload(level);
    }
}

/// What lets events at `level` and above through to the layers that are put on it.
pub(crate) fn adjustable(
    level: LevelFilter,
) -> (Layered<reload::Layer<LevelFilter, Registry>, Registry>, LevelHandle) {
    let (filter, handle) = reload::Layer::new(level);
    (tracing_subscriber::registry().with(filter), LevelHandle(handle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Queue, json_subscriber, subscriber, tests::Output};

    /// Which of the messages 1 to 4 are logged.
    fn logged(
        make: impl FnOnce(Queue) -> (Box<dyn tracing::Subscriber + Send + Sync>, LevelHandle),
    ) -> String {
        let output = Output::default();
        let queue = Queue::new(output.clone()).unwrap();
        let guard = Guard::new(queue.clone());
        let (subscriber, level) = make(queue);
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!("<1>");
            level.set(LevelFilter::DEBUG);
            tracing::debug!("<2>");
            level.set(LevelFilter::ERROR);
            tracing::warn!("<3>");
            tracing::error!("<4>");
        });
        drop(guard);
        let text = output.text();
        (1..=4)
            .filter(|number| text.contains(&format!("<{number}>")))
            .map(|number| number.to_string())
            .collect()
    }

    #[test]
    fn the_level_can_be_changed() {
        let text = logged(|queue| {
            let (subscriber, level) = subscriber("oam service", LevelFilter::INFO, queue);
            (Box::new(subscriber), level)
        });
        let json = logged(|queue| {
            let (subscriber, level) = json_subscriber(LevelFilter::INFO, queue);
            (Box::new(subscriber), level)
        });
        assert_eq!((text.as_str(), json.as_str()), ("24", "24"));
    }
}
