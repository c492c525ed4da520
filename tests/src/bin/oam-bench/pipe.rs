//! The measuring end of a pair of pipes: one thread, blocking, as little work a line as can be.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use oam_tests::{oam_command, procfs};

/// Requests that may be unanswered.
pub(crate) const WINDOW: usize = 256;
/// Lines in one write.
const BATCH: usize = 32;

/// A process that is measured, or a connection of one. Dropping it kills and reaps the process.
pub(crate) struct Pipe {
    /// `None` for a connection.
    child: Option<Child>,
    input: Box<dyn Write>,
    output: Box<dyn Read>,
    buffer: Vec<u8>,
    filled: usize,
}

impl Pipe {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the process starts");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let mut pipe = Self::of(input, output);
        pipe.child = Some(child);
        pipe
    }

    /// The measuring end of a connection.
    pub(crate) fn over(socket: UnixStream) -> Self {
        let output = socket.try_clone().expect("a second handle of a socket");
        Self::of(socket, output)
    }

    fn of(input: impl Write + 'static, output: impl Read + 'static) -> Self {
        let (input, output) = (Box::new(input), Box::new(output));
        Self { child: None, input, output, buffer: vec![0; 256 * 1024], filled: 0 }
    }

    pub(crate) fn oam() -> Self {
        let mut command = oam_command();
        command.arg("stdio");
        Self::start(command)
    }

    /// Processor time so far in nanoseconds; not a number where the system does not tell it.
    pub(crate) fn cpu(&self) -> f64 {
        let nanos = self.child.as_ref().and_then(|child| procfs::cpu_nanos(child.id()).ok());
        nanos.map_or(f64::NAN, |nanos| nanos as f64)
    }

    /// Resident memory in KiB, where the system tells it.
    pub(crate) fn rss_kib(&self) -> Option<u64> {
        procfs::usage(self.child.as_ref()?.id()).ok().map(|usage| usage.rss_kib)
    }

    /// Sends a line and waits for one.
    pub(crate) fn exchange(&mut self, line: &[u8]) {
        self.input.write_all(line).expect("it reads");
        self.read_lines(|_| ());
    }

    /// Sends a request and waits for its answer; events before it are passed over.
    pub(crate) fn request(&mut self, line: &[u8]) -> Vec<u8> {
        self.input.write_all(line).expect("it reads");
        let mut answer = Vec::new();
        while answer.is_empty() {
            self.read_lines(|line| {
                if line.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":") {
                    answer.extend_from_slice(line);
                }
            });
        }
        answer
    }

    /// Sends each line and waits for one, over and over; returns how long each took.
    pub(crate) fn ping_pong(&mut self, lines: &[Vec<u8>]) -> Vec<Duration> {
        lines
            .iter()
            .map(|line| {
                let start = Instant::now();
                self.exchange(line);
                start.elapsed()
            })
            .collect()
    }

    /// Sends all lines, many at a time, and waits until each has its answer; returns how long it took. `on_line` looks
    /// at what comes, says whether it is an answer, and may add lines to send.
    pub(crate) fn pipelined(
        &mut self,
        lines: &[Vec<u8>],
        on_line: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) -> Duration {
        self.pipelined_made(lines.len(), |index, out| out.extend_from_slice(&lines[index]), on_line)
    }

    /// The same with lines that are written as they are sent.
    pub(crate) fn pipelined_made(
        &mut self,
        count: usize,
        write: impl Fn(usize, &mut Vec<u8>),
        mut on_line: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
    ) -> Duration {
        let (mut sent, mut answered) = (0, 0);
        let (mut batch, mut replies) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while answered < count {
            let next = (sent + BATCH).min(count);
            if sent < count && next - answered <= WINDOW {
                batch.clear();
                (sent..next).for_each(|index| write(index, &mut batch));
                self.input.write_all(&batch).expect("it reads");
                sent = next;
                continue;
            }
            self.read_lines(|line| answered += usize::from(on_line(line, &mut replies)));
            if !replies.is_empty() {
                self.input.write_all(&replies).expect("it reads");
                replies.clear();
            }
        }
        start.elapsed()
    }

    /// Reads until at least one line is there, and hands over all that are.
    fn read_lines(&mut self, mut on_line: impl FnMut(&[u8])) {
        loop {
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.filled, 0);
            }
            let count = self.output.read(&mut self.buffer[self.filled..]).expect("it writes");
            assert!(count > 0, "the process ended");
            let looked_at = self.filled;
            self.filled += count;
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', &self.buffer[looked_at..self.filled]) {
                on_line(&self.buffer[start..looked_at + end]);
                start = looked_at + end + 1;
            }
            self.buffer.copy_within(start..self.filled, 0);
            self.filled -= start;
            if start > 0 {
                return;
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
