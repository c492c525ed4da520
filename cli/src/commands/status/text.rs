//! The status for people: a label and what there is to say, line by line.

use std::fmt::Write as _;

use oam_agent::Capabilities;

use super::{ModelName, ModelSource, Seen};
use crate::{
    commands::service::status::text as service_text,
    labelled::{Lines, quoted},
};

/// Lines of a worker's last words that are shown.
const SHOWN_WORDS: usize = 10;

pub(super) fn of(seen: &Seen) -> String {
    let mut lines = Lines::default();
    lines.add("Model", &model(seen));
    lines.add(
        if seen.source == ModelSource::Script { "Script" } else { "Worker" },
        &match (&seen.command, seen.source) {
            (Some(command), source) => format!("{}  ({})", shell_words::join(command), found(source)),
            (None, source) => found(source).to_owned(),
        },
    );
    if let Some(workers) = &seen.workers {
        lines.add(
            "Ready",
            &match &workers.ready {
                Some((program, took)) => {
                    let (name, version) = (quoted(&program.name), quoted(&program.version));
                    format!("after {:.2} s ({name} {version})", took.as_secs_f64())
                }
                None => "no".to_owned(),
            },
        );
    }
    if seen.workers.as_ref().is_none_or(|workers| workers.ready.is_some())
        && seen.source != ModelSource::Nowhere
    {
        lines.add("Context", &format!("{} tokens", seen.availability.context_size));
        lines.add("Abilities", &abilities(seen.capabilities));
        if !seen.availability.supported_languages.is_empty() {
            let languages = seen.availability.supported_languages.iter().map(|language| quoted(language));
            lines.add("Languages", &languages.collect::<Vec<_>>().join(", "));
        }
    }
    for exit in seen.workers.iter().flat_map(|workers| &workers.pool.last_exits) {
        // They follow, line by line.
        let how = exit.exit.split("; its last words: ").next().unwrap_or_default();
        lines.add("Ended", &format!("{} {how}", exit.worker));
        let words: Vec<_> = exit.stderr.iter().filter(|line| !line.trim().is_empty()).collect();
        if words.is_empty() {
            lines.add("", "| (it said nothing)");
        }
        for line in &words[words.len().saturating_sub(SHOWN_WORDS)..] {
            lines.add("", &format!("| {line}"));
        }
    }
    if let Some(service) = &seen.service {
        lines.add("Service", &service_text::running(service));
        lines.add("", "oam service status tells more of it");
    }
    for (index, sentence) in seen.advice.iter().enumerate() {
        lines.add(if index == 0 { "To do" } else { "" }, sentence);
    }
    lines.into_text()
}

fn model(seen: &Seen) -> String {
    let mut text = match (seen.name, &seen.availability.variant) {
        (ModelName::Scripted, Some(variant)) => variant.clone(),
        (name, Some(variant)) => format!("{} ({})", name.as_str(), quoted(variant)),
        (name, None) => name.as_str().to_owned(),
    };
    match seen.availability.unavailable {
        None => text.push_str(", can be asked"),
        Some(reason) => {
            // Writing to a text does not fail.
            let _ = write!(text, ", cannot be asked: {}", reason.as_str());
        }
    }
    text
}

fn found(source: ModelSource) -> &'static str {
    match source {
        ModelSource::Argument => "from --worker",
        ModelSource::Script => "from OAM_SCRIPT, in the place of a worker",
        ModelSource::Variable => "from OAM_WORKER",
        ModelSource::Installed => "installed beside oam",
        ModelSource::Nowhere => "none",
    }
}

fn abilities(capabilities: Capabilities) -> String {
    let Capabilities { streaming, native_tools, guided_generation, token_count, images } = capabilities;
    let all = [
        (streaming, "streaming"),
        (native_tools, "native tool calls"),
        (guided_generation, "guided generation"),
        (token_count, "token counts"),
        (images, "images"),
    ];
    let there: Vec<_> = all.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)).collect();
    if there.is_empty() { "text only".to_owned() } else { there.join(", ") }
}
