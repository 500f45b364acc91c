//! What each dialect says, held to the byte: three of them no server here can run.

use std::fmt::Write;
use std::path::Path;

use eventlane_testkit::golden;

use crate::{Dialect, Statements};

fn script(dialect: Dialect) -> String {
    let words: &Statements = dialect.statements();
    let mut text = String::new();
    let mut say = |name: &str, statement: &str| {
        writeln!(text, "-- {name}\n{statement};\n").unwrap();
    };
    for statement in words.up {
        say("up", statement);
    }
    for statement in words.down {
        say("down", statement);
    }
    let three = |statement: &str, before| dialect.with_ids(statement, before, 3);
    say("insert", words.insert);
    if let Some(statement) = words.insert_and_wake {
        say("insert_and_wake", statement);
    }
    say("candidates", words.candidates);
    say("claim (of three)", &three(words.claim, 2));
    say("read_back (of three)", &three(words.read_back, 1));
    say("begin", words.begin);
    say("renew (of three)", &three(words.renew, 2));
    say("release (of three)", &three(words.release, 2));
    say("delivered", words.delivered);
    say("failed", words.failed);
    say("dead", words.dead);
    say("purgeable", words.purgeable);
    say("purge (of three)", &three(words.purge, 0));
    say("pending", words.pending);
    say("dead_count", words.dead_count);
    say("dead_list", words.dead_list);
    say("dead_one", words.dead_one);
    say("replay", words.replay);
    if let Some(statement) = words.encoding {
        say("encoding", statement);
    }
    text
}

#[test]
fn every_dialect_says_what_its_golden_file_holds() {
    for dialect in Dialect::ALL {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden").join(format!("{dialect}.sql"));
        golden(path, &script(dialect));
    }
}

/// Every mark is guarded by the token, every deletion by the status (R01, R02).
#[test]
fn every_dialect_guards_its_marks() {
    for dialect in Dialect::ALL {
        let words = dialect.statements();
        for mark in [words.begin, words.renew, words.release, words.delivered, words.failed, words.dead] {
            let (_, condition) = mark.split_once("WHERE").unwrap();
            assert!(
                condition.contains("lease_owner = ") && condition.contains("'pending'"),
                "{dialect}: {mark}"
            );
            assert!(!condition.contains("NULL") && !condition.contains(" OR "), "{dialect}: {mark}");
        }
        for statement in [words.purgeable, words.purge] {
            assert!(statement.contains("'delivered'") && !statement.contains("created_at"), "{dialect}");
        }
        let (_, replay) = words.replay.split_once("WHERE").unwrap();
        assert!(replay.contains("'dead'") && words.replay.contains("attempts = 0"), "{dialect}");
        assert!(words.claim.contains("lease_until <="), "{dialect}");
    }
}

#[test]
fn placeholders_are_written_out_behind_the_others() {
    let written = |dialect: Dialect| dialect.with_ids("a IN ({ids})", 2, 3);
    assert_eq!(written(Dialect::Postgres), "a IN ($3, $4, $5)");
    assert_eq!(written(Dialect::SqlServer), "a IN (@P3, @P4, @P5)");
    assert_eq!(written(Dialect::MySql), "a IN (?, ?, ?)");
    for dialect in Dialect::ALL {
        assert_eq!(dialect.name().parse(), Ok(dialect));
    }
    assert_eq!("mariadb".parse(), Ok(Dialect::MySql));
    assert!("oracle".parse::<Dialect>().is_err());
}
