//! The plan of the candidates: from the index that gives them in order, so that a backlog is never
//! sorted. Real plans of real tables, rows in the ten thousands.

use super::engine::{Engine, Pool};
use super::on_each_engine;
use crate::{Cell, Param, TABLE};

on_each_engine!(
    the_candidates_come_from_the_index_in_order_without_a_sort,
    a_claim_and_a_mark_go_by_the_primary_key,
    the_purge_reads_no_more_than_it_deletes,
);

const ROWS: usize = 20_000;

async fn backlog(engine: &Engine) -> Vec<String> {
    let ids = engine.fill(ROWS).await;
    // Some are done, some are leased, as on any day.
    for (tenth, set) in [("0", "status = 'delivered', delivered_at = created_at"), ("1", "status = 'dead'")] {
        engine.exec(&format!("UPDATE {TABLE} SET {set} WHERE payload LIKE '%{tenth}'")).await;
    }
    match &engine.pool {
        Pool::MariaDb(_) => drop(engine.rows(&format!("ANALYZE TABLE {TABLE}")).await),
        _ => drop(engine.exec(&format!("ANALYZE {TABLE}")).await),
    }
    ids
}

async fn plan(engine: &Engine, statement: &str, params: &[Param<'_>]) -> String {
    let explain = match &engine.pool {
        Pool::Sqlite(_) => "EXPLAIN QUERY PLAN",
        _ => "EXPLAIN",
    };
    let rows = engine.driver.fetch(&format!("{explain} {statement}"), params).await.unwrap();
    let line = |row: &Vec<Cell>| row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>().join(" ");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn the_candidates_come_from_the_index_in_order_without_a_sort(engine: &Engine) {
    backlog(engine).await;
    let statement = engine.driver.dialect().statements().candidates;
    let plan = plan(engine, statement, &[Param::Int(100)]).await;
    println!("{plan}");
    assert!(plan.contains("eventlane_relay_oldest"), "{plan}");
    for sort in ["Sort", "filesort", "TEMP B-TREE", "Seq Scan"] {
        assert!(!plan.contains(sort), "{plan}");
    }
}

async fn a_claim_and_a_mark_go_by_the_primary_key(engine: &Engine) {
    let ids = backlog(engine).await;
    let (words, dialect) = (engine.driver.dialect().statements(), engine.driver.dialect());
    let claim = dialect.with_ids(words.claim, 2, 100);
    let mut params = vec![Param::Text("token"), Param::Int(30_000)];
    params.extend(ids[..100].iter().map(|id| Param::Text(id)));
    let claimed = plan(engine, &claim, &params).await;
    let marked = plan(engine, words.delivered, &[Param::Text(&ids[0]), Param::Text("token")]).await;
    let key = match &engine.pool {
        Pool::Postgres(_) => "eventlane_relay_outbox_pkey",
        Pool::MariaDb(_) => "PRIMARY",
        Pool::Sqlite(_) => "sqlite_autoindex_eventlane_relay_outbox_1",
    };
    for plan in [claimed, marked] {
        assert!(plan.contains(key) && !plan.contains("Seq Scan"), "{plan}");
    }
}

async fn the_purge_reads_no_more_than_it_deletes(engine: &Engine) {
    backlog(engine).await;
    let purge = engine.driver.dialect().statements().purgeable;
    let plan = plan(engine, purge, &[Param::Int(60), Param::Int(1000)]).await;
    assert!(plan.contains("eventlane_relay_delivered"), "{plan}");
    assert!(!plan.contains("Sort") && !plan.contains("filesort") && !plan.contains("TEMP B-TREE"), "{plan}");
}
