//! What the documents show is what happens: every exchange and every command in them is carried out.
//!
//! In README.md and docs/*.md, a block marked `jsonl` is an exchange with a fresh `oam stdio` (further words of the
//! mark are its command line), and a block marked `sh run` is a command for the root of the project, with the tested
//! program in the place of `cargo run`; a block marked `text output` right behind it is what it prints.

mod blocks;
mod pattern;
mod tavern;

use std::{
    env, fs, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use blocks::{Block, Line, blocks, exchange};
use oam_tests::{Builder, Oam, oam_binary};
use pattern::Pattern;

#[test]
fn every_exchange_happens_as_it_is_shown() {
    let mut failures = Vec::new();
    let mut played = 0;
    for (name, text) in documents() {
        for block in blocks(&text).iter().filter(|block| block.info.split(' ').next() == Some("jsonl")) {
            played += 1;
            if let Err(why) = caught(|| play(block)) {
                failures.push(format!("{name}:{}: {why}", block.line));
            }
        }
    }
    assert!(played > 0, "no document shows an exchange");
    assert!(failures.is_empty(), "{} of {played} fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_command_prints_what_is_shown() {
    let mut failures = Vec::new();
    let mut run_so_far = 0;
    for (name, text) in documents() {
        let blocks = blocks(&text);
        for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.info == "sh run") {
            run_so_far += 1;
            let shown = blocks.get(index + 1).filter(|next| next.info == "text output");
            if let Err(why) = run(&block.lines.join("\n"), shown.map(|shown| shown.lines.join("\n"))) {
                failures.push(format!("{name}:{}: {why}", block.line));
            }
        }
    }
    assert!(run_so_far > 0, "no document shows a command");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut failures = Vec::new();
    for (name, text) in documents() {
        for target in links(&text) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let from = root().join(&name);
            let to = if path.is_empty() { from } else { from.with_file_name("").join(path) };
            if !to.exists() {
                failures.push(format!("{name}: {target}: no such file"));
            } else if !anchor.is_empty() && !anchors(&read(&to)).iter().any(|known| known == anchor) {
                failures.push(format!("{name}: {target}: no such heading"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the project")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// README.md and docs/*.md: the path from the root, and the text.
fn documents() -> Vec<(String, String)> {
    let mut paths = vec![PathBuf::from("README.md"), PathBuf::from("CONTRIBUTING.md")];
    for entry in fs::read_dir(root().join("docs")).expect("there is a folder of documents") {
        let name = entry.expect("the folder can be read").file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            paths.push(Path::new("docs").join(name));
        }
    }
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), read(&root().join(path)))).collect()
}

/// Runs an example; a panic in it (the test client's way to fail) is its error.
fn caught(example: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(example)).unwrap_or_else(|panic| {
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "the example panicked".to_owned()))
    })
}

/// Plays an exchange to its end: after its last line the input is closed, nothing more may come, and the process
/// must end well.
fn play(block: &Block) -> Result<(), String> {
    let lines = exchange(block)?;
    let args = block.info.split(' ').skip(1).skip_while(|word| matches!(*word, "oam" | "stdio"));
    let mut oam = args.fold(Oam::builder(), Builder::arg).start();
    let mut received = 0;
    let mut skip = false;
    for line in &lines {
        match line {
            Line::Sent(text) => oam.send_line(text),
            Line::Skipped => skip = true,
            Line::Received(pattern) => loop {
                let message = oam.take("the next message shown", |_| true);
                received += 1;
                match pattern.check(&message.value) {
                    Ok(()) => {
                        skip = false;
                        break;
                    }
                    Err(_) if skip => {}
                    Err(why) => return Err(format!("{why}\ncame: {}", message.line)),
                }
            },
        }
    }
    oam.close_input();
    let status = oam.wait_exit();
    match oam.messages().get(received) {
        Some(more) if !skip => Err(format!("more came than is shown: {}", more.line)),
        _ if !status.success() => Err(format!("the process ended with {status}")),
        _ => Ok(()),
    }
}

/// How documents start the program. Tests start the one that is there, instead of building another.
const CARGO_RUN: &str = "cargo run --release --package oam --";

/// Where the program lies then.
const BUILT: &str = "$PWD/target/release";

/// Runs a command in the root of the project, with `OAM_BIN` naming the program and `OAM_FOLDER` its folder, where `oam`
/// is looked for first.
fn run(command: &str, shown: Option<String>) -> Result<(), String> {
    let command = command.replace(CARGO_RUN, "\"$OAM_BIN\"").replace(BUILT, "$OAM_FOLDER");
    let folder = oam_binary().with_file_name("");
    let usual_path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(iter::once(folder.clone()).chain(env::split_paths(&usual_path)));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &command])
        .current_dir(root())
        .env("OAM_BIN", oam_binary())
        .env("OAM_FOLDER", folder)
        .env("PATH", path.map_err(|error| format!("PATH cannot be extended: {error}"))?)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("bash cannot be started: {error}"))?;
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}\n{printed}{errors}", output.status));
    }
    match shown {
        Some(shown) => Pattern::text(&shown)
            .check(&printed.trim_end().into())
            .map_err(|_| format!("printed:\n{printed}{errors}")),
        None => Ok(()),
    }
}

/// The targets of links to files of the project.
fn links(document: &str) -> impl Iterator<Item = &str> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://"))
}

/// The names by which headings can be linked to, as GitHub makes them.
fn anchors(document: &str) -> Vec<String> {
    let headings = document.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        kept.map(|char| if char == ' ' { '-' } else { char }).collect()
    };
    headings.map(anchor).collect()
}
