//! `oam service logs`: the end of the service's log, and what comes.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::Args;
use serde_json::Value;

use super::{SocketArgument, status::ServiceStatus};
use crate::{console::Console, failure::Failure};

/// How often it is looked for more.
const PAUSE: Duration = Duration::from_millis(100);
const BLOCK_BYTES: usize = 64 << 10;

/// Show the end of the service's log.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogsArguments {
    /// Go on with what comes, also in the files that follow.
    #[arg(short, long)]
    follow: bool,

    /// So many lines of what is there.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,

    /// The lines as they are, JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    socket: SocketArgument,
}

const EXAMPLES: &str = "\
Examples:
  oam service logs
  oam service logs -f -n 0

Exit codes: 0 shown; 1 there is no log.";

pub(super) fn run(arguments: &LogsArguments) -> Result<(), Failure> {
    let path = ServiceStatus::look(&arguments.socket)?.log.ok_or_else(|| {
        Failure::io("the service logs to standard error; with systemd, `journalctl --user -u oam` shows it")
    })?;
    let unreadable = |error: io::Error| Failure::io(format!("{}: cannot be read: {error}", path.display()));
    let log = match Log::open(&path) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound && arguments.follow => Log::awaited(&path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Failure::io(format!("{}: there is no log yet", path.display())));
        }
        Err(error) => return Err(unreadable(error)),
    };
    show(log, arguments).map_err(unreadable)
}

fn show(mut log: Log, arguments: &LogsArguments) -> io::Result<()> {
    let stdout = Console::stdout();
    let print = |lines: &[u8]| {
        let text = String::from_utf8_lossy(lines);
        let text =
            if arguments.json { text } else { text.lines().map(for_people).collect::<String>().into() };
        stdout.write(&stdout.shown(&text));
    };
    let mut end = log.read_more()?;
    if last_lines(&end, arguments.lines).len() == end.len() {
        end.splice(..0, log.before()?);
    }
    print(last_lines(&end, arguments.lines));
    if !arguments.follow {
        return Ok(());
    }
    loop {
        let more = log.read_more()?;
        if more.is_empty() {
            thread::sleep(PAUSE);
        } else {
            print(&more);
        }
    }
}

/// A line of the log as text: time, level, message, and what else there is behind a tab, as in logs that are text. No text in it can
/// pass for another line, or for what is behind the tab.
fn for_people(line: &str) -> String {
    let mut text = String::new();
    let Ok(Value::Object(mut event)) = serde_json::from_str(line) else {
        oam_logging::escape(&mut text, line);
        return text + "\n";
    };
    let mut take = |member: &str| match event.shift_remove(member) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (time, level, message) = (take("timestamp"), take("level").to_lowercase(), take("message"));
    // As `--log-level` and logs for people spell it.
    let level = if level == "warn" { "warning" } else { &level };
    oam_logging::escape(&mut text, &format!("{time} {level}: {message}"));
    for (index, (name, value)) in event.iter().enumerate() {
        text.push(if index == 0 { '\t' } else { ' ' });
        oam_logging::escape(&mut text, &format!("{name}={value}"));
    }
    text.push('\n');
    text
}

/// A file that is written to at its end, and now and then moved away for a new one.
struct Log {
    path: PathBuf,
    /// Absent until there is one.
    file: Option<File>,
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: Some(File::open(path)?) })
    }

    /// What was in the file before this one.
    fn before(&self) -> io::Result<Vec<u8>> {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        match std::fs::read(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    fn awaited(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None }
    }

    /// What was written since, to the end of the file that is there now.
    fn read_more(&mut self) -> io::Result<Vec<u8>> {
        let mut more = Vec::new();
        loop {
            if let Some(file) = &mut self.file {
                read_whole_lines(file, &mut more)?;
            }
            let current = match File::open(&self.path) {
                Ok(current) => current,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(more),
                Err(error) => return Err(error),
            };
            match &self.file {
                Some(file) if identity(file)? == identity(&current)? => return Ok(more),
                // What was written to the old one before it was moved away.
                Some(_) => {
                    if let Some(file) = &mut self.file {
                        file.read_to_end(&mut more)?;
                    }
                }
                None => {}
            }
            self.file = Some(current);
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// What of a line is there already is left for the next time.
fn read_whole_lines(file: &mut File, lines: &mut Vec<u8>) -> io::Result<()> {
    let before = lines.len();
    let mut buffer = vec![0; BLOCK_BYTES];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        lines.extend_from_slice(&buffer[..count]);
    }
    let whole =
        lines[before..].iter().rposition(|byte| *byte == b'\n').map_or(before, |end| before + end + 1);
    let rest = i64::try_from(lines.len() - whole).unwrap_or(0);
    lines.truncate(whole);
    file.seek(SeekFrom::Current(-rest)).map(drop)
}

fn last_lines(text: &[u8], count: usize) -> &[u8] {
    let mut ends =
        text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
    // The last line ends with the text.
    let begin = ends.nth(count);
    begin.map_or(text, |begin| &text[begin..])
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn the_last_lines_are_whole() {
        let text = b"a\nbc\n\nd\n";
        for (count, expected) in
            [(0, ""), (1, "d\n"), (2, "\nd\n"), (3, "bc\n\nd\n"), (4, "a\nbc\n\nd\n"), (9, "a\nbc\n\nd\n")]
        {
            assert_eq!(last_lines(text, count), expected.as_bytes(), "{count}");
        }
        assert_eq!(last_lines(b"", 3), b"");
    }

    #[test]
    fn what_is_read_goes_on_in_the_file_that_follows_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.log");
        fs::write(&path, "1\n2\npart").unwrap();
        let mut log = Log::open(&path).unwrap();
        assert_eq!(log.read_more().unwrap(), b"1\n2\n");
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"ly\n3\n").unwrap();
        assert_eq!(log.read_more().unwrap(), b"partly\n3\n");
        file.write_all(b"4\n").unwrap();
        fs::rename(&path, folder.path().join("oam.log.1")).unwrap();
        assert_eq!(log.read_more().unwrap(), b"4\n");
        file.write_all(b"5\n").unwrap();
        fs::write(&path, "6\n").unwrap();
        assert_eq!(log.read_more().unwrap(), b"5\n6\n");
        assert_eq!(log.read_more().unwrap(), b"");
    }

    #[test]
    fn people_read_time_level_message_and_the_rest() {
        for (line, expected) in [
            (
                r#"{"timestamp":"2026-01-02T03:04:05.6Z","level":"INFO","message":"a connection opened","pid":7}"#,
                "2026-01-02T03:04:05.6Z info: a connection opened\tpid=7\n",
            ),
            (
                r#"{"timestamp":"T","level":"INFO","message":"a\nb\tc=1 \u001b[2J","span":{"client":"a\u202eb\u009b"},"pid":7}"#,
                "T info: a\\nb\\tc=1 \\u{1b}[2J\tspan={\"client\":\"a\\u{202e}b\\u{9b}\"} pid=7\n",
            ),
            (
                r#"{"timestamp":"2026-01-02T03:04:05.6Z","level":"WARN","message":"the connection was cut"}"#,
                "2026-01-02T03:04:05.6Z warning: the connection was cut\n",
            ),
            ("no JSON\u{1b}c", "no JSON\\u{1b}c\n"),
        ] {
            assert_eq!(for_people(line), expected);
        }
    }

    #[test]
    fn a_log_may_come_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oam.log");
        let mut log = Log::awaited(&path);
        assert_eq!(log.read_more().unwrap(), b"");
        fs::write(&path, "1\n").unwrap();
        assert_eq!(log.read_more().unwrap(), b"1\n");
    }
}
