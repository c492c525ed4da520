//! What a line means.

/// A line as it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// Nothing but blanks.
    Nothing,
    /// To the model.
    Prompt(&'a str),
    /// To the chat.
    Command(ChatCommand<'a>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatCommand<'a> {
    Help,
    Tools,
    Reset,
    /// Without a file, nobody knows where.
    Save(Option<&'a str>),
    Usage,
    Exit,
    /// With what was written, slash and all.
    Unknown(&'a str),
}

pub(super) const HELP: &str = "\
/tools         the tools, and who runs them
/reset         forget the conversation
/save FILE     save the conversation; --resume goes on with it
/usage         tokens and turns so far
/exit          end the chat (also /quit, /q, Ctrl-D)
/help          this list (also /?)
Ctrl-C stops an answer. A message that begins with a slash needs a blank before it.";

impl<'a> Said<'a> {
    /// A command is one line that begins with a slash.
    pub(super) fn from_line(line: &'a str) -> Self {
        let text = line.trim();
        match text {
            "" => Self::Nothing,
            _ if line.starts_with('/') && !text.contains('\n') => Self::Command(ChatCommand::from_text(text)),
            _ => Self::Prompt(text),
        }
    }
}

impl<'a> ChatCommand<'a> {
    fn from_text(text: &'a str) -> Self {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match name.to_ascii_lowercase().as_str() {
            "/help" | "/?" => Self::Help,
            "/tools" => Self::Tools,
            "/reset" => Self::Reset,
            "/save" => Self::Save(Some(rest.trim()).filter(|file| !file.is_empty())),
            "/usage" => Self::Usage,
            "/exit" | "/quit" | "/q" => Self::Exit,
            _ => Self::Unknown(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_with_a_slash_is_a_command() {
        for (line, said) in [
            ("", Said::Nothing),
            (" \t\n", Said::Nothing),
            (" Hello! ", Said::Prompt("Hello!")),
            (" /etc is a folder", Said::Prompt("/etc is a folder")),
            ("/first\nsecond", Said::Prompt("/first\nsecond")),
            ("/HELP", Said::Command(ChatCommand::Help)),
            ("/?", Said::Command(ChatCommand::Help)),
            ("/save", Said::Command(ChatCommand::Save(None))),
            ("/Save  my chat.json \n", Said::Command(ChatCommand::Save(Some("my chat.json")))),
            ("/q", Said::Command(ChatCommand::Exit)),
            ("/etc is a folder", Said::Command(ChatCommand::Unknown("/etc"))),
            ("/", Said::Command(ChatCommand::Unknown("/"))),
        ] {
            assert_eq!(Said::from_line(line), said, "{line:?}");
        }
    }
}
