//! `registry export`: one JSON Schema file a stream.

use std::path::PathBuf;

use anyhow::Context;
use eventlane_contracts::evolution::export;
use eventlane_contracts::{Lock, Registry};

use crate::hooks::say;

#[derive(clap::Args)]
pub(super) struct Options {
    /// The folder that gets `<stream>.schema.json` for every stream; made where missing
    #[arg(long)]
    dir: PathBuf,
}

pub(super) fn run(options: &Options, registry: &Registry) -> anyhow::Result<()> {
    let folder = &options.dir;
    std::fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
    for file in export(&Lock::of(registry)) {
        let path = folder.join(&file.file);
        std::fs::write(&path, file.text).with_context(|| format!("write {}", path.display()))?;
        say(&path.display().to_string())?;
    }
    Ok(())
}
