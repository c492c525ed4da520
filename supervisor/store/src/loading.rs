//! Reading a realm: every object's snapshot, then its records, in the order in which they were made.

use rusqlite::{Connection, params, types::Type};

use crate::{
    ObjectName, Sequence, StoreError,
    object::{Object, Objects},
};

/// A piece of an object, as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// All there was up to some record. Comes first, if there is one.
    Snapshot(&'a [u8]),
    /// One change after that.
    Record(&'a [u8]),
}

/// Objects come in the order of their creation; one row at a time is in memory.
const ENTRIES: &str = "
    select object.id, object.kind, object.name, entry.sequence, entry.snapshot, entry.body
    from object join entry on entry.object = object.id
    where object.realm = ? order by object.id, entry.sequence";

/// Shows `visit` every entry of the realm, and returns what is to be known of its objects.
pub(crate) fn read<E: From<StoreError>>(
    connection: &Connection,
    fail: impl Fn(rusqlite::Error) -> StoreError,
    realm: i64,
    mut visit: impl FnMut(&ObjectName, Entry<'_>) -> Result<(), E>,
) -> Result<Objects, E> {
    let mut statement = connection.prepare(ENTRIES).map_err(&fail)?;
    let mut rows = statement.query(params![realm]).map_err(&fail)?;
    let mut objects = Objects::default();
    let mut current: Option<(ObjectName, Object)> = None;
    while let Some(row) = rows.next().map_err(&fail)? {
        let row = Row::read(row).map_err(&fail)?;
        let (name, object) = match current.take() {
            Some(same) if same.1.number == row.object => same,
            other => {
                objects.by_name.extend(other);
                (ObjectName::new(row.kind, row.name), Object::new(row.object, row.sequence))
            }
        };
        let object = row.note(object);
        objects.last = objects.last.max(row.sequence);
        visit(&name, row.entry())?;
        current = Some((name, object));
    }
    objects.by_name.extend(current);
    Ok(objects)
}

struct Row<'a> {
    object: i64,
    kind: &'a str,
    name: &'a str,
    sequence: Sequence,
    is_snapshot: bool,
    body: &'a [u8],
}

impl<'a> Row<'a> {
    fn read(row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let text = |index, name: &str| {
            let wrong = |_| rusqlite::Error::InvalidColumnType(index, name.to_owned(), Type::Text);
            row.get_ref(index)?.as_str().map_err(wrong)
        };
        let body = row.get_ref(5)?;
        Ok(Self {
            object: row.get(0)?,
            kind: text(1, "kind")?,
            name: text(2, "name")?,
            sequence: Sequence(row.get::<_, i64>(3)?.cast_unsigned()),
            is_snapshot: row.get(4)?,
            body: body
                .as_blob()
                .map_err(|_| rusqlite::Error::InvalidColumnType(5, "body".to_owned(), body.data_type()))?,
        })
    }

    fn note(&self, mut object: Object) -> Object {
        let bytes = self.body.len() as u64;
        if self.is_snapshot {
            object.has_snapshot(self.sequence, bytes);
        } else {
            object.has_record(self.sequence, bytes);
        }
        object
    }

    fn entry(&self) -> Entry<'a> {
        if self.is_snapshot { Entry::Snapshot(self.body) } else { Entry::Record(self.body) }
    }
}
