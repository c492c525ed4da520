//! `oam available`: whether a model can be asked here.

use std::process::ExitCode;

use clap::Args;
use oam_agent::{Availability, json_text};
use serde_json::{Map, Value, json};

use crate::{
    arguments::model::ModelArguments,
    console::Console,
    failure::{Failure, FailureCode, ReportForm},
    models::{ModelName, SystemModel},
    runtime::{self, End},
};

/// Tell whether a model can be asked here, as JSON.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AvailableArguments {
    /// One line instead of many.
    #[arg(long)]
    compact: bool,

    /// The output is JSON in any case.
    #[arg(long, hide = true)]
    json: bool,

    #[command(flatten)]
    model: ModelArguments,
}

const EXAMPLES: &str = "\
Example:
  oam available --compact && oam respond 'Hello!'

Exit codes: 0 yes; 3 no, with the member \"reason\": device_not_eligible, apple_intelligence_not_enabled, \
model_not_ready or unknown.";

pub(crate) fn run(arguments: &AvailableArguments) -> ExitCode {
    let told =
        SystemModel::choose_to_look_at(&arguments.model).and_then(|model| runtime::run(availability(model)));
    match told {
        Err(failure) => failure.report(ReportForm::Json),
        Ok(End::Interrupted(code)) => code,
        Ok(End::Done((availability, name))) => {
            let result = result(&availability, name);
            let text =
                if arguments.compact { json_text::compact(&result) } else { json_text::pretty(&result) };
            Console::stdout().json_text(&text);
            match availability.unavailable {
                None => ExitCode::SUCCESS,
                Some(_) => ExitCode::from(FailureCode::MODEL_UNAVAILABLE.exit_code()),
            }
        }
    }
}

async fn availability(model: SystemModel) -> Result<(Availability, ModelName), Failure> {
    let model = model.open().await;
    let told = (model.model.availability(), model.name);
    model.close(Ok(told)).await
}

fn result(availability: &Availability, name: ModelName) -> Value {
    let Availability { unavailable, context_size, variant, supported_languages } = availability;
    let mut result = Map::new();
    result.insert("available".to_owned(), unavailable.is_none().into());
    if let Some(reason) = unavailable {
        result.insert("reason".to_owned(), reason.as_str().into());
    }
    result.insert("model".to_owned(), name.as_str().into());
    result.insert("contextSize".to_owned(), (*context_size).into());
    if let Some(variant) = variant {
        result.insert("variant".to_owned(), variant.as_str().into());
    }
    result.insert("supportedLanguages".to_owned(), json!(supported_languages));
    Value::Object(result)
}
