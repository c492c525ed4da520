//! The modes of the terminal while a command talks with a person on it, and after.
//!
//! They are *quiet*: keys are not echoed and not collected into lines, so nothing that is typed early stands in the middle
//! of an answer; whoever edits the next line reads it then. Ctrl-C is a signal. Pasted texts come in brackets, so that
//! their line ends are no returns.

use std::{
    env,
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
};

use nix::{
    sys::termios::{
        FlushArg, InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcflush, tcgetattr,
        tcsetattr,
    },
    unistd::{getpgrp, tcgetpgrp},
};

const BRACKETED_PASTE_ON: &[u8] = b"\x1b[?2004h";
const BRACKETED_PASTE_OFF: &[u8] = b"\x1b[?2004l";

/// Terminals on which the cursor cannot be moved.
const WITHOUT_CURSOR: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Whether lines can be edited.
pub(super) fn has_cursor() -> bool {
    env::var("TERM").is_ok_and(|term| !WITHOUT_CURSOR.iter().any(|other| other.eq_ignore_ascii_case(&term)))
}

/// The terminal that a person is asked on.
#[derive(Debug)]
pub(super) struct Tty {
    pub(super) input: File,
    pub(super) output: File,
    pub(super) kind: TtyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TtyKind {
    /// Standard input and output.
    Stdio,
    /// The one that controls the process.
    Controlling,
}

impl Tty {
    /// The terminal, if there is one.
    pub(super) fn find() -> Option<Self> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if stdin.is_terminal() && stdout.is_terminal() {
            let file = |handle: std::os::fd::BorrowedFd<'_>| handle.try_clone_to_owned().map(File::from);
            let (input, output) = (file(stdin.as_fd()).ok()?, file(stdout.as_fd()).ok()?);
            return Some(Self { input, output, kind: TtyKind::Stdio });
        }
        let input = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let output = input.try_clone().ok()?;
        Some(Self { input, output, kind: TtyKind::Controlling })
    }
}

/// A terminal with quiet modes, until they are restored.
#[derive(Debug)]
pub(super) struct QuietModes {
    tty: Tty,
    original: Termios,
    quiet: Termios,
}

impl QuietModes {
    pub(super) fn set(tty: Tty) -> io::Result<Self> {
        let original = tcgetattr(&tty.input)?;
        let mut quiet = original.clone();
        quiet.local_flags &= !(LocalFlags::ECHO | LocalFlags::ICANON);
        // The return key comes as what it is.
        quiet.input_flags &= !InputFlags::ICRNL;
        quiet.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        quiet.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(&tty.input, SetArg::TCSADRAIN, &quiet)?;
        let mut modes = Self { tty, original, quiet };
        match modes.tty.output.write_all(BRACKETED_PASTE_ON) {
            Ok(()) => Ok(modes),
            Err(error) => {
                modes.restore();
                Err(error)
            }
        }
    }

    /// Sets them again.
    pub(super) fn renew(&mut self) {
        // A terminal that is gone needs no order.
        let _ = tcsetattr(&self.tty.input, SetArg::TCSANOW, &self.quiet);
        let _ = self.tty.output.write_all(BRACKETED_PASTE_ON);
    }

    /// Drops what has been typed or pasted and not been read; tells why.
    pub(super) fn forget_keys(&mut self, why: &str) {
        // What cannot be dropped is read as if it were typed now.
        let _ = tcflush(&self.tty.input, FlushArg::TCIFLUSH);
        // Whoever cannot be told sees the empty line.
        self.show(&format!("(that {why}, and is forgotten)\r\n"));
    }

    pub(super) fn show(&mut self, text: &str) {
        // A terminal that is gone shows nothing.
        let _ = self.tty.output.write_all(text.as_bytes());
    }

    /// Restores the modes that were there before.
    pub(super) fn restore(&mut self) {
        // In the background the terminal is somebody else's, and setting its modes would stop the process.
        if tcgetpgrp(&self.tty.input).is_ok_and(|group| group != getpgrp()) {
            return;
        }
        // A terminal that is gone needs no order.
        let _ = self.tty.output.write_all(BRACKETED_PASTE_OFF);
        let _ = tcsetattr(&self.tty.input, SetArg::TCSANOW, &self.original);
    }

    pub(super) fn input(&self) -> &File {
        &self.tty.input
    }
}
