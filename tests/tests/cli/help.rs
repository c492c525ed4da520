//! What the program tells of itself: help, the manual for agents, manual pages, completions.

use std::{fs, process::Command as Program};

use serde_json::json;

use crate::run::oam;

/// A terminal of usual size shows so much at once.
const SCREEN: (usize, usize) = (45, 100);

/// Every command by its words, `oam` itself first.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(words) = found.get(next).cloned() {
        next += 1;
        let help = help(&words);
        let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            // A line that goes on with a description begins further to the right.
            if let Some(name) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
                let name = name.split_whitespace().next().unwrap().to_owned();
                if name != "help" {
                    found.push([words.as_slice(), &[name]].concat());
                }
            }
        }
    }
    found
}

fn help(words: &[String]) -> String {
    let arguments = words.iter().map(String::as_str).chain(["--help"]);
    let told = oam(arguments).ends_with(0);
    assert_eq!(told.stderr, "");
    told.stdout
}

#[test]
fn the_help_of_every_command_fits_one_screen_and_holds_an_example() {
    let commands = commands();
    assert!(commands.len() > 7, "{commands:?}");
    for words in commands {
        let help = help(&words);
        let (lines, columns) = (help.lines().count(), help.lines().map(|line| line.chars().count()).max());
        assert!(lines <= SCREEN.0, "{words:?} has {lines} lines:\n{help}");
        assert!(columns.is_some_and(|columns| columns <= SCREEN.1), "{words:?} is too wide:\n{help}");
        assert!(help.contains("\nExample") && help.contains("  oam "), "{words:?} has no example:\n{help}");
    }
}

#[test]
fn paragraphs_of_a_help_text_are_as_wide_as_the_terminal() {
    const COLUMNS: usize = 60;
    for words in commands() {
        let arguments = words.iter().map(String::as_str).chain(["--help"]);
        let help = oam(arguments).env("COLUMNS", COLUMNS.to_string()).ends_with(0).stdout;
        let lines: Vec<_> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let [line, next] = [pair[0], pair[1]];
            if is_text(line) && is_text(next) {
                let word = next.split(' ').next().unwrap();
                let together = line.trim_end().chars().count() + 1 + word.chars().count();
                assert!(together > COLUMNS, "{words:?}: {word} has room in the line before:\n{help}");
            }
        }
    }
}

#[test]
fn a_group_without_its_command_prints_its_help() {
    for words in commands() {
        let help = help(&words);
        if help.contains("\nCommands:\n") {
            let told = oam(words.iter().map(String::as_str)).ends_with(0);
            assert_eq!((told.stdout, told.stderr), (help, String::new()), "{words:?}");
        }
    }
}

#[test]
fn agents_get_facts_that_are_true() {
    let told = oam(["agent-readme", "--json"]).ends_with(0);
    assert_eq!(told.stdout.lines().count(), 1);
    let facts = told.json();
    let codes: Vec<_> =
        facts["exitCodes"].as_array().unwrap().iter().map(|code| code["code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 10]);
    assert_eq!((&facts["tool"], &facts["version"]), (&json!("oam"), &json!(env!("CARGO_PKG_VERSION"))));
    let usages: Vec<_> =
        facts["commands"].as_array().unwrap().iter().map(|one| one["usage"].as_str().unwrap()).collect();
    let manual = oam(["agent-readme"]).ends_with(0).stdout;
    for words in commands() {
        let name = format!("oam {}", words.join(" "));
        let group =
            commands().iter().any(|other| other.len() == words.len() + 1 && other.starts_with(&words));
        assert!(group || usages.iter().any(|usage| usage.starts_with(&name)), "{name}");
        assert!(group || manual.contains(&name), "{name}");
    }
    for blank in ["{commands}", "{exit_codes}", "{context}"] {
        assert!(!manual.contains(blank), "{blank}");
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    oam(["man", pages.to_str().unwrap()]).ends_with(0);
    for words in commands() {
        let name = [vec!["oam".to_owned()], words].concat().join("-");
        let page =
            fs::read_to_string(pages.join(format!("{name}.1"))).unwrap_or_else(|why| panic!("{name}: {why}"));
        for section in ["SYNOPSIS", "OPTIONS", "EXAMPLES"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{name}: {section}");
        }
    }
    assert_eq!(oam(["man"]).ends_with(0).stdout, fs::read_to_string(pages.join("oam.1")).unwrap());
    let blocked = oam(["man", "file/below"]).file("file", "").ends_with(1);
    assert!(blocked.stderr.contains("file/below/oam.1: cannot be written"), "{blocked:?}");
}

#[test]
fn shells_understand_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = oam(["completions", shell]).ends_with(0).stdout;
        assert!(script.contains("agent-readme"), "{shell}");
    }
    let script = oam(["completions", "bash"]).ends_with(0).stdout;
    let completed = Program::new("bash")
        .args(["-c", &format!("{script}\nCOMP_WORDS=(oam agent); COMP_CWORD=1; _oam oam agent oam; echo \"${{COMPREPLY[@]}}\"")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&completed.stdout), "agent-readme\n", "{completed:?}");
}

#[test]
fn the_worker_for_trials_lists_its_faults() {
    let told = oam(["worker", "scripted", "--faults"]).ends_with(0).stdout;
    for part in ["crash-streaming", "half-frame", "p=0.01", "once=PATH"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
