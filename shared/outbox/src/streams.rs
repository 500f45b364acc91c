//! The distinct streams of some rows, by a loose scan: one step into an index for each stream, however
//! many rows it has.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql};

/// A stream's name as it is stored. Another writer may have stored none at all (`''`), or bytes: such
/// rows have their turn like any other, and are parked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key(Value);

impl Key {
    /// Its name; empty where it is no text.
    pub(crate) fn name(&self) -> &str {
        match &self.0 {
            Value::Text(name) => name,
            _ => "",
        }
    }

    /// The key of a stream by its name.
    pub(crate) fn of(name: &str) -> Self {
        Self(Value::Text(name.to_owned()))
    }

    /// The first in SQLite's order.
    fn first() -> Self {
        Self::of("")
    }

    /// The very next in SQLite's order: nothing sorts between a text, or bytes, and the same with a
    /// zero behind.
    fn next(self) -> Self {
        Self(match self.0 {
            Value::Text(name) => Value::Text(name + "\0"),
            Value::Blob(mut bytes) => {
                bytes.push(0);
                Value::Blob(bytes)
            }
            other => other,
        })
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

/// The streams that `sql` finds: a statement of an account and the first stream to look at, with at
/// most one row, the stream.
pub(crate) fn streams(
    connection: &Connection,
    sql: &'static str,
    account: Option<&str>,
) -> rusqlite::Result<Vec<Key>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut streams = Vec::new();
    let mut from = Key::first();
    loop {
        let found = statement.query_row((account, &from), |row| Ok(key(row.get_ref(0)?))).optional()?;
        // The column's affinity leaves nothing else in it.
        let Some(Some(stream)) = found else { return Ok(streams) };
        streams.push(stream.clone());
        from = stream.next();
    }
}

fn key(value: ValueRef<'_>) -> Option<Key> {
    match value {
        // Text that is no UTF-8 would not find itself again as text.
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).ok().map(|name| Key(Value::Text(name))),
        ValueRef::Blob(bytes) => Some(Key(Value::Blob(bytes.to_vec()))),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_is_found_once_whatever_was_stored_as_its_name() {
        let sql = Connection::open_in_memory().unwrap();
        sql.execute_batch(
            "CREATE TABLE eventlane_outbox (account TEXT, stream TEXT); \
             INSERT INTO eventlane_outbox VALUES (NULL, ''), (NULL, 'a'), (NULL, 'a'), (NULL, 'aa'), \
                 (NULL, 7), (NULL, x''), (NULL, x'00'), (NULL, x'00'), (NULL, x'0000'), ('other', 'b');",
        )
        .unwrap();
        let found = streams(
            &sql,
            "SELECT stream FROM eventlane_outbox WHERE account IS ?1 AND stream >= ?2 ORDER BY stream LIMIT 1",
            None,
        );
        let text = |name: &str| Key(Value::Text(name.to_owned()));
        let blob = |bytes: &[u8]| Key(Value::Blob(bytes.to_vec()));
        let wanted = vec![text(""), text("7"), text("a"), text("aa"), blob(b""), blob(b"\0"), blob(b"\0\0")];
        assert_eq!(found.unwrap(), wanted);
    }
}
