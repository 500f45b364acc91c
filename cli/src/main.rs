//! `eventlane`: the lane on one machine. `demo` shows it, `up` keeps it running, `token` and `send`
//! speak to it.
//!
//! Every failure is one line on stderr and exit code 1; a bad command line is clap's, with code 2.
//! What `registry check` finds has codes of its own.

mod age;
mod archive;
mod backend;
mod demo;
mod dlq;
mod drain;
mod folder;
mod hooks;
mod local_lane;
mod progress;
mod registry;
#[cfg(feature = "relay")]
mod relay;
mod send;
mod serve;
mod soak;
mod status;
mod token;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "eventlane", version, about = "An append-only event lane, on one machine or on AWS")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the whole lane once, on its own files, and account for every event
    Demo(demo::Options),
    /// Keep the lane running: ingest over HTTP, an embedded queue, a drain that archives
    Up(up::Options),
    /// Print a token that a lane started with `up` takes
    Token(token::Options),
    /// Append JSON lines to an outbox and flush it
    Send(send::Options),
    /// Lock, check, export and explain the streams
    Registry(registry::Options),
    /// What waits, what is at work and what is dead, per stream
    Status(status::Options),
    /// Dead letters: look at them, put them back, throw them away
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// The transactional outbox of a service's database: migrate, watch, replay, run
    #[cfg(feature = "relay")]
    #[command(subcommand)]
    Relay(relay::Command),
    /// The archive
    #[command(subcommand)]
    Archive(archive::Command),
    /// A lane of many streams that is killed at random (what `cargo xtask soak delivery` drives)
    #[command(hide = true, subcommand)]
    Soak(soak::Command),
    /// Drain a data folder's queues (what `demo` kills and starts again)
    #[command(hide = true)]
    Drain(drain::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // What keeps running warns; a command that ends says what went wrong in its one line.
    let level = match arguments.command {
        Command::Up(_) | Command::Drain(_) => tracing::Level::WARN,
        #[cfg(feature = "relay")]
        Command::Relay(relay::Command::Run(_)) => tracing::Level::WARN,
        _ => tracing::Level::ERROR,
    };
    eventlane_telemetry::init(eventlane_telemetry::Format::Text, level);
    let outcome = match arguments.command {
        Command::Demo(options) => demo::run(&options),
        Command::Up(options) => up::run(&options),
        Command::Token(options) => token::run(&options),
        Command::Send(options) => send::run(&options),
        Command::Status(options) => status::run(&options),
        Command::Dlq(command) => dlq::run(&command),
        Command::Archive(command) => archive::run(&command),
        Command::Soak(command) => soak::run(&command),
        Command::Registry(options) => registry::run(&options),
        #[cfg(feature = "relay")]
        Command::Relay(command) => relay::run(&command),
        Command::Drain(options) => drain::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line, whatever the causes hold.
            let line = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
            eprintln!("eventlane: {line}");
            error.downcast_ref::<registry::Found>().map_or(ExitCode::FAILURE, |found| found.exit_code.into())
        }
    }
}

/// The runtime of the commands that serve or drain.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
