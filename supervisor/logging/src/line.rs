//! How an event becomes one line, whatever texts it holds: `[oam stdio] warning: message<TAB>name=value name="a value"`, or
//! `[warning] message…` where the process has one thing to tell of.
//!
//! Much of what is logged comes from workers and clients. Control characters are escaped, so a text can neither start
//! another line nor reach for the terminal, and fields stand behind a tab, which no message holds. Long texts are cut.

use std::fmt::{self, Write as _};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// The most that is shown of a message or of a field's value, in bytes.
const LONGEST_TEXT: usize = 4096;

/// The form of a line that begins with `[name]`, if there is one.
pub(super) struct LineFormat {
    pub(super) name: Option<&'static str>,
}

impl<S, F> FormatEvent<S, F> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    F: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, F>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        let mut parts = Parts::default();
        event.record(&mut parts);
        match self.name {
            Some(name) => write!(writer, "[{name}] {level}: ")?,
            None => write!(writer, "[{level}] ")?,
        }
        writeln!(writer, "{}{}", parts.message, parts.fields)
    }
}

/// An event's message and fields, ready to be written.
#[derive(Default)]
struct Parts {
    message: String,
    fields: String,
}

impl Parts {
    fn take(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let value = Excerpt::of(value);
        if field.name() == "message" {
            escape(&mut self.message, &value.text);
            value.mark(&mut self.message);
            return;
        }
        self.fields.push(if self.fields.is_empty() { '\t' } else { ' ' });
        self.fields.push_str(field.name());
        self.fields.push('=');
        if value.is_plain() {
            self.fields.push_str(&value.text);
        } else {
            self.fields.push('"');
            escape_with(&mut self.fields, &value.text, "\"\\");
            value.mark(&mut self.fields);
            self.fields.push('"');
        }
    }
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format_args!("{value:?}"));
    }
}

/// The beginning of a text, and how much more there was.
#[derive(Default)]
struct Excerpt {
    text: String,
    missing: usize,
}

impl Excerpt {
    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut excerpt = Self::default();
        // A value that cannot be formatted shows as far as it came.
        let _ = excerpt.write_fmt(text);
        excerpt
    }

    /// It can stand without quotes.
    fn is_plain(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:+".contains(&byte);
        self.missing == 0 && !self.text.is_empty() && self.text.bytes().all(plain)
    }

    fn mark(&self, line: &mut String) {
        if self.missing > 0 {
            // Writing to a text does not fail.
            let _ = write!(line, "… (and {} bytes)", self.missing);
        }
    }
}

impl fmt::Write for Excerpt {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = if self.missing > 0 { 0 } else { LONGEST_TEXT - self.text.len() };
        let shown = &text[..text.floor_char_boundary(room)];
        self.text.push_str(shown);
        self.missing += text.len() - shown.len();
        Ok(())
    }
}

/// Appends a text without anything that could end the line, move within it or turn its direction.
pub fn escape(line: &mut String, text: &str) {
    escape_with(line, text, "");
}

/// The same with a backslash before each of `special`.
fn escape_with(line: &mut String, text: &str, special: &str) {
    for char in text.chars() {
        if char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            line.extend(char.escape_default());
        } else {
            if special.contains(char) {
                line.push('\\');
            }
            line.push(char);
        }
    }
}
