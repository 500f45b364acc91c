//! `archive erase`: one identity's events, out of the archive.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::Subcommand;
use eventlane_consumer::{EraseIdentity, SqliteArchive};
use eventlane_contracts::SystemClock;
use serde_json::json;

use crate::hooks::say;
use crate::{backend, folder};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Erase the events of one identity; a dry run without --yes
    Erase(Options),
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The lane's data folder
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// A DynamoDB table, instead of a data folder
    #[cfg(feature = "aws")]
    #[arg(long, conflicts_with = "data")]
    table: Option<String>,
    /// A field of the identity and its value; given again, all must match
    #[arg(long, value_name = "FIELD=VALUE", value_parser = pair, required = true)]
    identity: Vec<(String, String)>,
    /// In this stream only; may be given again
    #[arg(long)]
    stream: Vec<String>,
    /// Do it; without this it is only counted
    #[arg(long)]
    yes: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    let Command::Erase(options) = command;
    crate::runtime()?.block_on(erase(options))
}

async fn erase(options: &Options) -> anyhow::Result<()> {
    let streams = backend::chosen(&eventlane_lane::registry()?, &options.stream)?;
    let identity: BTreeMap<String, String> = options.identity.iter().cloned().collect();
    let erased = open(options).await?.erase(&streams, &identity, options.yes).await?;
    say(&if options.json {
        json!({"dry_run": !options.yes, "found": erased.found, "erased": erased.erased}).to_string()
    } else if options.yes {
        format!("erased {} events", erased.erased)
    } else {
        format!("would erase {} events; --yes does it", erased.found)
    })?;
    Ok(())
}

async fn open(options: &Options) -> anyhow::Result<Box<dyn EraseIdentity>> {
    #[cfg(feature = "aws")]
    if let Some(table) = &options.table {
        let config = eventlane_aws::sdk_config(eventlane_aws::Timeouts::default()).await;
        return Ok(Box::new(eventlane_aws::DynamoArchive::new(&config, table, Arc::new(SystemClock))));
    }
    let path = options.data.join("archive.db");
    if !path.exists() {
        bail!("{} holds no archive", options.data.display());
    }
    Ok(Box::new(SqliteArchive::open(&path, Arc::new(SystemClock))?))
}

/// The value itself is never quoted: it is someone's.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, value)) if !field.is_empty() && !value.is_empty() => Ok((field.into(), value.into())),
        _ => Err("an identity is FIELD=VALUE, neither of them empty".to_owned()),
    }
}
