//! `registry lock`: writes the lock file, but nothing that breaks unless it is accepted.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use eventlane_contracts::evolution::{Diff, Grade, Outcome};
use eventlane_contracts::{Lock, Registry};

use super::{Found, LockFile, source};
use crate::hooks::say;

#[derive(clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    lock: LockFile,
    /// Write the lock although something breaks: no client out there still sends what is refused
    #[arg(long)]
    accept_breaking: bool,
}

pub(super) fn run(options: &Options, registry: &Registry) -> anyhow::Result<()> {
    let path = &options.lock.path;
    let code = Lock::of(registry);
    let shown = path.display();
    let Some(lock) = source::file(path)? else {
        write(path, &code.to_text())?;
        say(&format!("{shown} is new, with {} streams", code.streams.len()))?;
        return Ok(());
    };
    let diff = Diff::between(&lock, &code);
    if diff.is_empty() {
        // The same content may stand in another layout.
        write(path, &code.to_text())?;
        say(&format!("{shown} is up to date"))?;
        return Ok(());
    }
    say(diff.to_text().trim_end())?;
    if diff.grade() == Grade::Breaking && !options.accept_breaking {
        let code = Outcome::Breaking.exit_code();
        let line = format!(
            "{shown} is left as it is, since something breaks; give the changed stream a new name, or \
             say --accept-breaking when no client sends what is refused"
        );
        return Err(Found::error(code, line));
    }
    write(path, &code.to_text())?;
    say(&format!("{shown} is written; deploy order: ingest first, clients second"))?;
    Ok(())
}

/// Whole or not at all: a reader never meets half a lock.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let doing = || format!("write {}", path.display());
    let mut file =
        tempfile::Builder::new().permissions(readable()).tempfile_in(folder).with_context(doing)?;
    file.write_all(text.as_bytes()).with_context(doing)?;
    file.persist(path).with_context(doing)?;
    Ok(())
}

/// A lock is committed: readable as any source file, not private as temporary files are.
#[cfg(unix)]
fn readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o644)
}
