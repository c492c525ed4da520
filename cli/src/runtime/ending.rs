//! The signals that end a command.

use std::{fs, future::poll_fn, io, task::Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::console::Console;

/// What a shell tells of a process that a signal ended.
const SIGNALLED: u8 = 128;

/// A signal that ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndSignal {
    /// The terminal is gone.
    HangUp = 1,
    /// Ctrl-C.
    Interrupt = 2,
    /// Ctrl-\\.
    Quit = 3,
    Terminate = 15,
}

/// A command that was interrupted ends with this, whoever hears the signal.
pub(crate) const INTERRUPTED: u8 = EndSignal::Interrupt.exit_code();

impl EndSignal {
    pub(super) const fn exit_code(self) -> u8 {
        SIGNALLED + self as u8
    }

    fn kind(self) -> SignalKind {
        SignalKind::from_raw(self as i32)
    }

    /// Whether whoever started the process wants it to go on after this signal, as `nohup` does. Where the system does not
    /// tell, what `nohup` does to the outputs does.
    fn is_ignored(self) -> bool {
        match fs::read_to_string("/proc/self/status") {
            Ok(status) => is_among(&status, self),
            Err(_) => {
                self == Self::HangUp && !Console::stdout().is_terminal() && !Console::stderr().is_terminal()
            }
        }
    }
}

/// Whether `status`, as Linux tells it, says that a signal is ignored.
fn is_among(status: &str, signal: EndSignal) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored & (1 << (signal as u32 - 1)) != 0)
}

/// Hears the signals that end any command: all but the interrupt, which some commands go on after.
#[derive(Debug)]
pub(super) struct EndSignals(Vec<(EndSignal, Signal)>);

impl EndSignals {
    /// On the current runtime.
    pub(super) fn listen() -> io::Result<Self> {
        let heard = [EndSignal::HangUp, EndSignal::Quit].into_iter().filter(|signal| !signal.is_ignored());
        let heard = heard.chain([EndSignal::Terminate]);
        heard.map(|end| Ok((end, signal(end.kind())?))).collect::<io::Result<_>>().map(Self)
    }

    /// The same, and the interrupt.
    pub(super) fn listen_to_all() -> io::Result<Self> {
        let Self(mut heard) = Self::listen()?;
        heard.push((EndSignal::Interrupt, signal(EndSignal::Interrupt.kind())?));
        Ok(Self(heard))
    }

    /// Waits for one.
    pub(super) async fn next(&mut self) -> EndSignal {
        poll_fn(|context| {
            for (end, signal) in &mut self.0 {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*end);
                }
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_when_the_system_says_so() {
        let status = "Name:\toam\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t4002\n";
        assert!(is_among(status, EndSignal::HangUp));
        assert!(!is_among(status, EndSignal::Quit) && !is_among(status, EndSignal::Terminate));
        assert!(!is_among("", EndSignal::HangUp));
    }
}
