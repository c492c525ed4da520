//! The header says what the source says.

use std::{fs, path::Path};

const HEADER: &str = "open_apple_models.h";

fn generated() -> String {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config =
        cbindgen::Config::from_file(crate_dir.join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let bindings = cbindgen::Builder::new()
        .with_src(crate_dir.join("src/lib.rs"))
        .with_config(config)
        .generate()
        .expect("the source can be read");
    let mut header = Vec::new();
    bindings.write(&mut header);
    // What the source calls safety is told in each function's own words.
    let header = String::from_utf8(header).expect("a header is text");
    without_safety_sections(&header)
}

fn without_safety_sections(header: &str) -> String {
    let mut kept = Vec::new();
    let mut is_safety = false;
    for line in header.lines() {
        is_safety = match line.trim() {
            "* # Safety" => {
                while kept.last().is_some_and(|line: &&str| line.trim() == "*") {
                    kept.pop();
                }
                true
            }
            "*/" => false,
            _ => is_safety,
        };
        if !is_safety {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}

/// `UPDATE_HEADER=1` writes it anew, which is what scripts/header does.
#[test]
fn the_header_is_that_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER);
    let generated = generated();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == generated, "{HEADER} is not that of the source; scripts/header makes it anew");
}
