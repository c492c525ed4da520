//! Who has the terminal: nobody in particular, the editor that reads a line, or again whoever started the program.
//!
//! The editor sets the terminal's modes itself for each line, and restores those that it found. That is in the way of two
//! things that come from outside: the end of the program, and a shell that stops the process, takes the terminal and lets
//! it go on.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};

use super::modes::{QuietModes, Tty};

/// How long the end waits for an editor that is just taking the terminal, which takes two system calls.
const TAKING_TIME: Duration = Duration::from_secs(2);

/// The modes of a terminal that lines are edited on.
#[derive(Debug)]
pub(super) struct Hold {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    holder: Holder,
    modes: QuietModes,
    /// The editor's, since the first line.
    editing: Option<Termios>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// No line is being edited.
    Nobody,
    /// The editor is about to set its modes.
    Taking,
    /// The editor has set its modes and waits for keys.
    Editor,
    /// The end has come.
    Ended,
}

impl Hold {
    /// Takes the terminal; nobody edits a line yet.
    pub(super) fn take(tty: Tty) -> io::Result<Self> {
        let state = State { holder: Holder::Nobody, modes: QuietModes::set(tty)?, editing: None };
        Ok(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Shows a text while no line is edited.
    pub(super) fn show(&self, text: &str) {
        let mut state = self.state();
        if state.holder == Holder::Nobody {
            state.modes.show(text);
        }
    }

    /// The editor is going to take the terminal. `false` after the end.
    pub(super) fn begin_line(&self) -> bool {
        let mut state = self.state();
        if state.holder == Holder::Ended {
            return false;
        }
        // A shell that had stopped the process may have set its own.
        state.modes.renew();
        self.pass(state, Holder::Taking);
        true
    }

    /// The editor has taken it.
    pub(super) fn is_taken(&self) {
        let mut state = self.state();
        if state.holder == Holder::Taking {
            state.editing = tcgetattr(state.modes.input()).ok();
            self.pass(state, Holder::Editor);
        }
    }

    /// The editor has restored what it had found.
    pub(super) fn end_line(&self) {
        let mut state = self.state();
        if state.holder == Holder::Ended {
            // Which was not what the end had left.
            state.modes.restore();
        } else {
            self.pass(state, Holder::Nobody);
        }
    }

    /// Drops a line that cannot be read, and what was typed with it; tells why.
    pub(super) fn forget_line(&self, why: &str) {
        self.state().modes.forget_keys(why);
    }

    /// The process goes on after a stop. Whether a line is being edited, which is to be shown again.
    pub(super) fn resume(&self) -> bool {
        let mut state = self.state();
        if state.holder != Holder::Editor {
            return false;
        }
        state.modes.renew();
        let editing = state.editing.as_ref();
        // A terminal that is gone needs no order.
        editing.is_some_and(|editing| tcsetattr(state.modes.input(), SetArg::TCSANOW, editing).is_ok())
    }

    /// Gives the terminal back as it was. An editor that is just about to change it is waited for.
    pub(super) fn end(&self) {
        let is_taking = |state: &mut State| state.holder == Holder::Taking;
        let waited = self.changed.wait_timeout_while(self.state(), TAKING_TIME, is_taking);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.holder == Holder::Ended {
            return;
        }
        if state.holder == Holder::Editor {
            // Behind the line that is being edited.
            state.modes.show("\r\n");
        }
        state.modes.restore();
        state.holder = Holder::Ended;
    }

    fn pass(&self, mut state: MutexGuard<'_, State>, holder: Holder) {
        state.holder = holder;
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
