//! The command line of `oam respond`.

use std::path::PathBuf;

use clap::Args;

use crate::{
    arguments::turn::TurnArguments,
    failure::{Failure, ReportForm},
    files::InputPath,
    tool_output::GivenOutput,
};

/// Ask the model once: a prompt in, an answer out, with tool calls in between.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RespondArguments {
    /// The prompt; what is piped in is appended to it, or is the prompt.
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Vec<String>,

    /// An image that belongs to the prompt; may be given again.
    #[arg(long = "image", value_name = "FILE")]
    pub(super) images: Vec<PathBuf>,

    /// Never read the prompt from standard input.
    #[arg(long)]
    pub(super) no_stdin: bool,

    #[command(flatten)]
    pub(super) turn: TurnArguments,

    #[command(flatten)]
    pub(super) answers: AnswerArguments,

    /// A JSON Schema that the answer must fit.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) schema: Option<InputPath>,

    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// What is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are given; `mode` is what they mean")]
pub(super) struct OutputArguments {
    /// Print the result as one line of JSON.
    #[arg(long, conflicts_with = "events")]
    json: bool,

    /// Print what happens as it happens, a line of JSON each.
    #[arg(long)]
    events: bool,

    /// Print the answer while it grows (the default, for answers in prose).
    #[arg(long, overrides_with = "no_stream", hide = true)]
    stream: bool,

    /// Print the answer when it is complete, not while it grows.
    #[arg(long, overrides_with = "stream")]
    no_stream: bool,

    /// Tell of steps, calls and tokens on standard error.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

/// Outputs of external tools.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tools")]
pub(super) struct AnswerArguments {
    /// The output of a call that waits in --resume: text, JSON or @FILE.
    #[arg(long = "tool-output", value_name = "ID=OUTPUT", requires = "resume", allow_hyphen_values = true)]
    outputs: Vec<CallAnswer>,

    /// The same for a call that failed: a message or @FILE.
    #[arg(long = "tool-error", value_name = "ID=MESSAGE", requires = "resume", allow_hyphen_values = true)]
    errors: Vec<CallAnswer>,

    /// Ask for outputs on the terminal, instead of ending with 10.
    #[arg(long)]
    pub(super) ask_tools: bool,
}

/// How the result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputMode {
    /// The answer, for people.
    Text {
        /// While it grows.
        streams: bool,
    },
    /// One object.
    Json,
    /// An object for each event.
    Events,
}

impl OutputArguments {
    pub(super) fn mode(&self) -> OutputMode {
        match (self.json, self.events) {
            (true, _) => OutputMode::Json,
            (_, true) => OutputMode::Events,
            _ => OutputMode::Text { streams: !self.no_stream },
        }
    }
}

impl From<OutputMode> for ReportForm {
    fn from(mode: OutputMode) -> Self {
        match mode {
            OutputMode::Text { .. } => Self::Text,
            OutputMode::Json => Self::Json,
            OutputMode::Events => Self::Events,
        }
    }
}

/// What was given for one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallAnswer {
    pub(super) id: String,
    pub(super) given: GivenOutput,
}

impl std::str::FromStr for CallAnswer {
    type Err = &'static str;

    /// The id ends at the first `=`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            None => Err("must be <id>=<value>"),
            Some(("", _)) => Err("the id before '=' is empty"),
            Some((id, value)) => Ok(Self { id: id.to_owned(), given: value.into() }),
        }
    }
}

impl AnswerArguments {
    /// All answers, each with whether it tells of a failure.
    pub(super) fn all(&self) -> impl Iterator<Item = (&CallAnswer, bool)> {
        let outputs = self.outputs.iter().map(|answer| (answer, false));
        outputs.chain(self.errors.iter().map(|answer| (answer, true)))
    }
}

impl RespondArguments {
    /// The flags whose value is standard input. It can be read only once.
    pub(super) fn readers_of_stdin(&self) -> Result<Vec<&'static str>, Failure> {
        let is_stdin = |path: &Option<InputPath>| *path == Some(InputPath::Stdin);
        let files = [
            ("--resume", is_stdin(&self.turn.resume)),
            ("--tools", is_stdin(&self.turn.tools.file)),
            ("--schema", is_stdin(&self.schema)),
        ];
        let answers = self.answers.all().map(|(answer, is_error)| {
            (if is_error { "--tool-error" } else { "--tool-output" }, answer.given.is_stdin())
        });
        let readers: Vec<_> =
            files.into_iter().chain(answers).filter_map(|(flag, reads)| reads.then_some(flag)).collect();
        if readers.len() > 1 {
            return Err(Failure::usage(format!(
                "{} cannot all be standard input; put all but one into files.",
                readers.join(", ")
            )));
        }
        Ok(readers)
    }
}

const EXAMPLES: &str = "\
Examples (FILE may be \"-\", standard input):
  git diff | oam respond --tools tools.json 'Summarize this change and file it.'
  oam respond --resume /tmp/oam-0c1d2e3f.json --tool-output c1='{\"potions\":3}'

Exit codes: 0 done, 1 failed, 2 wrong input, 3 no model, 4 blocked, 5 context full, 6 rate limited, \
10 calls of external tools wait (the output says which, and in which file), 130 interrupted";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_id_of_an_answer_ends_at_the_first_equals_sign() {
        let answer: CallAnswer = "c1=a=b".parse().unwrap();
        assert_eq!((answer.id.as_str(), answer.given), ("c1", GivenOutput::Text("a=b".into())));
        assert_eq!("c1=".parse::<CallAnswer>().unwrap().given, GivenOutput::Text(String::new()));
        for bad in ["", "c1", "=x"] {
            assert!(bad.parse::<CallAnswer>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_id_and_value_are_told_apart(id in "[^=]{1,20}", value in "(?s).{0,40}") {
            let answer: CallAnswer = format!("{id}={value}").parse().unwrap();
            prop_assert_eq!(answer.id, id);
            prop_assert_eq!(answer.given, GivenOutput::from(&*value));
        }

        #[test]
        fn anything_is_an_answer_or_refused(text in "(?s).{0,40}") {
            let is_answer = text.find('=').is_some_and(|at| at > 0);
            prop_assert_eq!(text.parse::<CallAnswer>().is_ok(), is_answer);
        }
    }
}
