//! A person at a terminal: runs the real `oam` under a pseudo-terminal, presses keys and looks at the screen.
//!
//! The program gets the pseudo-terminal as its controlling terminal, so `/dev/tty` is that, too. What it writes goes
//! through a model of a terminal; tests wait until the [screen](Terminal::shows) or the line [with the
//! cursor](Terminal::cursor_line_is) is as it should be, and never for a time. However the program ends, it must leave
//! the terminal as it found it, and nobody who still holds it: [`Terminal::ends_with`] checks that.

use std::{
    ffi::OsStr,
    fmt,
    fs::{self, File},
    io::{Read, Write},
    num::NonZero,
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use nix::{
    sys::{
        signal::{Signal, kill},
        termios::{SetArg, Termios, tcgetattr, tcsetattr},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use pty_process::{
    Size,
    blocking::{Pts, Pty, open},
};
use serde_json::Value;
use tempfile::TempDir;
use wait_timeout::ChildExt;

use crate::{DEADLINE, oam_command};

/// What keys send.
pub mod keys {
    /// Return
    pub const ENTER: &str = "\r";
    /// Erases the character before the cursor
    pub const BACKSPACE: &str = "\x7f";
    /// Erases the character under the cursor
    pub const DELETE: &str = "\x1b[3~";
    /// Arrow up
    pub const UP: &str = "\x1b[A";
    /// Arrow down
    pub const DOWN: &str = "\x1b[B";
    /// Arrow left
    pub const LEFT: &str = "\x1b[D";
    /// Arrow right
    pub const RIGHT: &str = "\x1b[C";
    /// To the beginning of the line
    pub const HOME: &str = "\x1b[H";
    /// To the end of the line
    pub const END: &str = "\x1b[F";
    /// Interrupts
    pub const CTRL_C: &str = "\x03";
    /// Ends the input
    pub const CTRL_D: &str = "\x04";
    /// Erases the line up to the cursor
    pub const CTRL_U: &str = "\x15";
}

/// A program under a pseudo-terminal. Killed when dropped.
pub struct Terminal {
    child: Mutex<Child>,
    pid: Pid,
    pty: Arc<Pty>,
    screen: Arc<Screen>,
    /// The modes before the program ran.
    modes: Termios,
    folder: Arc<TempDir>,
}

/// What has been written so far, shared with the thread that reads it.
struct Screen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    output: Vec<u8>,
    /// Nobody holds the terminal any more.
    is_closed: bool,
}

/// A program that is about to be started, in a folder of its own.
#[derive(Debug)]
pub struct TerminalBuilder {
    command: Command,
    size: (u16, u16),
    stdin: Option<File>,
    stdout: Option<File>,
    folder: TempDir,
}

impl Terminal {
    /// `oam` with these arguments on a terminal of 24 lines and 80 columns, and nothing of the tests' own environment
    /// that it looks at.
    pub fn oam<'a>(arguments: impl IntoIterator<Item = &'a str>) -> TerminalBuilder {
        let folder = tempfile::tempdir().unwrap();
        let mut command = oam_command();
        command.args(arguments).current_dir(folder.path()).env("TERM", "xterm-256color");
        TerminalBuilder { command, size: (24, 80), stdin: None, stdout: None, folder }
    }

    /// Types a text, or presses [keys].
    pub fn press(&self, keys: &str) -> &Self {
        self.press_bytes(keys.as_bytes())
    }

    /// Sends bytes that may be no text.
    pub fn press_bytes(&self, bytes: &[u8]) -> &Self {
        // A program that is gone already shows in what is waited for next.
        let _ = (&*self.pty).write_all(bytes);
        self
    }

    /// Types a line and presses return.
    pub fn enter(&self, line: &str) -> &Self {
        self.press(&format!("{line}{}", keys::ENTER))
    }

    /// Pastes a text the way that terminals do: its line ends are carriage returns, and if the program asked for it, the
    /// text stands in brackets.
    pub fn paste(&self, text: &str) -> &Self {
        let text = text.replace('\n', "\r");
        let is_bracketed = self.state().parser.screen().bracketed_paste();
        self.press(&if is_bracketed { format!("\x1b[200~{text}\x1b[201~") } else { text })
    }

    /// Gives the window another size.
    pub fn resize(&self, lines: u16, columns: u16) -> &Self {
        self.state().parser.screen_mut().set_size(cells(lines), cells(columns));
        self.pty.resize(Size::new(lines, columns)).unwrap();
        self
    }

    /// Waits until the screen holds `text`.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        self.wait(&format!("{text:?} on the screen"), |state| state.parser.screen().contents().contains(text))
    }

    /// Waits until the line that the cursor is in reads `text`, whatever blanks follow.
    #[track_caller]
    pub fn cursor_line_is(&self, text: &str) -> &Self {
        self.wait(&format!("the cursor in a line {text:?}"), |state| state.cursor_line() == text.trim_end())
    }

    /// Waits until the cursor stands in this column, counted from 0.
    #[track_caller]
    pub fn cursor_is_in_column(&self, column: u16) -> &Self {
        self.wait(&format!("the cursor in column {column}"), |state| {
            state.parser.screen().cursor_position().1 == column
        })
    }

    /// What can be seen now: lines without the blanks at their ends.
    pub fn screen(&self) -> String {
        self.state().parser.screen().contents()
    }

    /// All that the program has written so far, control sequences included.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.state().output).into_owned()
    }

    /// The program's process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> &Self {
        kill(self.pid(), signal).unwrap();
        self
    }

    /// Stops the program and gives the terminal its first modes back, as a shell does when somebody presses Ctrl-Z.
    pub fn suspend(&self) -> &Self {
        self.signal(Signal::SIGSTOP);
        let status = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(matches!(status, WaitStatus::Stopped(..)), "{status:?}");
        tcsetattr(&*self.pty, SetArg::TCSANOW, &self.modes).unwrap();
        self
    }

    /// Lets a program go on that was stopped, as the shell command `fg` does.
    pub fn resume(&self) -> &Self {
        self.signal(Signal::SIGCONT)
    }

    /// The folder that the program runs in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in the folder that the program runs in, as it is now.
    pub fn file(&self, name: &str) -> String {
        read(&self.folder, name)
    }

    /// Waits for the end of the program, which must be this exit code, and looks at what it leaves behind.
    #[track_caller]
    pub fn ends_with(&self, code: i32) -> Ended {
        let status = self.child().wait_timeout(DEADLINE).unwrap();
        let status = status.unwrap_or_else(|| panic!("it goes on; {}", self.state().description()));
        self.wait("nobody on the terminal", |state| state.is_closed);
        let description = self.state().description();
        assert_eq!(status.code(), Some(code), "{status}; {description}");
        self.assert_restored(status);
        Ended { screen: self.screen(), output: self.output(), folder: Arc::clone(&self.folder) }
    }

    #[track_caller]
    fn assert_restored(&self, status: ExitStatus) {
        let state = self.state();
        let screen = state.parser.screen();
        let left = [
            ("bracketed paste", screen.bracketed_paste()),
            ("a hidden cursor", screen.hide_cursor()),
            ("the other screen", screen.alternate_screen()),
            ("other modes", tcgetattr(&*self.pty).unwrap() != self.modes),
        ];
        for (what, is_left) in left {
            assert!(!is_left, "{status} left {what} behind; {}", state.description());
        }
    }

    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn(&State) -> bool) -> &Self {
        let end = Instant::now() + DEADLINE;
        let mut state = self.state();
        while !is_so(&state) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !state.is_closed, "never {what}; {}", state.description());
            state = self.screen.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        self
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.screen.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.state().description())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended before.
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What is left of a program under a terminal.
#[derive(Debug)]
pub struct Ended {
    /// What could be seen at the end.
    pub screen: String,
    /// All that the program wrote, control sequences included.
    pub output: String,
    folder: Arc<TempDir>,
}

impl Ended {
    /// A file in the folder that the program ran in.
    pub fn file(&self, name: &str) -> String {
        read(&self.folder, name)
    }
}

impl TerminalBuilder {
    /// Plays this script instead of asking a model.
    #[must_use]
    pub fn script(mut self, steps: &Value) -> Self {
        let path = self.folder.path().join("script.json");
        fs::write(&path, steps.to_string()).unwrap();
        self.command.env("OAM_SCRIPT", path);
        self
    }

    /// Puts a file into the folder that the program runs in.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.folder.path().join(name), content).unwrap();
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The size of the window, in lines and columns.
    #[must_use]
    pub fn size(mut self, lines: u16, columns: u16) -> Self {
        self.size = (lines, columns);
        self
    }

    /// Standard input is a file with this content, not the terminal.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        let path = self.folder.path().join("stdin");
        fs::write(&path, text).unwrap();
        self.stdin = Some(File::open(path).unwrap());
        self
    }

    /// Standard output is the file `stdout` in the program's folder, not the terminal.
    #[must_use]
    pub fn stdout_to_file(mut self) -> Self {
        self.stdout = Some(File::create(self.folder.path().join("stdout")).unwrap());
        self
    }

    /// Starts the program.
    pub fn start(self) -> Terminal {
        let (pty, pts): (Pty, Pts) = open().unwrap();
        let (lines, columns) = self.size;
        pty.resize(Size::new(lines, columns)).unwrap();
        let modes = tcgetattr(&pty).unwrap();
        let mut command = pty_process::blocking::Command::from(self.command);
        if let Some(file) = self.stdin {
            command = command.stdin(file);
        }
        if let Some(file) = self.stdout {
            command = command.stdout(file);
        }
        let child = command.spawn(pts).unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let pty = Arc::new(pty);
        let parser = vt100::Parser::new(cells(lines), cells(columns), 0);
        let state = State { parser, output: Vec::new(), is_closed: false };
        let screen = Arc::new(Screen { state: Mutex::new(state), changed: Condvar::new() });
        let (read_pty, read_screen) = (Arc::clone(&pty), Arc::clone(&screen));
        thread::spawn(move || read_screen.read(&read_pty));
        Terminal { child: Mutex::new(child), pid, pty, screen, modes, folder: Arc::new(self.folder) }
    }
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a window has lines and columns")
}

impl Screen {
    /// Reads until nobody holds the terminal any more, which is an error on some systems and an end on others.
    fn read(&self, mut pty: &Pty) {
        let mut bytes = [0; 4096];
        loop {
            let count = pty.read(&mut bytes).unwrap_or(0);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.parser.process(&bytes[..count]);
            state.output.extend(&bytes[..count]);
            state.is_closed = count == 0;
            self.changed.notify_all();
            if count == 0 {
                return;
            }
        }
    }
}

impl State {
    fn cursor_line(&self) -> String {
        let screen = self.parser.screen();
        let (line, _) = screen.cursor_position();
        let (_, columns) = screen.size();
        screen.rows(0, columns.get()).nth(line.into()).unwrap_or_default().trim_end().to_owned()
    }

    fn description(&self) -> String {
        let (line, column) = self.parser.screen().cursor_position();
        let contents = self.parser.screen().contents();
        format!("the cursor at line {line}, column {column} of this screen:\n{contents}\n(end of the screen)")
    }
}
