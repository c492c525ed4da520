//! A client that can be killed: it starts `oam`, gets it to work, says so, and then only waits.
//!
//! `oam-client <path of oam> <message>…` sends the messages, waits for as many answers or tool calls, writes the process
//! id of `oam` to its output, and waits for its end. `oam` inherits its error output, so whoever holds the other end
//! of that sees when both are gone.
#![allow(clippy::unwrap_used, reason = "it fails by panicking, and its test sees that")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut oam = Command::new(args.next().unwrap())
        .arg("stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = oam.stdin.take().unwrap();
    let mut output = BufReader::new(oam.stdout.take().unwrap()).lines();
    for message in args {
        writeln!(input, "{message}").unwrap();
        output.next().unwrap().unwrap();
    }
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", oam.id()).unwrap();
    stdout.flush().unwrap();
    // Both pipes stay open meanwhile.
    oam.wait().unwrap();
    drop((input, output));
}
