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
///
/// The answer streams to standard output. Tools with a command run by themselves; when the model calls an external tool, the
/// conversation is saved, the calls are printed as JSON, and the exit code is 10: answer them with --resume and
/// --tool-output.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RespondArguments {
    /// The prompt; several words are joined. What is piped in is appended to it, or is the prompt.
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Vec<String>,

    #[command(flatten)]
    pub(super) turn: TurnArguments,

    /// An image that belongs to the prompt. May be given again.
    #[arg(long = "image", value_name = "FILE")]
    pub(super) images: Vec<PathBuf>,

    /// Never read the prompt from standard input.
    #[arg(long)]
    pub(super) no_stdin: bool,

    /// A JSON Schema that the answer must fit ("-" is standard input).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) schema: Option<InputPath>,

    #[command(flatten)]
    pub(super) output: OutputArguments,

    #[command(flatten)]
    pub(super) answers: AnswerArguments,
}

/// What is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArguments {
    /// Print the result as one line of JSON.
    #[arg(long, conflicts_with = "events")]
    json: bool,

    /// Print what happens as it happens, one line of JSON each.
    #[arg(long)]
    events: bool,

    /// Print the answer while it grows (the default, for answers in prose).
    #[arg(long, overrides_with = "no_stream")]
    stream: bool,

    /// Print the answer when it is complete.
    #[arg(long, overrides_with = "stream")]
    no_stream: bool,

    /// Tell more on standard error: model steps, tool calls, warnings of the schema, tokens.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

/// Outputs of external tools.
#[derive(Debug, Args)]
#[command(next_help_heading = "External tools")]
pub(super) struct AnswerArguments {
    /// The output of a call that waits in --resume: text, JSON, or @FILE ("@-" is standard input). May be given again.
    #[arg(long = "tool-output", value_name = "ID=OUTPUT", requires = "resume")]
    outputs: Vec<CallAnswer>,

    /// Tell the model that a call that waits in --resume failed: a message or @FILE. May be given again.
    #[arg(long = "tool-error", value_name = "ID=MESSAGE", requires = "resume")]
    errors: Vec<CallAnswer>,

    /// Ask for outputs of external tools on the terminal, instead of ending with 10.
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

const EXAMPLES: &str = r#"Examples:
  oam respond 'Why is the sky blue?'
  git diff | oam respond 'Summarize this change.'
  oam respond --schema person.json --json 'Invent an innkeeper.'
  oam respond --tools tools.json --tool-choice required 'What is the weather in Paris?'

A tool without a command is external. Its calls are printed, and answered in the next invocation:
  oam respond 'How many potions do I have?' --tool-choice required \
    --tool-json '{"name":"get_potions","description":"Count the potions in the inventory"}'
  {"status":"tool_calls","calls":[{"id":"c1","name":"get_potions","arguments":{}}],"transcript":"/tmp/oam-0c1d2e3f.json"}
  oam respond --resume /tmp/oam-0c1d2e3f.json --tool-output c1='{"potions":3}'

Environment:
  OAM_WORKER=CMD     the worker program, like --worker
  OAM_SCRIPT=FILE    a script that is played instead of asking a model

Exit codes: 0 done; 1 failed; 2 wrong arguments or unusable input; 3 model unavailable; 4 guardrail or refusal;
5 context window exceeded; 6 rate limited; 10 external tool calls are pending; 130 interrupted."#;

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
