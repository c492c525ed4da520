//! What a command says: results on standard output, everything else on standard error.
//!
//! Each write goes out whole and at once. When nobody reads any more, what is said is dropped: a command that is cut
//! off by `head` has still done its work. A result that is lost for another reason, such as a full disk, is a
//! [failure](lost_output). Colours are for terminals that want them (`NO_COLOR`, `TERM=dumb`).

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use oam_agent::json_text;
use serde_json::Value;

/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What should be looked at.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// What is neither asked nor answered.
pub(crate) const ASIDE: Style = Style::new().dimmed();
/// Where a person is to type.
pub(crate) const PROMPT: Style = AnsiColor::Green.on_default().bold();

/// Why a part of the results is lost.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Why standard output could not be written, though somebody was there to read it.
pub(crate) fn lost_output() -> Option<&'static io::Error> {
    LOST.get()
}

/// One of the process's two outputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    target: Target,
    is_terminal: bool,
    has_colours: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Stdout,
    Stderr,
}

impl Console {
    /// Where results go.
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        Self::new(Target::Stdout, stdout.is_terminal(), AutoStream::choice(&stdout))
    }

    /// Where everything else goes.
    pub(crate) fn stderr() -> Self {
        let stderr = io::stderr();
        Self::new(Target::Stderr, stderr.is_terminal(), AutoStream::choice(&stderr))
    }

    fn new(target: Target, is_terminal: bool, colours: ColorChoice) -> Self {
        Self { target, is_terminal, has_colours: colours != ColorChoice::Never }
    }

    /// Whether people look at it.
    pub(crate) fn is_terminal(self) -> bool {
        self.is_terminal
    }

    /// Writes a text as it is.
    pub(crate) fn write(self, text: &str) {
        match self.target {
            Target::Stdout => {
                let mut stdout = io::stdout().lock();
                match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => _ = LOST.set(error),
                    _ => {}
                }
            }
            // Nobody is there to hear that nobody is there.
            Target::Stderr => _ = io::stderr().lock().write_all(text.as_bytes()),
        }
    }

    /// Writes a text and the end of a line.
    pub(crate) fn line(self, text: &str) {
        self.write(&format!("{text}\n"));
    }

    /// Writes a JSON value: for people in many lines, otherwise in one.
    pub(crate) fn json(self, value: &Value) {
        self.json_text(&if self.is_terminal { json_text::pretty(value) } else { json_text::compact(value) });
    }

    /// Writes a JSON text and the end of a line. It stays JSON of the same meaning where it is [shown](Self::shown).
    pub(crate) fn json_text(self, text: &str) {
        self.line(&if self.is_terminal { harmless_json(text) } else { Cow::Borrowed(text) });
    }

    /// Warns of something that is not a reason to stop.
    pub(crate) fn warning(self, text: &str) {
        self.line(&format!("{} {}", self.painted(WARNING, "Warning:"), self.shown(text)));
    }

    /// A text in a style, where there are colours.
    pub(crate) fn painted(self, style: Style, text: &str) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// What clap has to say, in its own styles where there are colours.
    pub(crate) fn rendered(self, text: &clap::builder::StyledStr) -> String {
        if self.has_colours { text.ansi().to_string() } else { text.to_string() }
    }

    /// A text of somebody else's (a model's, a tool's, a file's) as it can be shown: on a terminal, control characters
    /// but for line ends and tabs are told, not obeyed.
    pub(crate) fn shown(self, text: &str) -> Cow<'_, str> {
        if self.is_terminal { harmless(text) } else { Cow::Borrowed(text) }
    }
}

/// So many of something: `1 turn`, `2 turns`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A text in which control characters but for line ends and tabs are told.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    told(text, |shown, character| write!(shown, "{}", character.escape_unicode()))
}

/// The same for JSON, where the character can only be in a string.
fn harmless_json(text: &str) -> Cow<'_, str> {
    told(text, |shown, character| write!(shown, "\\u{:04x}", u32::from(character)))
}

fn told(text: &str, tell: impl Fn(&mut String, char) -> fmt::Result) -> Cow<'_, str> {
    let is_obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_obeyed(character) {
            // Writing to a text does not fail.
            let _ = tell(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_says_does_not_steer_the_terminal() {
        assert_eq!(harmless("a\tb\nü 🐉"), "a\tb\nü 🐉");
        assert_eq!(harmless("\u{1b}[2Jgone\r\u{9b}1m\u{7}"), "\\u{1b}[2Jgone\\u{d}\\u{9b}1m\\u{7}");
    }

    #[test]
    fn json_stays_json_when_it_is_shown() {
        let text = "{\n  \"a\": \"\u{9b}1m\u{7f}ü\"\n}";
        assert_eq!(harmless_json(text), "{\n  \"a\": \"\\u009b1m\\u007fü\"\n}");
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&harmless_json(text)), value(text));
    }
}
