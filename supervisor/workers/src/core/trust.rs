//! Whether answers are streamed. Model runtimes have been seen to die while streaming and not otherwise, so a death
//! in the middle of a stream is answered by a while without streaming: longer with each such death, shorter again
//! with steps that end well.

use std::time::{Duration, Instant};

use crate::config::StreamingPolicy;

const FIRST_PENALTY: Duration = Duration::from_secs(30);
const LONGEST_PENALTY: Duration = Duration::from_mins(10);
/// This many streamed steps that end well forgive one death.
const STEPS_TO_FORGIVE: u32 = 20;

/// How far streaming is trusted.
#[derive(Debug)]
pub(crate) struct StreamingTrust {
    policy: StreamingPolicy,
    /// Deaths not yet forgiven.
    deaths: u32,
    clean_steps: u32,
    distrusted_until: Option<Instant>,
}

impl StreamingTrust {
    pub(crate) fn new(policy: StreamingPolicy) -> Self {
        Self { policy, deaths: 0, clean_steps: 0, distrusted_until: None }
    }

    /// Whether a step that asks for streaming gets it.
    pub(crate) fn allows(&self, now: Instant) -> bool {
        match self.policy {
            StreamingPolicy::Always => true,
            StreamingPolicy::Never => false,
            StreamingPolicy::Auto => self.distrusted_until.is_none_or(|until| now >= until),
        }
    }

    /// A worker died while it streamed.
    pub(crate) fn died_streaming(&mut self, now: Instant) {
        self.clean_steps = 0;
        let penalty = FIRST_PENALTY.saturating_mul(2_u32.saturating_pow(self.deaths)).min(LONGEST_PENALTY);
        self.deaths = self.deaths.saturating_add(1);
        self.distrusted_until = Some(now + penalty);
    }

    /// A streamed step ended well.
    pub(crate) fn streamed_well(&mut self) {
        self.clean_steps += 1;
        if self.clean_steps >= STEPS_TO_FORGIVE {
            self.clean_steps = 0;
            self.deaths = self.deaths.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_death_in_a_stream_costs_twice_the_time_of_the_one_before() {
        let start = Instant::now();
        let mut trust = StreamingTrust::new(StreamingPolicy::Auto);
        assert!(trust.allows(start));
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            trust.died_streaming(start);
            assert!(!trust.allows(start + Duration::from_secs(seconds - 1)));
            assert!(trust.allows(start + Duration::from_secs(seconds)));
        }
    }

    #[test]
    fn steps_that_end_well_bring_the_trust_back() {
        let start = Instant::now();
        let mut trust = StreamingTrust::new(StreamingPolicy::Auto);
        trust.died_streaming(start);
        (0..STEPS_TO_FORGIVE).for_each(|_| trust.streamed_well());
        trust.died_streaming(start);
        assert!(trust.allows(start + FIRST_PENALTY), "the second death costs no more than the first");
    }

    #[test]
    fn a_policy_is_not_moved_by_deaths() {
        let now = Instant::now();
        let mut always = StreamingTrust::new(StreamingPolicy::Always);
        always.died_streaming(now);
        assert!(always.allows(now));
        assert!(!StreamingTrust::new(StreamingPolicy::Never).allows(now));
    }
}
