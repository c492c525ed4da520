//! Logs, one [`mod@line`] an event.
//!
//! Nothing ever waits for a log line. Lines go through a bounded queue to a thread that writes them; when
//! whoever reads them has stopped doing so, the queue fills up and further lines are lost.
//!
//! For people, lines are text on standard error ([`subscriber`]). A service writes [JSON](json_subscriber) into a
//! [file that is rotated](RotatingFile).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod json;
mod level;
mod line;
#[cfg(unix)]
mod rotation;

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Duration,
};

use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
};

pub use json::json_subscriber;
pub use level::LevelHandle;
use line::LineFormat;
pub use line::escape;
#[cfg(unix)]
pub use rotation::{RotatingFile, Rotation};

/// How many lines may wait to be written.
const QUEUED_LINES: usize = 4096;

/// How long they may be in all, in bytes.
const QUEUED_BYTES: usize = 1 << 20;

/// The time that waiting lines get to be written when the process ends.
const FLUSH_TIME: Duration = Duration::from_millis(200);

/// Makes what logs lines at `level` and above through `queue`. They begin with `[name] level:`, or without a name with
/// `[level]`.
pub fn subscriber(
    name: impl Into<Option<&'static str>>,
    level: LevelFilter,
    queue: Queue,
) -> (impl Subscriber + Send + Sync, LevelHandle) {
    let (registry, handle) = level::adjustable(level);
    let lines =
        fmt::layer().with_ansi(false).event_format(LineFormat { name: name.into() }).with_writer(queue);
    (registry.with(lines), handle)
}

/// Dropped when the process ends, it gives the lines that still wait a short time to be written.
#[must_use = "the last lines are lost when the guard is not kept to the end"]
#[derive(Debug)]
pub struct Guard(Queue);

impl Guard {
    /// For the lines in `queue`.
    pub fn new(queue: Queue) -> Self {
        Self(queue)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (flushed, wait) = mpsc::sync_channel(1);
        if self.0.items.try_send(Item::Flush(flushed)).is_ok() {
            // Too late is as good as never.
            let _ = wait.recv_timeout(FLUSH_TIME);
        }
    }
}

enum Item {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// The way to the thread that writes. A line that finds the queue full is lost.
#[derive(Debug, Clone)]
pub struct Queue {
    items: SyncSender<Item>,
    waiting_bytes: Arc<AtomicUsize>,
}

impl Queue {
    /// A queue that a thread of its own writes to `output`. The thread ends when the last clone is dropped.
    pub fn new(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (items, taken) = mpsc::sync_channel(QUEUED_LINES);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting_bytes);
        thread::Builder::new().name("log".to_owned()).spawn(move || write_items(&taken, output, &written))?;
        Ok(Self { items, waiting_bytes })
    }
}

fn write_items(items: &Receiver<Item>, mut output: impl Write, waiting_bytes: &AtomicUsize) {
    for item in items {
        // There is nowhere to tell that a log line cannot be written.
        let _ = match item {
            Item::Line(line) => {
                let written = output.write_all(&line);
                waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
                written
            }
            Item::Flush(flushed) => output.flush().map(|()| {
                let _ = flushed.try_send(());
            }),
        };
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

impl Write for &Queue {
    /// Takes a whole line: that is how the subscriber writes.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let before = self.waiting_bytes.fetch_add(line.len(), Ordering::Relaxed);
        let has_room = before + line.len() <= QUEUED_BYTES;
        if !has_room || self.items.try_send(Item::Line(line.to_vec())).is_err() {
            self.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn subscriber(level: LevelFilter, queue: Queue) -> impl Subscriber + Send + Sync {
        super::subscriber("oam stdio", level, queue).0
    }

    #[derive(Clone, Default)]
    pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

    impl Output {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written when `log` logs.
    fn logged(log: impl FnOnce()) -> String {
        logged_as("oam stdio", log)
    }

    fn logged_as(name: impl Into<Option<&'static str>>, log: impl FnOnce()) -> String {
        let output = Output::default();
        let queue = Queue::new(output.clone()).unwrap();
        let guard = Guard(queue.clone());
        tracing::subscriber::with_default(super::subscriber(name, LevelFilter::INFO, queue).0, log);
        drop(guard);
        output.text()
    }

    #[test]
    fn a_line_has_command_level_message_and_fields() {
        let lines = logged(|| {
            tracing::error!(code = 3, reason = %"it broke", "cannot go on");
            tracing::warn!("careful");
            tracing::info!(name = "x", "hello");
            tracing::debug!("not seen");
        });
        assert_eq!(
            lines,
            "[oam stdio] error: cannot go on\tcode=3 reason=\"it broke\"\n\
             [oam stdio] warning: careful\n\
             [oam stdio] info: hello\tname=x\n"
        );
    }

    #[test]
    fn without_a_name_a_line_begins_with_its_level() {
        let lines = logged_as(None, || tracing::warn!(open = 64, "careful"));
        assert_eq!(lines, "[warning] careful\topen=64\n");
    }

    #[test]
    fn no_text_can_pretend_to_be_another_line_or_field() {
        let text = "fine\n[oam stdio] error: all is lost\tworker=w7 \u{1b}[2J\u{202e}\"\\\"";
        let lines = logged(|| tracing::info!(worker = %"w1", empty = "", text, "{text}"));
        let shown = r"fine\n[oam stdio] error: all is lost\tworker=w7 \u{1b}[2J\u{202e}";
        let expected =
            format!("[oam stdio] info: {shown}\"\\\"\tworker=w1 empty=\"\" text=\"{shown}\\\"\\\\\\\"\"\n");
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        let text = "é".repeat(1 << 20);
        let lines = logged(|| tracing::info!(text, "x{text}"));
        let mark = |rest: usize| format!("… (and {rest} bytes)");
        let expected = format!(
            "[oam stdio] info: x{}{}\ttext=\"{}{}\"\n",
            "é".repeat(2047),
            mark((2 << 20) - 4094),
            "é".repeat(2048),
            mark((2 << 20) - 4096)
        );
        assert_eq!(lines, expected);
    }

    /// Never takes anything.
    struct Stuck(Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_waits_for_an_output_that_takes_nothing() {
        let (_keep_stuck, stuck) = mpsc::channel();
        let queue = Queue::new(Stuck(stuck)).unwrap();
        let guard = Guard(queue.clone());
        tracing::subscriber::with_default(subscriber(LevelFilter::DEBUG, queue), || {
            for line in 0..QUEUED_LINES * 2 {
                tracing::debug!(line, "on and on");
            }
        });
        drop(guard);
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_too() {
        let (_keep_stuck, stuck) = mpsc::channel();
        let mut queue = &Queue::new(Stuck(stuck)).unwrap();
        let line = vec![b'x'; QUEUED_BYTES / 8];
        for _ in 0..100 {
            assert_eq!(queue.write(&line).unwrap(), line.len());
        }
        assert!(queue.waiting_bytes.load(Ordering::Relaxed) <= QUEUED_BYTES);
    }
}
