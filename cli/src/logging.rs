//! Logs on standard error: `[oam stdio] warning: message key=value`.
//!
//! Nothing ever waits for a log line. Lines go through a bounded queue to a thread that writes them; when
//! whoever reads standard error has stopped doing so, the queue fills up and further lines are lost.

use std::{
    fmt,
    io::{self, Write},
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
    time::Duration,
};

use tracing::{Event, Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, MakeWriter,
        format::{DefaultFields, Writer},
    },
    registry::LookupSpan,
};

/// How many lines may wait to be written.
const QUEUED_LINES: usize = 4096;

/// The time that waiting lines get to be written when the process ends.
const FLUSH_TIME: Duration = Duration::from_millis(200);

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogLevel {
    /// Everything.
    Debug,
    /// Also what happens to connections and workers.
    Info,
    /// Also what should not be, but was coped with.
    Warning,
    /// What went wrong.
    Error,
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warning => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
        }
    }
}

/// Starts logging for `oam <command>`. In a process that logs already it changes nothing.
pub(crate) fn init(command: &'static str, level: LogLevel) -> io::Result<Guard> {
    let queue = Queue::new(io::stderr())?;
    let guard = Guard(queue.clone());
    // Fails where logging has been started already.
    let _ = tracing::subscriber::set_global_default(subscriber(command, level, queue));
    Ok(guard)
}

/// Dropped when the process ends, it gives the lines that still wait a short time to be written.
#[must_use = "the last lines are lost when the guard is not kept to the end"]
#[derive(Debug)]
pub(crate) struct Guard(Queue);

impl Drop for Guard {
    fn drop(&mut self) {
        let (flushed, wait) = mpsc::sync_channel(1);
        if self.0.0.try_send(Item::Flush(flushed)).is_ok() {
            // Too late is as good as never.
            let _ = wait.recv_timeout(FLUSH_TIME);
        }
    }
}

fn subscriber(command: &'static str, level: LogLevel, queue: Queue) -> impl Subscriber + Send + Sync {
    tracing_subscriber::fmt()
        .with_max_level(level.filter())
        .with_ansi(false)
        .fmt_fields(DefaultFields::new())
        .event_format(LineFormat { command })
        .with_writer(queue)
        .finish()
}

enum Item {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// The way to the thread that writes. A line that finds the queue full is lost.
#[derive(Debug, Clone)]
struct Queue(SyncSender<Item>);

impl Queue {
    fn new(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, items) = mpsc::sync_channel(QUEUED_LINES);
        thread::Builder::new().name("log".to_owned()).spawn(move || write_items(&items, output))?;
        Ok(Self(queue))
    }
}

fn write_items(items: &Receiver<Item>, mut output: impl Write) {
    for item in items {
        // There is nowhere to tell that a log line cannot be written.
        let _ = match item {
            Item::Line(line) => output.write_all(&line),
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
        let _ = self.0.try_send(Item::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct LineFormat {
    command: &'static str,
}

impl<S, F> FormatEvent<S, F> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    F: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, F>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        write!(writer, "[oam {}] {level}: ", self.command)?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_command_level_message_and_fields() {
        let output = Output::default();
        let queue = Queue::new(output.clone()).unwrap();
        let guard = Guard(queue.clone());
        tracing::subscriber::with_default(subscriber("stdio", LogLevel::Info, queue), || {
            tracing::error!(code = 3, reason = %"it broke", "cannot go on");
            tracing::warn!("careful");
            tracing::info!(name = "x", "hello");
            tracing::debug!("not seen");
        });
        drop(guard);
        assert_eq!(
            String::from_utf8(output.0.lock().unwrap().clone()).unwrap(),
            "[oam stdio] error: cannot go on code=3 reason=it broke\n\
             [oam stdio] warning: careful\n\
             [oam stdio] info: hello name=\"x\"\n"
        );
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
        tracing::subscriber::with_default(subscriber("stdio", LogLevel::Debug, queue), || {
            for line in 0..QUEUED_LINES * 2 {
                tracing::debug!(line, "on and on");
            }
        });
        drop(guard);
    }
}
