//! Lines that a person types at the terminal, with editing keys and a history.
//!
//! The editor blocks while it waits for keys, so it runs in a thread of its own; whoever awaits a line goes on with
//! other work meanwhile. Between two lines the terminal is [quiet](modes): what is typed is not shown in the middle of
//! something else but waits for the next line, and Ctrl-C is a signal. While a line is edited, Ctrl-C is a key.
//!
//! The history lives as long as the editor. Nothing that was typed is written to a file.

mod hold;
mod modes;

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use anstyle::Style;
use nix::sys::signal::Signal::SIGCONT;
use rustyline::{
    Behavior, Config, Editor, ExternalPrinter, Prompt, error::ReadlineError, history::MemHistory,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{console::Console, failure::Failure};
use hold::Hold;
use modes::{Tty, TtyKind};

/// The most lines that are remembered.
const LONGEST_HISTORY: usize = 1000;

/// A line editor on the terminal. Dropping it leaves the terminal as it was, also while a line is being edited.
#[derive(Debug)]
pub(crate) struct LineEditor {
    questions: mpsc::Sender<Question>,
    /// None where the terminal itself lets people correct a line.
    edited: Option<Edited>,
}

/// What the editor's thread shares.
struct Edited {
    hold: Arc<Hold>,
    /// Shows the line again.
    printer: Mutex<Box<dyn ExternalPrinter + Send>>,
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

/// What stands before a line, and above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinePrompt {
    /// Lines that are shown once, however often the line itself is drawn.
    above: String,
    plain: String,
    /// The same, with colours.
    styled: String,
}

impl LinePrompt {
    pub(crate) fn plain(text: &str) -> Self {
        Self { above: String::new(), plain: text.to_owned(), styled: text.to_owned() }
    }

    /// The same text, with colours where there are some.
    pub(crate) fn styled(self, style: Style) -> Self {
        Self { styled: Console::stdout().painted(style, &self.plain), ..self }
    }

    /// The same with a text on lines of its own above it.
    pub(crate) fn below(self, text: &str) -> Self {
        Self { above: format!("{text}\n"), ..self }
    }
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
        let (lines, edited) = if modes::has_cursor() {
            let mut editor = editor(tty.kind).map_err(|error| failed(&error))?;
            let printer = editor.create_external_printer().map_err(|error| failed(&error))?;
            let hold = Arc::new(Hold::take(tty).map_err(|error| failed(&error))?);
            let edited = Edited { hold: Arc::clone(&hold), printer: Mutex::new(Box::new(printer)) };
            (Lines::Edited { editor: Box::new(editor), hold }, Some(edited))
        } else {
            (Lines::Plain { input: BufReader::new(tty.input), output: tty.output }, None)
        };
        let (questions, asked) = mpsc::channel();
        // Before the thread, so that the terminal is restored should it not start.
        let line_editor = Self { questions, edited };
        thread::Builder::new()
            .name("line editor".to_owned())
            .spawn(move || lines.answer_all(&asked))
            .map_err(|error| failed(&error))?;
        Ok(Some(line_editor))
    }

    /// Whether there is a terminal to take.
    pub(crate) fn is_possible() -> bool {
        Tty::find().is_some()
    }

    /// Asks for one line. A question cannot be taken back: when nobody awaits its line any more, that is the line of the next
    /// question.
    pub(crate) async fn read(&self, prompt: LinePrompt, remember: Remember) -> Result<Entered, Failure> {
        let gone = || Failure::io("the line editor has failed");
        let mut continued = signal(SignalKind::from_raw(SIGCONT as i32)).map_err(unreadable)?;
        let (answer, mut answered) = oneshot::channel();
        self.questions.send(Question { prompt, remember, answer }).map_err(|_| gone())?;
        loop {
            tokio::select! {
                entered = &mut answered => return entered.map_err(|_| gone())?,
                Some(()) = continued.recv() => self.resume(),
            }
        }
    }

    /// Leaves the terminal as it was, for good.
    pub(crate) fn give_back(&self) {
        if let Some(Edited { hold, .. }) = &self.edited {
            hold.end();
        }
    }

    fn resume(&self) {
        if let Some(Edited { hold, printer }) = &self.edited
            && hold.resume()
        {
            // A line that cannot be shown again is still read.
            let _ = printer.lock().unwrap_or_else(PoisonError::into_inner).print("\n".to_owned());
        }
    }
}

impl Drop for LineEditor {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl fmt::Debug for Edited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hold.fmt(f)
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
    Edited {
        editor: Box<Editor<(), MemHistory>>,
        hold: Arc<Hold>,
    },
    /// The terminal itself lets people correct a line.
    Plain {
        input: BufReader<File>,
        output: File,
    },
}

impl Lines {
    fn answer_all(mut self, questions: &mpsc::Receiver<Question>) {
        let mut unheard = None;
        for Question { prompt, remember, answer } in questions {
            let entered = unheard.take().unwrap_or_else(|| match &mut self {
                Self::Edited { editor, hold } => edited_line(editor, &prompt, remember, hold),
                Self::Plain { input, output } => plain_line(input, output, &prompt),
            });
            unheard = answer.send(entered).err();
        }
    }
}

fn edited_line(
    editor: &mut Editor<(), MemHistory>,
    prompt: &LinePrompt,
    remember: Remember,
    hold: &Hold,
) -> Result<Entered, Failure> {
    hold.show(&prompt.above);
    loop {
        if !hold.begin_line() {
            return Ok(Entered::Interrupt);
        }
        // The editor counts rows and columns in 16 bits, and fails on a text that has more.
        let read = catch_unwind(AssertUnwindSafe(|| editor.readline(&HeldPrompt { prompt, hold })));
        hold.end_line();
        let Ok(read) = read else {
            hold.forget_line("cannot be shown");
            continue;
        };
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
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                hold.forget_line("was not UTF-8");
            }
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
    output.write_all(format!("{}{}", prompt.above, prompt.plain).as_bytes()).map_err(unreadable)?;
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

/// Tells when the editor shows its prompt, which is right after it has set the terminal's modes.
struct HeldPrompt<'a> {
    prompt: &'a LinePrompt,
    hold: &'a Hold,
}

impl Prompt for HeldPrompt<'_> {
    fn raw(&self) -> &str {
        self.hold.is_taken();
        &self.prompt.plain
    }

    fn styled(&self) -> &str {
        self.hold.is_taken();
        &self.prompt.styled
    }
}
