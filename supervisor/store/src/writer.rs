//! The one thread that writes: everything queued becomes one transaction, and a transaction that fails is tried again.

use std::{
    any::Any,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, Transaction, params};

use crate::{
    Failure, FailureKind,
    database::{Place, failure, reopen_writer},
    queue::{Action, Batch, Change, Queue},
};

/// Between attempts, while the disk cannot be written.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) fn spawn(
    queue: Arc<Queue>,
    connection: Connection,
    place: Place,
) -> std::io::Result<JoinHandle<()>> {
    let path = place.path.clone();
    let writer = Writer { queue: queue.clone(), connection: Some(connection), place };
    thread::Builder::new().name("oam-store".to_owned()).spawn(move || {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| writer.run())) {
            let message = format!("the writer panicked: {}", words_of(&*panic));
            let failure = Arc::new(Failure { kind: FailureKind::WriterDied, path, message });
            tracing::error!(%failure, "the store takes no changes until it is opened anew");
            queue.died(failure);
        }
    })
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why")
}

struct Writer {
    queue: Arc<Queue>,
    /// `None` after an error that may have left the connection in doubt.
    connection: Option<Connection>,
    place: Place,
}

impl Writer {
    fn run(mut self) {
        while let Some(batch) = self.queue.next_batch() {
            if self.write(&batch).is_break() {
                return;
            }
            self.queue.written(&batch);
            if batch.changes.iter().any(|change| matches!(change.action, Action::DeleteRealm { .. })) {
                self.give_space_back();
            }
        }
    }

    /// Tries until it works; breaks off when that failed and the store is being closed.
    fn write(&mut self, batch: &Batch) -> ControlFlow<()> {
        let mut pause = FIRST_PAUSE;
        let mut has_failed = false;
        loop {
            let is_last = !self.queue.is_running();
            let Err(failure) = self.attempt_in_place(batch) else { break };
            if !has_failed {
                tracing::error!(%failure, "nothing can be written to the store; it will be tried again");
            }
            has_failed = true;
            self.queue.failed(failure);
            if is_last {
                return ControlFlow::Break(());
            }
            self.queue.pause(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if has_failed {
            tracing::info!(path = %self.place.path.display(), "the store can be written again");
        }
        ControlFlow::Continue(())
    }

    /// What was committed into a file that had been moved away is not on disk for anybody who looks there.
    fn attempt_in_place(&mut self, batch: &Batch) -> Result<(), Arc<Failure>> {
        self.place.check()?;
        self.attempt(batch).map_err(|error| failure(&self.place.path, &error))?;
        self.place.check()
    }

    fn attempt(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(reopen_writer(&self.place.path)?),
        };
        let result = apply(connection, &batch.changes);
        if let Err(error) = &result
            && FailureKind::of(error) != FailureKind::DiskFull
        {
            // After a failed fsync nobody knows what the system holds; a fresh connection reads what is there.
            self.connection = None;
        }
        result
    }

    fn give_space_back(&self) {
        let Some(connection) = &self.connection else { return };
        let vacuum = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare("pragma incremental_vacuum")?;
            let mut pages = statement.query([])?;
            while pages.next()?.is_some() {}
            Ok(())
        };
        if let Err(error) = vacuum() {
            tracing::warn!(path = %self.place.path.display(), %error, "a deleted realm's space stays with the store");
        }
    }
}

/// Applying changes again that are there already changes nothing: a commit may fail and yet have reached the disk.
fn apply(connection: &mut Connection, changes: &[Change]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for change in changes {
        apply_one(&transaction, change)?;
    }
    transaction.commit()
}

fn apply_one(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| transaction.prepare_cached(sql)?.execute(params);
    match &change.action {
        Action::CreateRealm { number, name } => {
            run("insert or replace into realm values (?, ?)", params![number, name])?;
        }
        Action::DeleteRealm { number } => {
            run(
                "delete from entry where object in (select id from object where realm = ?)",
                params![number],
            )?;
            run("delete from object where realm = ?", params![number])?;
            run("delete from realm where id = ?", params![number])?;
        }
        Action::CreateObject { number, realm, name } => {
            run(
                "insert or replace into object values (?, ?, ?, ?)",
                params![number, realm, name.kind, name.id],
            )?;
        }
        Action::Append { object, body } => {
            run(
                "insert or replace into entry values (?, ?, false, ?)",
                params![object, place(change), body],
            )?;
        }
        Action::Rewrite { object, up_to, body } => {
            let up_to = up_to.0.cast_signed();
            run("delete from entry where object = ? and sequence <= ?", params![object, up_to])?;
            run("insert into entry values (?, ?, true, ?)", params![object, up_to, body])?;
        }
        Action::Remove { object } => {
            run("delete from entry where object = ?", params![object])?;
            run("delete from object where id = ?", params![object])?;
        }
    }
    Ok(())
}

fn place(change: &Change) -> i64 {
    change.sequence.0.cast_signed()
}
