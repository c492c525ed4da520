//! Reading a recording.

use std::collections::{BTreeMap, HashMap};

use oam_agent::{Script, ScriptError};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    facts::ModelFacts,
    fingerprint::Fingerprint,
    form::{Before, NpcForm, RecordingForm, RequestForm, SessionForm, StepForm, VERSION},
    owner::Owner,
    step::RecordedStep,
};

/// What was recorded: a file that has been read.
#[derive(Debug)]
pub struct Recording {
    pub(crate) model: ModelFacts,
    pub(crate) counts: BTreeMap<Fingerprint, u32>,
    /// Sorted; those of one owner in the order of the file.
    pub(crate) conversations: BTreeMap<Owner, Vec<Vec<RecordedStep>>>,
    pub(crate) otherwise: Otherwise,
}

/// What answers where nothing is recorded.
#[derive(Debug, Default)]
pub(crate) struct Otherwise {
    /// For owners of which there is no recording at all.
    pub(crate) script: Option<Script>,
    /// The script's fallback is also for what is asked after the end of a recording.
    pub(crate) continues: bool,
}

/// A recording that cannot be used. The message names the member and says what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RecordingError {
    /// A full sentence.
    pub message: String,
}

/// Where a file has its recording.
pub(crate) const MEMBER: &str = "recording";

impl Recording {
    /// Reads a script file that has the member `recording`; `None` when it has none. Its `steps` and `fallback` answer
    /// where nothing is recorded.
    pub fn from_json(file: &Value) -> Result<Option<Self>, RecordingError> {
        let Some(recording) = file.get(MEMBER) else { return Ok(None) };
        check_version(recording)?;
        let form: RecordingForm = serde_path_to_error::deserialize(recording).map_err(|error| {
            let path = match error.path().to_string().as_str() {
                "." => MEMBER.to_owned(),
                path => format!("{MEMBER}.{path}"),
            };
            RecordingError::at(&path, &error.into_inner().to_string())
        })?;
        let otherwise = Otherwise {
            script: ["steps", "fallback"]
                .iter()
                .any(|member| file.get(*member).is_some_and(|value| !value.is_null()))
                .then(|| Script::from_json(file, ""))
                .transpose()?,
            continues: file.get("fallback").is_some_and(|fallback| !fallback.is_null()),
        };
        let RecordingForm { model, counts, sessions, npcs, requests } = form;
        let sessions =
            sessions.into_iter().map(|SessionForm { session, steps }| (Owner::Session(session), steps));
        let npcs = npcs.into_iter().map(|NpcForm { npc, steps }| (Owner::Npc(npc), steps));
        let requests =
            requests.into_iter().map(|RequestForm { request, steps }| (Owner::Request(request), steps));
        let mut conversations = BTreeMap::<Owner, Vec<_>>::new();
        for (section, (index, (owner, steps))) in sessions
            .enumerate()
            .map(|it| ("sessions", it))
            .chain(npcs.enumerate().map(|it| ("npcs", it)))
            .chain(requests.enumerate().map(|it| ("requests", it)))
        {
            let steps = read_steps(steps, &format!("{MEMBER}.{section}[{index}].steps"))?;
            conversations.entry(owner).or_default().push(steps);
        }
        Ok(Some(Self { model: model.unwrap_or_default(), counts, conversations, otherwise }))
    }
}

fn check_version(recording: &Value) -> Result<(), RecordingError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let path = format!("{MEMBER}.version");
    match Version::deserialize(recording) {
        Ok(Version { version }) if version <= VERSION => Ok(()),
        Ok(Version { version }) => {
            let what = format!("is {version}; this version of oam reads recordings up to version {VERSION}");
            Err(RecordingError::at(&path, &what))
        }
        Err(error) => Err(RecordingError::at(&path, &error.to_string())),
    }
}

fn read_steps(steps: Vec<StepForm>, path: &str) -> Result<Vec<RecordedStep>, RecordingError> {
    let mut before = Before::default();
    let steps = steps.into_iter().enumerate().map(|(index, form)| {
        let step =
            form.read(&before).map_err(|reason| RecordingError::at(&format!("{path}[{index}]"), &reason))?;
        before.step(&step);
        Ok(step)
    });
    steps.collect()
}

impl RecordingError {
    fn at(path: &str, what: &str) -> Self {
        Self { message: format!("'{path}': {what}.") }
    }
}

impl From<ScriptError> for RecordingError {
    fn from(error: ScriptError) -> Self {
        Self { message: error.message }
    }
}

/// Counts by what they are counts of.
pub(crate) type Counts = HashMap<Fingerprint, u32>;
