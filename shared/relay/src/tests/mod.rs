//! The relay's promises on real databases: each generic test runs on PostgreSQL, MariaDB and SQLite,
//! in a database of its own. `postgres`, `mariadb` and `pgbouncer` stand in the paths of the tests
//! that need a server, so that they can be left out where none can run.

mod attempts;
mod claims;
mod clocks;
mod contention;
mod deadlocks;
mod engine;
mod faults;
mod lane;
mod loops;
mod operate;
mod plans;
mod pooler;
mod process;
mod recorder;
mod statements;
mod writes;

/// The generic tests of a module, on each engine.
macro_rules! on_each_engine {
    ($($name:ident),* $(,)?) => {
        $crate::tests::on_servers!($($name),*);

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(&$crate::tests::engine::Engine::sqlite().await).await;
                }
            )*
        }
    };
}

/// The same, on the engines that take more than one writer at a time.
macro_rules! on_servers {
    ($($name:ident),* $(,)?) => {
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let engine = $crate::tests::engine::Engine::postgres().await;
                    super::$name(&engine).await;
                    engine.close().await;
                }
            )*
        }

        mod mariadb {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let engine = $crate::tests::engine::Engine::mariadb().await;
                    super::$name(&engine).await;
                    engine.close().await;
                }
            )*
        }
    };
}

use {on_each_engine, on_servers};
