//! `OAM_SCRIPT`: a script that stands in for the system model.

use std::{env, path::PathBuf, sync::Arc};

use oam_agent::{Availability, DEFAULT_CONTEXT_SIZE, Model, Script, ScriptedModel};
use oam_bridge::ModelFactory;

use crate::{failure::Failure, files::InputPath};

pub(crate) const VARIABLE: &str = "OAM_SCRIPT";

/// The script that `OAM_SCRIPT` names, if it is set. The failure says which file and what is wrong with it.
pub(crate) fn from_environment() -> Result<Option<Script>, Failure> {
    let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    let failed = |reason: String| Failure::invalid_input(format!("{VARIABLE}: {reason}"));
    let value = InputPath::File(path.clone()).read_json().map_err(|failure| failed(failure.message))?;
    let script = Script::from_steps_or_object(&value, "");
    script.map(Some).map_err(|error| failed(format!("{}: {}", path.display(), error.message)))
}

/// A system model that is a script: each use gets its own copy.
#[derive(Debug)]
pub(crate) struct ScriptedSystem {
    script: Script,
}

impl ScriptedSystem {
    pub(crate) fn new(script: Script) -> Self {
        Self { script }
    }
}

impl ModelFactory for ScriptedSystem {
    fn system(&self) -> Arc<dyn Model> {
        let availability = Availability {
            unavailable: None,
            context_size: DEFAULT_CONTEXT_SIZE,
            variant: Some(format!("scripted ({VARIABLE})")),
            supported_languages: Vec::new(),
        };
        Arc::new(ScriptedModel::with_availability(self.script.clone(), availability))
    }
}
