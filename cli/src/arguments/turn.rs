//! What the commands that hold a conversation have in common: its instructions, its tools, how to generate, and where
//! the conversation is kept.

use std::{path::PathBuf, sync::Arc};

use clap::{Args, ValueHint};
use oam_agent::{GenerationOptions, Sampling, ToolChoice, ToolPolicy};

use super::model::ModelArguments;
use crate::{
    failure::Failure,
    files::{self, InputPath},
    tools::ToolSet,
    transcript_file::TranscriptFile,
};

/// How turns run.
#[derive(Debug, Args)]
pub(crate) struct TurnArguments {
    /// What the model is told first: who it is, how to answer.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) instructions: Option<String>,

    /// Go on with the conversation in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<InputPath>,

    /// Keep the conversation in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_transcript: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) generation: GenerationArguments,

    #[command(flatten)]
    pub(crate) model: ModelArguments,

    #[command(flatten)]
    pub(crate) tools: ToolArguments,
}

/// Which tools the model may call, and how often.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArguments {
    /// A JSON file of tools; those with an "x-oam" command run by themselves.
    #[arg(long = "tools", value_name = "FILE")]
    pub(crate) file: Option<InputPath>,

    /// A tool, or an array of tools, as JSON; may be given again.
    #[arg(long = "tool-json", value_name = "JSON")]
    pub(crate) inline: Vec<String>,

    /// The first step: auto, none, required, explicit or a tool's name.
    #[arg(long = "tool-choice", value_name = "CHOICE", value_hint = ValueHint::Other)]
    pub(crate) choice: Option<String>,

    /// How many rounds of calls a turn may have.
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = count)]
    pub(crate) max_tool_rounds: u32,

    /// How many calls a turn may have.
    #[arg(long, value_name = "N", default_value_t = 12, allow_negative_numbers = true, value_parser = count)]
    pub(crate) max_tool_calls: u32,
}

/// How answers are generated.
#[derive(Debug, Args)]
pub(crate) struct GenerationArguments {
    /// How freely to choose words, from 0 to 2 [default: the model's].
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    temperature: Option<f64>,

    /// The longest answer of one model step, in tokens.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count_from_one)]
    max_tokens: Option<u32>,

    /// Always choose the likeliest word.
    #[arg(short, long)]
    greedy: bool,
}

fn temperature(text: &str) -> Result<f64, String> {
    let is_allowed = |temperature: &f64| (0.0..=2.0).contains(temperature);
    text.parse().ok().filter(is_allowed).ok_or_else(|| "must be a number from 0 to 2".to_owned())
}

fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "must be a whole number of at least 0".to_owned())
}

fn count_from_one(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

impl TurnArguments {
    /// The tools of the command line, or else those of the conversation that goes on.
    pub(crate) fn tool_set(&self, resumed: Option<&TranscriptFile>) -> Result<ToolSet, Failure> {
        match (&self.resume, resumed) {
            (Some(source), Some(file)) if !self.tools.are_given() => file.tool_set(&source.to_string()),
            _ => ToolSet::load(self.tools.file.as_ref(), &self.tools.inline),
        }
    }

    /// The instructions of the command line, or else those of the conversation that goes on.
    pub(crate) fn instructions(&self, resumed: Option<&TranscriptFile>) -> Option<Arc<str>> {
        match &self.instructions {
            Some(instructions) => Some(instructions.as_str().into()),
            None => resumed?.setup()?.instructions.clone(),
        }
    }

    /// Where the conversation is to be kept, from the root.
    pub(crate) fn save_path(&self) -> Option<PathBuf> {
        self.save_transcript.as_deref().map(|path| files::absolute(&files::with_home(path)))
    }
}

impl ToolArguments {
    /// Whether tools are given here, rather than by a saved conversation.
    pub(crate) fn are_given(&self) -> bool {
        self.file.is_some() || !self.inline.is_empty()
    }

    /// How turns may use tools that have these names.
    pub(crate) fn policy(&self, names: &[&str]) -> Result<ToolPolicy, Failure> {
        Ok(ToolPolicy {
            choice: self
                .choice
                .as_deref()
                .map_or(Ok(ToolChoice::Auto), |choice| tool_choice(choice, names))?,
            max_tool_rounds: self.max_tool_rounds,
            max_tool_calls: self.max_tool_calls,
            enabled_tools: None,
        })
    }
}

fn tool_choice(text: &str, names: &[&str]) -> Result<ToolChoice, Failure> {
    match text {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "explicit" => Ok(ToolChoice::Explicit),
        "required" | "any" if names.is_empty() => Err(Failure::usage(format!(
            "--tool-choice {text}: there are no tools. Give some with --tools or --tool-json."
        ))),
        "required" | "any" => Ok(ToolChoice::Required),
        name if names.contains(&name) => Ok(ToolChoice::Tool(name.to_owned())),
        _ => {
            let tools = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(Failure::usage(format!(
                "--tool-choice {text}: must be auto, none, required, explicit or the name of a tool (there are: {tools})."
            )))
        }
    }
}

impl GenerationArguments {
    pub(crate) fn options(&self) -> GenerationOptions {
        GenerationOptions {
            temperature: self.temperature,
            max_response_tokens: self.max_tokens,
            sampling: self.greedy.then_some(Sampling::Greedy),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    #[test]
    fn a_tool_choice_is_a_rule_or_a_tool() {
        let choose = |text, names: &[&str]| tool_choice(text, names).map_err(|failure| failure.message);
        assert_eq!(choose("any", &["look"]), Ok(ToolChoice::Required));
        assert_eq!(choose("look", &["look"]), Ok(ToolChoice::Tool("look".into())));
        for (text, choice) in
            [("auto", ToolChoice::Auto), ("none", ToolChoice::None), ("explicit", ToolChoice::Explicit)]
        {
            assert_eq!(choose(text, &[]), Ok(choice));
        }
        assert!(choose("required", &[]).unwrap_err().contains("no tools"));
        assert!(choose("nope", &["look", "go"]).unwrap_err().contains("look, go"));
    }

    #[test]
    fn sampling_is_the_model_s_unless_it_is_to_be_greedy() {
        for (line, sampling) in [
            (&["oam"][..], None),
            (&["oam", "-g"], Some(Sampling::Greedy)),
            (&["oam", "--greedy"], Some(Sampling::Greedy)),
        ] {
            let command = GenerationArguments::augment_args(clap::Command::new("oam"));
            let mut read = command.try_get_matches_from(line).unwrap();
            let generation = GenerationArguments::from_arg_matches_mut(&mut read).unwrap();
            assert_eq!(generation.options().sampling, sampling);
        }
    }

    #[test]
    fn a_temperature_is_from_0_to_2() {
        assert_eq!(temperature("0.7"), Ok(0.7));
        for bad in ["-0.1", "2.1", "NaN", "warm", ""] {
            assert!(temperature(bad).is_err(), "{bad}");
        }
    }
}
