//! Measurements. Every figure is a ratio within one run: the part under measure and the limit it
//! approaches, round by round in turn, so that a noisy machine is noisy for both.
#![expect(clippy::expect_used, reason = "a measurement that can't go on has to stop")]
#![expect(clippy::print_stdout, reason = "stdout is where a measurement reports")]

mod append;
mod assembly;
mod concurrent;
#[cfg(feature = "aws")]
mod cost;
mod document;
mod drain;
#[cfg(feature = "aws")]
mod drain_sqs;
mod flush;
mod growth;
mod ingest;
mod measure;
mod memory;
mod plot;
mod relay;
mod report;
#[cfg(feature = "aws")]
mod start;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use report::Figure;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
    /// Print an array of {name, value, unit, ratio, reach, spread}
    #[arg(long)]
    json: bool,
    /// Measure these only, by name
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Fail when a reach is not held
    #[arg(long)]
    check: bool,
    /// Write the figures into this document, and how they grow as charts beside it
    #[arg(long, value_name = "performance.md")]
    write: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Task {
    /// Run a hot path so many times and nothing else, for counting its instructions
    Repeat { name: String, times: usize },
    /// Draw the charts alone into a folder
    Draw { folder: PathBuf },
}

type Measure = fn() -> anyhow::Result<Vec<Figure>>;

/// Every measurement, by the name it reports under. Memory comes first, before others have left theirs.
const ALL: &[(&str, Measure)] = &[
    ("ingest_memory", || one(memory::ingest)),
    ("ingest_concurrent", || one(concurrent::memory)),
    ("ingest_typed", || one(ingest::typed)),
    ("ingest_schema", || one(ingest::schema)),
    ("ingest_single", || one(ingest::single)),
    ("append_full", || one(append::full)),
    ("append_normal", || one(append::normal)),
    ("append_group", || one(append::group)),
    ("assembly_backlog", || one(assembly::backlog)),
    ("flush", || one(flush::flush)),
    ("drain_embedded", || one(drain::embedded)),
    #[cfg(feature = "aws")]
    ("drain_sqs", || one(drain_sqs::drain)),
    ("relay_postgres", || one(relay::postgres)),
    #[cfg(feature = "aws")]
    ("cold_start", || one(start::cold_start)),
    #[cfg(feature = "aws")]
    ("bundle_size", || one(start::bundle_size)),
    #[cfg(feature = "aws")]
    ("cost", cost::cost),
];

fn one(measure: fn() -> anyhow::Result<Figure>) -> anyhow::Result<Vec<Figure>> {
    Ok(vec![measure()?])
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.task {
        Some(Task::Repeat { name, times }) => return repeat(&name, times),
        Some(Task::Draw { folder }) => return growth::draw(&folder),
        None => {}
    }
    for name in &arguments.only {
        let known = || ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(
            ALL.iter().any(|(known, _)| *known == name.as_str()),
            "no measurement {name}; known are {}",
            known()
        );
    }
    let mut figures = Vec::new();
    for &(name, measure) in ALL {
        if arguments.only.is_empty() || arguments.only.iter().any(|only| only == name) {
            for figure in measure()? {
                if !arguments.json {
                    println!("{figure}\n{:18}{}", "", figure.note);
                }
                figures.push(figure);
            }
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string(&figures)?);
    } else {
        println!("\n{}", report::machine());
    }
    if let Some(path) = &arguments.write {
        document::write(path, &figures)?;
        growth::draw(&path.with_extension(""))?;
    }
    let out: Vec<&str> =
        figures.iter().filter(|figure| figure.is_held() == Some(false)).map(|figure| figure.name).collect();
    anyhow::ensure!(!arguments.check || out.is_empty(), "not held: {}", out.join(", "));
    Ok(())
}

fn repeat(name: &str, times: usize) -> anyhow::Result<()> {
    match name {
        "append" => append::repeat(times),
        "ingest_typed" | "ingest_schema" | "ingest_single" => ingest::repeat(name, times),
        _ => {
            anyhow::bail!("no hot path {name}; known are append, ingest_typed, ingest_schema, ingest_single")
        }
    }
}
