//! Measurements. Every figure is a ratio within one run: the part under measure and the limit it
//! approaches, round by round in turn, so that a noisy machine is noisy for both.
#![expect(clippy::expect_used, reason = "a measurement that can't go on has to stop")]
#![expect(clippy::print_stdout, reason = "stdout is where a measurement reports")]

mod append;
mod concurrent;
mod drain;
mod flush;
mod ingest;
mod measure;
mod memory;
mod report;

use clap::Parser;
use report::Figure;

#[derive(Parser)]
struct Arguments {
    /// Print an array of {name, value, unit, ratio, reach, spread}
    #[arg(long)]
    json: bool,
    /// Measure these only, by name
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

type Measure = fn() -> anyhow::Result<Figure>;

/// Every measurement, by the name it reports under.
const ALL: [(&str, Measure); 10] = [
    ("ingest_typed", ingest::typed),
    ("ingest_schema", ingest::schema),
    ("ingest_single", ingest::single),
    ("append_full", append::full),
    ("append_normal", append::normal),
    ("append_group", append::group),
    ("flush", flush::flush),
    ("drain_embedded", drain::embedded),
    ("ingest_memory", memory::ingest),
    ("ingest_concurrent", concurrent::memory),
];

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    for name in &arguments.only {
        let known = || ALL.map(|(name, _)| name).join(", ");
        anyhow::ensure!(
            ALL.iter().any(|(known, _)| known == name),
            "no measurement {name}; known are {}",
            known()
        );
    }
    let mut figures = Vec::new();
    for (name, measure) in ALL {
        if arguments.only.is_empty() || arguments.only.iter().any(|only| only == name) {
            let figure = measure()?;
            if !arguments.json {
                println!("{figure}");
            }
            figures.push(figure);
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string(&figures)?);
    } else {
        println!("\n{}", report::machine());
    }
    Ok(())
}
