//! Dialects: the statements of the relay, one file a dialect.
//!
//! The text of each is fixed. Parameters are numbered or asked for as each dialect does it, and come
//! in the order that [`Statements`] tells. `{ids}` is the one place that is written out when a
//! statement is sent: one placeholder an id, always the last parameters ([`Dialect::with_ids`]).
//!
//! Every time comes from the database's own clock, in a form that no session's time zone changes.
//! Durations are whole milliseconds, retentions whole seconds.

mod cockroach;
mod mysql;
mod postgres;
mod singlestore;
mod sqlite;
mod sqlserver;

use std::fmt;
use std::str::FromStr;

/// The table, the same in every dialect.
pub const TABLE: &str = "eventlane_relay_outbox";

/// The channel that a writer on PostgreSQL notifies.
pub const WAKE_CHANNEL: &str = "eventlane_relay";

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL 12 or newer. Run in the tests.
    Postgres,
    /// CockroachDB. Emitted only.
    Cockroach,
    /// MySQL 8.0.13 or newer, MariaDB 10.3 or newer. MariaDB is run in the tests.
    MySql,
    /// SingleStore. Emitted only.
    SingleStore,
    /// SQLite 3.24 or newer. Run in the tests.
    Sqlite,
    /// SQL Server 2016 or newer. Emitted only.
    SqlServer,
}

/// What a dialect says, each with its parameters in order.
#[derive(Debug)]
pub struct Statements {
    /// Makes the table and its indexes; made already is fine.
    pub up: &'static [&'static str],
    /// Drops the table and all that is in it.
    pub down: &'static [&'static str],
    /// The writer's: id, topic, payload.
    pub insert: &'static str,
    /// The same, and wakes the dispatchers when it commits; where the engine can.
    pub insert_and_wake: Option<&'static str>,
    /// First of the claim: limit → id. Oldest first.
    pub candidates: &'static str,
    /// Second: token, lease in ms, ids. Takes what nobody holds.
    pub claim: &'static str,
    /// Third: token, ids → id, topic, payload, attempts, `created_at` in µs. What was won.
    pub read_back: &'static str,
    /// Right before a row's publish: lease in ms, id, token. Counts the attempt and renews the lease.
    pub begin: &'static str,
    /// Renews what a batch has not come to yet: lease in ms, token, ids.
    pub renew: &'static str,
    /// Gives back rows: delay in ms, token, ids.
    pub release: &'static str,
    /// Marks a row published: id, token.
    pub delivered: &'static str,
    /// Marks a row failed: error, attempts to give back, delay in ms, id, token.
    pub failed: &'static str,
    /// Marks a row dead: error, id, token.
    pub dead: &'static str,
    /// Delivered rows past their retention: retention in s, limit → id. A read apart from the deletion,
    /// so that it waits for nobody's open transaction.
    pub purgeable: &'static str,
    /// Deletes delivered rows: ids.
    pub purge: &'static str,
    /// → pending rows, age of the oldest in ms (NULL without any).
    pub pending: &'static str,
    /// → dead rows.
    pub dead_count: &'static str,
    /// Dead rows: topic ('' for all) twice, limit → id, topic, attempts, `created_at` in µs, error,
    /// the payload's characters.
    pub dead_list: &'static str,
    /// One dead row: id → as `dead_list`.
    pub dead_one: &'static str,
    /// Makes a dead row pending, as if it had never been tried: id.
    pub replay: &'static str,
    /// → the name of the database's encoding, where a wrong one would refuse a text in the middle of
    /// a caller's transaction.
    pub encoding: Option<&'static str>,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Postgres, Self::Cockroach, Self::MySql, Self::SingleStore, Self::Sqlite, Self::SqlServer];

    /// Its statements.
    #[must_use]
    pub fn statements(self) -> &'static Statements {
        match self {
            Self::Postgres => &postgres::STATEMENTS,
            Self::Cockroach => &cockroach::STATEMENTS,
            Self::MySql => &mysql::STATEMENTS,
            Self::SingleStore => &singlestore::STATEMENTS,
            Self::Sqlite => &sqlite::STATEMENTS,
            Self::SqlServer => &sqlserver::STATEMENTS,
        }
    }

    /// Its name, as the command line takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Cockroach => "cockroach",
            Self::MySql => "mysql",
            Self::SingleStore => "singlestore",
            Self::Sqlite => "sqlite",
            Self::SqlServer => "sqlserver",
        }
    }

    /// The statement with `{ids}` written out as `count` placeholders behind `before` others.
    ///
    /// Nothing but placeholders is put in: the ids themselves stay parameters.
    #[must_use]
    pub fn with_ids(self, statement: &str, before: usize, count: usize) -> String {
        let places: Vec<String> = (before + 1..=before + count).map(|nth| self.place(nth)).collect();
        statement.replace("{ids}", &places.join(", "))
    }

    fn place(self, nth: usize) -> String {
        match self {
            Self::Postgres | Self::Cockroach => format!("${nth}"),
            Self::SqlServer => format!("@P{nth}"),
            Self::MySql | Self::SingleStore | Self::Sqlite => "?".to_owned(),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no dialect has this name; there are postgres, cockroach, mysql (MariaDB too), singlestore, sqlite, sqlserver"
)]
pub struct UnknownDialect;

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let name = if name == "mariadb" { "mysql" } else { name };
        Self::ALL.into_iter().find(|dialect| dialect.name() == name).ok_or(UnknownDialect)
    }
}
