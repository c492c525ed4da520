//! The guide's program for C does what the guide says.

use std::fs;

use crate::build::{crate_folder, output, source_program};

/// The block of this kind in the guide's section for C.
fn block(kind: &str) -> String {
    let guide = fs::read_to_string(crate_folder().join("../README.md")).unwrap();
    let section = guide.split("\n## ").find(|section| section.starts_with("C\n")).unwrap();
    let begin = format!("```{kind}\n");
    let (_, block) = section.split_once(&begin).unwrap();
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn the_program_of_the_guide_prints_what_the_guide_says() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("npc.c");
    fs::write(&source, block("c")).unwrap();
    let built = source_program(source).build();
    let mut command = built.command(&[]);
    command.current_dir(crate_folder().join("../.."));
    let output = output(command);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected = block("text");
    let (begin, end) = expected.split_once('…').unwrap();
    assert!(printed.starts_with(begin) && printed.ends_with(end), "{printed}");
}
