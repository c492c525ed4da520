//! Ending a process that is told to end and does not hear it.
//!
//! A command writes what it says at once, and whoever reads a pipe may take his time, or for ever. Until then the command
//! hears nothing. A thread of its own hears signals, too, and asks the command for attention: without an answer it ends
//! tools and process itself.

use std::{convert::Infallible, future::pending, io, process, thread, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use super::ending::EndSignals;
use crate::tools;

/// How long a command may take to hear a signal.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long tools may take to end, their own grace included.
const TOOLS_GRACE: Duration = Duration::from_secs(3);

type Answer = oneshot::Sender<()>;

/// The command's side: whether it hears.
#[derive(Debug)]
pub(super) struct Attention {
    questions: mpsc::UnboundedReceiver<Answer>,
}

impl Attention {
    /// Begins to watch, until the end of the process.
    pub(super) fn watch() -> io::Result<Self> {
        let (ask, questions) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _context = runtime.enter();
            EndSignals::listen_to_all()?
        };
        let watching = move || runtime.block_on(end_unheard(signals, ask));
        thread::Builder::new().name("signals".to_owned()).spawn(watching)?;
        Ok(Self { questions })
    }

    /// Says that the command hears, as long as this is awaited.
    pub(super) async fn pay(&mut self) -> Infallible {
        while let Some(answer) = self.questions.recv().await {
            // Too late, if nobody waits for it.
            let _ = answer.send(());
        }
        pending().await
    }
}

async fn end_unheard(mut signals: EndSignals, ask: mpsc::UnboundedSender<Answer>) -> Infallible {
    loop {
        let signal = signals.next().await;
        let (answer, answered) = oneshot::channel();
        let is_over = ask.send(answer).is_err();
        if is_over {
            // The command says its last words.
            sleep(PATIENCE).await;
        } else if matches!(timeout(PATIENCE, answered).await, Ok(Ok(()))) {
            continue;
        }
        // Those that are left after that would be left by a kill, too.
        let _ = timeout(TOOLS_GRACE, tools::end_all()).await;
        process::exit(signal.exit_code().into());
    }
}
