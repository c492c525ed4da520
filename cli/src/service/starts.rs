//! Starts of the service that failed, so that it gives up after some of them instead of being started for ever, and can tell
//! why.
//!
//! A manager starts again what ends with a failure, and knows no end of it. So a service that is managed counts: it puts
//! down each start before it begins, and strikes it out when it has started. A start that crashes leaves its line, too.
//! After the last one that is allowed it ends as if all were well. Starts without a manager that failed are told, and do not
//! count.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    files::{self, Readers},
};

/// So many starts may fail within [`WINDOW`].
const MOST: usize = 5;
/// How long a failed start counts.
const WINDOW: Duration = Duration::from_mins(10);

/// The list of failed starts of the service with a certain data folder.
#[derive(Debug, Clone)]
pub(crate) struct StartList {
    path: PathBuf,
}

/// A start that failed, or has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FailedStart {
    /// When, in seconds since 1970.
    pub(crate) at: u64,
    /// Why. Absent where it ended before it could say.
    pub(crate) reason: Option<String>,
    /// Whether a manager started it. Others do not count.
    #[serde(default = "by_default")]
    pub(crate) is_managed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Content {
    failed_starts: Vec<FailedStart>,
}

/// A start that has begun.
#[derive(Debug)]
#[must_use = "it counts as failed until it is said how it went"]
pub(crate) struct Attempt {
    list: StartList,
    start: FailedStart,
    /// Those before it that count.
    before: usize,
}

/// What to do after a start that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    TryAgain,
    GiveUp,
}

impl StartList {
    /// Lies beside the data folder: that the folder cannot be used may be why starts fail.
    pub(crate) fn beside(data: &Path) -> Self {
        let mut name = data.file_name().unwrap_or_default().to_owned();
        name.push(".starts.json");
        Self { path: data.with_file_name(name) }
    }

    /// The starts that failed since the last good one, as far as they count now; the latest last.
    pub(crate) fn failed(&self) -> Vec<FailedStart> {
        self.failed_at(now())
    }

    fn failed_at(&self, now: u64) -> Vec<FailedStart> {
        // Whatever else lies there counts nothing.
        let content: Content =
            fs::read(&self.path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let counts = |start: &FailedStart| start.at.abs_diff(now) <= WINDOW.as_secs();
        content.failed_starts.into_iter().filter(counts).collect()
    }

    /// Whether that is too many.
    pub(crate) fn has_given_up(failed: &[FailedStart]) -> bool {
        count(failed) >= MOST
    }

    /// Has a start without a manager told that failed for this reason: the last one of those.
    pub(crate) fn note(&self, reason: &str) {
        let now = now();
        let mut starts = self.failed_at(now);
        starts.retain(|start| start.is_managed);
        starts.push(FailedStart { at: now, reason: Some(reason.to_owned()), is_managed: false });
        self.write(starts);
    }

    /// Begins a start. `None` if too many have failed.
    pub(crate) fn begin(&self) -> Option<Attempt> {
        self.begin_at(now())
    }

    fn begin_at(&self, now: u64) -> Option<Attempt> {
        let mut starts = self.failed_at(now);
        if Self::has_given_up(&starts) {
            return None;
        }
        let before = count(&starts);
        let start = FailedStart { at: now, reason: None, is_managed: true };
        starts.push(start.clone());
        self.write(starts);
        Some(Attempt { list: self.clone(), start, before })
    }

    /// Forgets all failed starts.
    pub(crate) fn forget(&self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "{} cannot be removed", self.path.display());
            }
            _ => {}
        }
    }

    /// A list that cannot be written bounds nothing. The manager's own limits are left then.
    fn write(&self, failed_starts: Vec<FailedStart>) {
        let written = serde_json::to_vec(&Content { failed_starts })
            .map_err(|error| Failure::io(error.to_string()))
            .and_then(|text| files::write(&self.path, &text, Readers::Owner));
        if let Err(failure) = written {
            tracing::warn!("failed starts cannot be counted: {failure}");
        }
    }
}

impl Attempt {
    /// It failed for this reason.
    pub(crate) fn failed(self, reason: &str) -> Verdict {
        let mut starts = self.list.failed_at(self.start.at);
        starts.retain(|start| *start != self.start);
        starts.push(FailedStart { reason: Some(reason.to_owned()), ..self.start });
        self.list.write(starts);
        if self.before + 1 >= MOST { Verdict::GiveUp } else { Verdict::TryAgain }
    }

    /// Somebody wanted it to end.
    pub(crate) fn stopped(self) {
        let mut starts = self.list.failed_at(self.start.at);
        starts.retain(|start| *start != self.start);
        if starts.is_empty() { self.list.forget() } else { self.list.write(starts) }
    }
}

fn count(failed: &[FailedStart]) -> usize {
    failed.iter().filter(|start| start.is_managed).count()
}

/// A list may be older than the difference.
const fn by_default() -> bool {
    true
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const START: u64 = 1_000_000;

    fn list(folder: &TempDir) -> StartList {
        StartList::beside(&folder.path().join("data"))
    }

    /// So many starts that fail one second after another.
    fn fail(list: &StartList, begin: u64, count: u64) -> Vec<Verdict> {
        (0..count)
            .map(|second| list.begin_at(begin + second).unwrap().failed(&format!("reason {second}")))
            .collect()
    }

    #[test]
    fn it_gives_up_at_the_last_start_that_may_fail_and_tells_why() {
        let folder = tempfile::tempdir().unwrap();
        let list = list(&folder);
        let verdicts = fail(&list, START, 5);
        assert!(verdicts[..4].iter().all(|verdict| *verdict == Verdict::TryAgain), "{verdicts:?}");
        assert_eq!(verdicts[4], Verdict::GiveUp);
        assert!(list.begin_at(START + 5).is_none());
        let failed = list.failed_at(START + 5);
        assert!(StartList::has_given_up(&failed));
        assert_eq!(
            failed[4],
            FailedStart { at: START + 4, reason: Some("reason 4".to_owned()), is_managed: true }
        );
    }

    #[test]
    fn a_start_that_says_nothing_counts() {
        let folder = tempfile::tempdir().unwrap();
        let list = list(&folder);
        for second in 0..5 {
            let _crashed = list.begin_at(START + second).unwrap();
        }
        assert!(list.begin_at(START + 5).is_none());
        assert_eq!(list.failed_at(START + 5)[0].reason, None);
    }

    #[test]
    fn failed_starts_count_for_ten_minutes() {
        let folder = tempfile::tempdir().unwrap();
        let list = list(&folder);
        fail(&list, START, 5);
        assert!(list.begin_at(START + 600).is_none());
        assert_eq!(list.begin_at(START + 601).unwrap().failed("again"), Verdict::GiveUp);
        assert_eq!(list.begin_at(START + 10_000).unwrap().failed("later"), Verdict::TryAgain);
    }

    #[test]
    fn a_good_start_forgets_and_a_stopped_one_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let list = list(&folder);
        fail(&list, START, 4);
        list.begin_at(START + 4).unwrap().stopped();
        assert_eq!(list.failed_at(START + 4).len(), 4);
        let _good = list.begin_at(START + 5).unwrap();
        list.forget();
        assert_eq!(fail(&list, START + 6, 4), [Verdict::TryAgain; 4]);
    }

    #[test]
    fn whatever_lies_in_its_place_counts_nothing() {
        for content in ["", "[]", "{\"failedStarts\": 1}", "nonsense"] {
            let folder = tempfile::tempdir().unwrap();
            let list = list(&folder);
            fs::write(&list.path, content).unwrap();
            assert_eq!(list.failed_at(START), [], "{content}");
            assert_eq!(list.begin_at(START).unwrap().failed("x"), Verdict::TryAgain);
        }
    }
}
