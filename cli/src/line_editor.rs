//! Lines that a person types at the terminal, with editing keys and a history.
//!
//! The editor blocks while it waits for keys, so it runs in a thread of its own; whoever awaits a line goes on with
//! other work meanwhile. Between two lines the terminal is [quiet](modes): what is typed is not shown in the middle of
//! something else but waits for the next line, and Ctrl-C is a signal. While a line is edited, Ctrl-C is a key.
//!
//! The history lives as long as the editor. Nothing that was typed is written to a file.

mod modes;

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use rustyline::{Behavior, Config, Editor, Prompt, error::ReadlineError, history::MemHistory};
use tokio::sync::oneshot;

use crate::failure::Failure;
use modes::{QuietModes, Tty, TtyKind};

/// The most lines that are remembered.
const LONGEST_HISTORY: usize = 1000;
/// How long the end waits for an editor that is just taking the terminal, which takes two system calls.
const TAKING_TIME: Duration = Duration::from_secs(2);

/// A line editor on the terminal. Dropping it leaves the terminal as it was, also while a line is being edited.
#[derive(Debug)]
pub(crate) struct LineEditor {
    questions: mpsc::Sender<Question>,
    hold: Arc<Hold>,
}

/// What a person did when asked for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Typed or pasted, and then return was pressed. A pasted text may hold line ends.
    Line(String),
    /// Ctrl-D in an empty line.
    End,
    /// Ctrl-C.
    Interrupt,
}

/// Whether a line is found again with the arrow keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remember {
    Yes,
    No,
}

/// Where a line stands on the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinePrompt {
    pub(crate) plain: String,
    /// The same, with colours.
    pub(crate) styled: String,
}

struct Question {
    prompt: LinePrompt,
    remember: Remember,
    answer: oneshot::Sender<Result<Entered, Failure>>,
}

impl LineEditor {
    /// Takes the terminal: standard input and output if both are one, otherwise the terminal that controls the process.
    /// `None` if there is none. Where the cursor cannot be moved (`TERM=dumb`), lines come as the terminal makes them.
    pub(crate) fn on_terminal() -> Result<Option<Self>, Failure> {
        let failed =
            |reason: &dyn std::fmt::Display| Failure::io(format!("the terminal cannot be used: {reason}"));
        let Some(tty) = Tty::find() else { return Ok(None) };
        let (lines, modes) = if modes::has_cursor() {
            let editor = editor(tty.kind).map_err(|error| failed(&error))?;
            let modes = QuietModes::set(tty).map_err(|error| failed(&error))?;
            (Lines::Edited(Box::new(editor)), Holder::Quiet(modes))
        } else {
            (Lines::Plain { input: BufReader::new(tty.input), output: tty.output }, Holder::Nobody)
        };
        let hold = Arc::new(Hold { state: Mutex::new(modes), changed: Condvar::new() });
        let (questions, asked) = mpsc::channel();
        let thread_hold = Arc::clone(&hold);
        thread::Builder::new()
            .name("line editor".to_owned())
            .spawn(move || lines.answer_all(&asked, &thread_hold))
            .map_err(|error| failed(&error))?;
        Ok(Some(Self { questions, hold }))
    }

    /// Asks for one line. A question cannot be taken back, except by dropping the editor: a line that
    /// nobody awaits any more is still read.
    pub(crate) async fn read(&self, prompt: LinePrompt, remember: Remember) -> Result<Entered, Failure> {
        let gone = || Failure::io("the line editor has failed");
        let (answer, answered) = oneshot::channel();
        self.questions.send(Question { prompt, remember, answer }).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Drop for LineEditor {
    fn drop(&mut self) {
        self.hold.end();
    }
}

fn editor(kind: TtyKind) -> rustyline::Result<Editor<(), MemHistory>> {
    let behavior = match kind {
        TtyKind::Stdio => Behavior::Stdio,
        TtyKind::Controlling => Behavior::PreferTerm,
    };
    let config = Config::builder()
        .behavior(behavior)
        .max_history_size(LONGEST_HISTORY)?
        // On from the beginning to the end, so that a text can be pasted while something else is shown.
        .bracketed_paste(false)
        .build();
    let history = MemHistory::with_config(&config);
    let mut editor = Editor::with_history(config, history)?;
    // Without a helper prompts have no colours.
    editor.set_helper(Some(()));
    Ok(editor)
}

/// What the thread works with.
enum Lines {
    Edited(Box<Editor<(), MemHistory>>),
    /// The terminal itself lets people correct a line.
    Plain {
        input: BufReader<File>,
        output: File,
    },
}

impl Lines {
    fn answer_all(mut self, questions: &mpsc::Receiver<Question>, hold: &Hold) {
        for Question { prompt, remember, answer } in questions {
            let entered = match &mut self {
                Self::Edited(editor) => edited_line(editor, &prompt, remember, hold),
                Self::Plain { input, output } => plain_line(input, output, &prompt),
            };
            if answer.send(entered).is_err() {
                return;
            }
        }
    }
}

fn edited_line(
    editor: &mut Editor<(), MemHistory>,
    prompt: &LinePrompt,
    remember: Remember,
    hold: &Hold,
) -> Result<Entered, Failure> {
    loop {
        hold.begin_line()?;
        let read = editor.readline(&HeldPrompt { prompt, hold });
        hold.end_line();
        match read {
            Ok(line) => {
                if remember == Remember::Yes && !line.trim().is_empty() {
                    editor.add_history_entry(line.as_str()).map_err(unreadable)?;
                }
                return Ok(Entered::Line(line));
            }
            Err(ReadlineError::Eof) => return Ok(Entered::End),
            Err(ReadlineError::Interrupted) => return Ok(Entered::Interrupt),
            // Of the line there is nothing left that could be gone on with; what follows in the same paste would be
            // read as keys.
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => hold.forget_keys(),
            Err(ReadlineError::Signal(_)) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}

fn plain_line(
    input: &mut BufReader<File>,
    output: &mut File,
    prompt: &LinePrompt,
) -> Result<Entered, Failure> {
    output.write_all(prompt.plain.as_bytes()).map_err(unreadable)?;
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
        output.write_all(b"\n").map_err(unreadable)?;
        return Ok(Entered::End);
    }
    let line = String::from_utf8_lossy(&line);
    Ok(Entered::Line(line.strip_suffix('\n').unwrap_or(&line).to_owned()))
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::io(format!("the terminal cannot be read: {error}"))
}

/// Who sets the terminal's modes. The editor restores them itself after each line; only the end may come while it
/// has them.
#[derive(Debug)]
struct Hold {
    state: Mutex<Holder>,
    changed: Condvar,
}

#[derive(Debug)]
enum Holder {
    /// The terminal keeps its own.
    Nobody,
    /// No line is being edited.
    Quiet(QuietModes),
    /// The editor is about to set them.
    Taking(QuietModes),
    /// The editor has set them and waits for keys.
    Editing(QuietModes),
    /// The end has come, and they are as they were in the beginning.
    Ended,
}

impl Hold {
    fn begin_line(&self) -> Result<(), Failure> {
        self.step(|holder| match holder {
            Holder::Quiet(modes) => Holder::Taking(modes),
            other => other,
        });
        match *self.state() {
            Holder::Ended => Err(Failure::io("the terminal is no longer used")),
            _ => Ok(()),
        }
    }

    fn is_shown(&self) {
        self.step(|holder| match holder {
            Holder::Taking(modes) => Holder::Editing(modes),
            other => other,
        });
    }

    fn end_line(&self) {
        self.step(|holder| match holder {
            Holder::Taking(modes) | Holder::Editing(modes) => Holder::Quiet(modes),
            other => other,
        });
    }

    fn forget_keys(&self) {
        if let Holder::Quiet(modes) = &mut *self.state() {
            modes.forget_keys();
        }
    }

    /// Restores the terminal, after an editor that is just about to change it.
    fn end(&self) {
        let is_taking = |holder: &mut Holder| matches!(holder, Holder::Taking(_));
        let waited = self.changed.wait_timeout_while(self.state(), TAKING_TIME, is_taking);
        let (mut holder, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Holder::Editing(modes) = &mut *holder {
            modes.leave_line();
        }
        // Dropping the quiet modes restores the original ones.
        *holder = Holder::Ended;
    }

    fn step(&self, next: impl FnOnce(Holder) -> Holder) {
        let mut holder = self.state();
        let current = std::mem::replace(&mut *holder, Holder::Ended);
        *holder = next(current);
        drop(holder);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, Holder> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells when the editor shows its prompt, which is right after it has set the terminal's modes.
struct HeldPrompt<'a> {
    prompt: &'a LinePrompt,
    hold: &'a Hold,
}

impl Prompt for HeldPrompt<'_> {
    fn raw(&self) -> &str {
        self.hold.is_shown();
        &self.prompt.plain
    }

    fn styled(&self) -> &str {
        self.hold.is_shown();
        &self.prompt.styled
    }
}
