//! How soon a dead worker is replaced, and when the pool gives up for a while: delays that grow, and a breaker.
//!
//! Deaths count until a step finishes, and those of a step that is given up count as one: a request that kills
//! workers must not close the model to everybody, while a model that dies of every request still does. Past a number of them within a minute the breaker opens: steps fail at once
//! instead of waiting for workers that keep dying. From then on one worker at a time is started as a probe; the
//! first step that finishes closes the breaker.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use oam_ipc::StepId;

/// Deaths within [`WINDOW`], without a finished step between them, that open the breaker.
const DEATHS_TO_OPEN: usize = 6;
const WINDOW: Duration = Duration::from_mins(1);
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Whether steps are let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaker {
    /// Yes.
    Closed,
    /// No; a probe starts at the given time.
    Open { probe_at: Instant },
    /// One worker is tried out, with one step at a time.
    HalfOpen,
}

/// A death, and the step that was alone on the worker.
#[derive(Debug)]
struct Death {
    at: Instant,
    culprit: Option<StepId>,
}

/// A step that was alone on a worker that died.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Culprit {
    pub(crate) step: StepId,
    /// It has done so too often, and is given up.
    pub(crate) is_given_up: bool,
}

/// The recent deaths of a pool.
#[derive(Debug)]
pub(crate) struct Health {
    /// Deaths since the last finished step, within the window.
    deaths: VecDeque<Death>,
    /// Deaths since the last finished step, however long ago.
    consecutive: u32,
    not_before: Option<Instant>,
    breaker: Breaker,
}

impl Default for Health {
    fn default() -> Self {
        Self { deaths: VecDeque::new(), consecutive: 0, not_before: None, breaker: Breaker::Closed }
    }
}

impl Health {
    pub(crate) fn breaker(&self) -> Breaker {
        self.breaker
    }

    /// When the next worker may be started; `None` at once.
    pub(crate) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// A worker died, or did not get ready. Returns the pause when this opened the breaker, or opened it again.
    pub(crate) fn died(&mut self, now: Instant, culprit: Option<Culprit>) -> Option<Duration> {
        self.deaths.retain(|death| now.duration_since(death.at) < WINDOW);
        if let Some(Culprit { step, is_given_up: true }) = culprit {
            self.forgive(step);
        }
        self.deaths.push_back(Death { at: now, culprit: culprit.map(|culprit| culprit.step) });
        let delay = delay(self.consecutive);
        self.consecutive = self.consecutive.saturating_add(1);
        self.not_before = (!delay.is_zero()).then(|| now + delay);
        if self.breaker == Breaker::Closed && self.deaths.len() < DEATHS_TO_OPEN {
            return None;
        }
        self.breaker = Breaker::Open { probe_at: now + delay };
        Some(delay)
    }

    /// Forgets the deaths that a step was guilty of.
    fn forgive(&mut self, step: StepId) {
        let counted = self.deaths.len();
        self.deaths.retain(|death| death.culprit != Some(step));
        let forgiven = u32::try_from(counted - self.deaths.len()).unwrap_or(u32::MAX);
        self.consecutive = self.consecutive.saturating_sub(forgiven);
    }

    /// The time for a probe has come.
    pub(crate) fn start_probe(&mut self) {
        self.breaker = Breaker::HalfOpen;
    }

    /// A step finished. Returns `true` when this closed the breaker.
    pub(crate) fn finished_step(&mut self) -> bool {
        self.deaths.clear();
        self.consecutive = 0;
        self.not_before = None;
        std::mem::replace(&mut self.breaker, Breaker::Closed) != Breaker::Closed
    }
}

/// The delay before the worker after `deaths` earlier deaths: 0, 0.1, 0.2, 0.4 … 10 s.
fn delay(deaths: u32) -> Duration {
    match deaths.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => {
            FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings.min(16))).min(LONGEST_DELAY)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_ten_seconds() {
        let millis: Vec<_> = (0..10).map(|deaths| delay(deaths).as_millis()).collect();
        assert_eq!(millis, [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    }

    /// A death that nobody is guilty of.
    fn dies(health: &mut Health, now: Instant) -> Option<Duration> {
        health.died(now, None)
    }

    #[test]
    fn six_deaths_in_a_minute_without_a_finished_step_open_the_breaker() {
        let start = Instant::now();
        let mut health = Health::default();
        for _ in 0..5 {
            assert_eq!(dies(&mut health, start), None);
        }
        assert_eq!(dies(&mut health, start), Some(Duration::from_millis(1600)));
        assert!(matches!(health.breaker(), Breaker::Open { .. }));
        let again = dies(&mut health, start);
        assert_eq!(
            again,
            Some(Duration::from_millis(3200)),
            "each death from then on makes the pause longer"
        );
    }

    #[test]
    fn deaths_far_apart_do_not_open_it() {
        let mut now = Instant::now();
        let mut health = Health::default();
        for _ in 0..20 {
            assert_eq!(dies(&mut health, now), None);
            now += Duration::from_secs(13);
        }
    }

    #[test]
    fn the_deaths_of_a_step_that_is_given_up_count_as_one() {
        let now = Instant::now();
        let mut health = Health::default();
        let mut killed_by =
            |step, is_given_up| health.died(now, Some(Culprit { step: StepId(step), is_given_up })).is_some();
        for step in 1..=4 {
            assert!(
                !killed_by(step, false) && !killed_by(step, false) && !killed_by(step, true),
                "step {step}"
            );
        }
        assert!(!killed_by(5, false));
        assert!(killed_by(5, false), "four steps that were given up, and two deaths");
    }

    #[test]
    fn a_finished_step_forgets_all_deaths_and_closes_the_breaker() {
        let now = Instant::now();
        let mut health = Health::default();
        for _ in 0..6 {
            dies(&mut health, now);
        }
        health.start_probe();
        assert!(health.finished_step());
        assert_eq!((health.breaker(), health.not_before()), (Breaker::Closed, None));
        assert!(!health.finished_step());
        assert_eq!(dies(&mut health, now), None);
        assert_eq!(health.not_before(), None, "the first death costs no delay");
    }

    #[test]
    fn a_probe_that_dies_opens_it_again() {
        let now = Instant::now();
        let mut health = Health::default();
        for _ in 0..6 {
            dies(&mut health, now);
        }
        health.start_probe();
        assert_eq!(dies(&mut health, now), Some(Duration::from_millis(3200)));
        assert!(matches!(health.breaker(), Breaker::Open { probe_at } if probe_at > now));
    }
}
