//! `OAM_SCRIPT`: a script that stands in for the system model.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use oam_agent::{Availability, DEFAULT_CONTEXT_SIZE, Model, Script, ScriptedModel};
use oam_bridge::{ModelFactory, ModelUse};

const VARIABLE: &str = "OAM_SCRIPT";
/// The same as for a line of the protocol, in bytes.
const LONGEST_SCRIPT: usize = 64 << 20;

/// The script that `OAM_SCRIPT` names, if it is set. The error says which file and what is wrong with it.
pub(crate) fn from_environment() -> Result<Option<Script>, String> {
    let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        return Ok(None);
    };
    let failed = |reason: String| format!("{VARIABLE}: {}: {reason}", path.display());
    let text = read(&path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    if text.len() > LONGEST_SCRIPT {
        return Err(failed(format!("is larger than {LONGEST_SCRIPT} bytes")));
    }
    // Editors on Windows put a byte order mark in front.
    let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let value = serde_json::from_slice(json).map_err(|error| failed(format!("is not JSON: {error}")))?;
    Script::from_steps_or_object(&value, "").map(Some).map_err(|error| failed(error.message))
}

/// The file, or as much of it as shows that it is too long.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST_SCRIPT as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
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
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        let availability = Availability {
            unavailable: None,
            context_size: DEFAULT_CONTEXT_SIZE,
            variant: Some(format!("scripted ({VARIABLE})")),
            supported_languages: Vec::new(),
        };
        Arc::new(ScriptedModel::with_availability(self.script.clone(), availability))
    }
}
