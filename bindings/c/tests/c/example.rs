//! The example compiles with every compiler, and does what it says.

use std::process::Command;

use crate::build::{Linked, Program, crate_folder, example, library_folder, output, worker_options};

fn check(example: &Program) {
    let printed = example.build().run(&[]);
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[0], concat!("version ", env!("CARGO_PKG_VERSION")));
    assert!(lines[1].starts_with(r#"availability {"jsonrpc":"2.0","id":null,"result":{"available":false,"#));
    assert!(lines[2].starts_with(r#"-> {"jsonrpc":"2.0","id":"create","method":"session/create""#));
    assert_eq!(*lines.last().unwrap(), "done");
    let place = |begin: &str| {
        let line = lines.iter().position(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("nothing begins with {begin} in:\n{printed}"))
    };
    let call = place(r#"<- {"jsonrpc":"2.0","id":"t-1","method":"tool/call""#);
    let output = r#"-> {"jsonrpc":"2.0","id":"t-1","result":{"output":{"rang":true,"times":3}}}"#;
    let answer = place(r#"<- {"jsonrpc":"2.0","id":"turn","result":"#);
    assert!(call < place(output) && place(output) < answer);
    assert!(lines[answer].contains(r#""text":"It is three o'clock. {\"rang\":true,\"times\":3}""#));
    assert!(printed.contains(r#"{"type":"text","delta":"#), "it is streamed");
}

#[test]
fn it_runs_with_the_shared_library() {
    check(&example());
}

#[test]
fn it_runs_with_the_static_library() {
    check(&example().with("cc", &[], Linked::Static));
}

#[test]
fn it_compiles_as_old_and_as_new_c() {
    for standard in ["-std=c99", "-std=c11", "-std=gnu2x"] {
        example().with("gcc", &[standard, "-D_POSIX_C_SOURCE=200809L"], Linked::Shared).build();
    }
}

#[test]
#[ignore = "needs clang"]
fn it_runs_with_clang_too() {
    for linked in [Linked::Shared, Linked::Static] {
        check(&example().with("clang", &["-O2"], linked));
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_header_is_one_of_cpp_too() {
    for compiler in ["g++", "clang++"] {
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c++"]);
        let output = output({
            command.arg(crate_folder().join("open_apple_models.h"));
            command
        });
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn live_it_asks_the_worker() {
    let worker = worker_options(&[]);
    let words: serde_json::Value = serde_json::from_str(&worker).unwrap();
    let words: Vec<_> =
        words["worker"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let built = example().build();
    let mut command = built.command(&["--live"]);
    command.env("OAM_WORKER", words.join(" "));
    let output = output(command);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains(r#""result":{"available":true"#), "{printed}");
    assert!(printed.contains(r#"<- {"jsonrpc":"2.0","id":"turn","result":"#), "{printed}");
}

#[test]
fn the_library_exports_its_seven_functions_and_nothing_else() {
    let mut command = Command::new("nm");
    command.args(["--dynamic", "--defined-only"]).arg(library_folder().join("libOpenAppleModelsFFI.so"));
    let symbols = String::from_utf8(output(command).stdout).unwrap();
    let symbols: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let functions = [
        "oam_bridge_create",
        "oam_bridge_create_with_options",
        "oam_bridge_destroy",
        "oam_bridge_send",
        "oam_call_blocking",
        "oam_string_free",
        "oam_version",
    ];
    assert_eq!(symbols, functions);
}
