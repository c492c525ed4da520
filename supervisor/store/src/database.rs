//! Connections to the database: how it is opened, and what `SQLite` is asked for.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{Failure, FailureKind, FileIdentity, StoreError, schema};

/// How long to wait for another process that looks at the database (a backup, a person).
const BUSY: Duration = Duration::from_secs(5);

/// Makes the folder, for its owner alone, so that it survives a power cut.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { path: folder.to_owned(), source };
    let missing = folder.ancestors().take_while(|folder| !folder.exists()).count();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    let folder = folder.canonicalize().map_err(io)?;
    for above in folder.ancestors().skip(1).take(missing) {
        sync_folder(above)?;
    }
    Ok(())
}

pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("realms.db")
}

/// The file that a database was opened from.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    identity: FileIdentity,
}

impl Place {
    /// Where a database has just been opened.
    pub(crate) fn of(path: PathBuf) -> Result<Self, StoreError> {
        match FileIdentity::at(&path) {
            Ok(identity) => Ok(Self { path, identity }),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Fails when the path does not lead to that file any more. `SQLite` goes on with the file that it has open.
    pub(crate) fn check(&self) -> Result<(), Arc<Failure>> {
        if self.identity.is_at(&self.path) {
            return Ok(());
        }
        Err(Arc::new(Failure {
            kind: FailureKind::Displaced,
            path: self.path.clone(),
            message: "it was removed or replaced while it was open".to_owned(),
        }))
    }
}

/// Opens the database or makes it, in the form that is known here.
pub(crate) fn open(folder: &Path) -> Result<Connection, StoreError> {
    let path = file(folder);
    make_file(&path)?;
    let fail = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path: path.clone() },
        _ => StoreError::Failed(failure(&path, &error)),
    };
    let mut connection = Connection::open(&path).map_err(fail)?;
    match owner(&connection).map_err(fail)? {
        Owner::We => {}
        // Can be said only before there is a table.
        Owner::Nobody => connection.pragma_update(None, "auto_vacuum", "incremental").map_err(fail)?,
        Owner::Another => return Err(StoreError::Foreign { path }),
    }
    schema::bring_up(&mut connection, &path, schema::STEPS)?;
    prepare_writer(&connection).map_err(fail)?;
    sync_folder(folder)?;
    Ok(connection)
}

/// For its owner alone; `SQLite` makes the files beside it alike. An empty file is a new database.
fn make_file(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(source) if source.kind() != ErrorKind::AlreadyExists => {
            Err(StoreError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Opens a database that [`open`] has opened before, after trouble with the disk.
pub(crate) fn reopen_writer(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    prepare_writer(&connection)?;
    Ok(connection)
}

/// A second connection, which sees the last transaction that is durable and does not keep the writer waiting.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let fail = |error| StoreError::Failed(failure(path, &error));
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(fail)?;
    connection.busy_timeout(BUSY).map_err(fail)?;
    connection.pragma_update(None, "query_only", true).map_err(fail)?;
    Ok(connection)
}

pub(crate) fn failure(path: &Path, error: &rusqlite::Error) -> Arc<Failure> {
    Arc::new(Failure { kind: FailureKind::of(error), path: path.to_owned(), message: error.to_string() })
}

enum Owner {
    We,
    Nobody,
    Another,
}

fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: u32 = connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, tables) {
        (schema::APPLICATION, _) => Owner::We,
        (0, 0) => Owner::Nobody,
        _ => Owner::Another,
    })
}

fn prepare_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    // On a Mac a plain fsync leaves the bytes in the disk's cache.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)
}

fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| StoreError::Io { path: folder.to_owned(), source })
}
