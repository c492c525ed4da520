//! The form of the database, and how an older form becomes this one.
//!
//! A form that was ever released is never edited: what changes is a step at the end of [`STEPS`]. A step and the new
//! version number are one transaction, so a store is in the one form or the other.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{StoreError, database::failure};

/// `PRAGMA application_id`, which tells a store from any other database: "oamr".
pub(crate) const APPLICATION: i32 = 0x6f61_6d72;

/// Step `n` makes version `n + 1` of version `n`; version 0 is an empty file.
pub(crate) const STEPS: &[&str] = &[VERSION_1];

/// Entries lie together by object, so that an object is read from neighbouring pages and a rewrite gives whole pages back.
const VERSION_1: &str = "
    create table realm (
        id integer primary key,
        name text not null unique
    ) strict;
    create table object (
        id integer primary key,
        realm integer not null,
        kind text not null,
        name text not null,
        unique (realm, kind, name)
    ) strict;
    create table entry (
        object integer not null,
        sequence integer not null,
        snapshot integer not null,
        body blob not null,
        primary key (object, sequence)
    ) strict, without rowid;
";

/// Brings the database to the last of `steps`, or refuses what is not ours or too new, without having touched it.
pub(crate) fn bring_up(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let fail = |error| StoreError::Failed(failure(path, &error));
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(fail)?;
    let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    if found == known {
        return Ok(());
    }
    for step in &steps[found as usize..] {
        transaction.execute_batch(step).map_err(fail)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(fail)?;
    transaction.pragma_update(None, "user_version", known).map_err(fail)?;
    transaction.commit().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> u32 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn each_missing_step_is_taken_once_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        let first = "create table log (line text); insert into log values ('first')";
        let second = "insert into log values ('second')";
        let third = "insert into log values ('third')";
        bring_up(&mut connection, Path::new("db"), &[first]).unwrap();
        bring_up(&mut connection, Path::new("db"), &[first, second, third]).unwrap();
        bring_up(&mut connection, Path::new("db"), &[first, second, third]).unwrap();
        let log: String = connection
            .query_row(
                "select group_concat(line, ' ') from (select line from log order by rowid)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!((log.as_str(), version(&connection)), ("first second third", 3));
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_that_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        bring_up(&mut connection, Path::new("db"), &["create table a (x)"]).unwrap();
        let broken = ["create table a (x)", "create table b (x); nonsense"];
        assert!(matches!(bring_up(&mut connection, Path::new("db"), &broken), Err(StoreError::Failed(_))));
        let tables: u32 =
            connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!((tables, version(&connection)), (1, 1));
    }
}
