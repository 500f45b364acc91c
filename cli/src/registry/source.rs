//! Where a lock is read from: a file, or a commit of git.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use eventlane_contracts::Lock;

/// The lock in a file; nothing when there is no such file.
pub(super) fn file(path: &Path) -> anyhow::Result<Option<Lock>> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

/// The lock that `--against` names: a file, or `git:REF` for this lock file as of that commit.
pub(super) fn against(source: &str, lock: &Path) -> anyhow::Result<Lock> {
    match source.strip_prefix("git:") {
        Some(reference) => git(reference, lock),
        None => file(Path::new(source))?.with_context(|| format!("--against: there is no file {source}")),
    }
}

fn parse(text: &str, name: &str) -> anyhow::Result<Lock> {
    Lock::parse(text).map_err(|error| anyhow::anyhow!("{name} {error}"))
}

fn git(reference: &str, lock: &Path) -> anyhow::Result<Lock> {
    // A leading dash would be an option of git's.
    if reference.is_empty() || reference.starts_with('-') {
        bail!("--against git:{reference} names no commit; say git:main or git:HEAD~1");
    }
    let folder = lock.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = lock.file_name().and_then(|name| name.to_str()).context("--lock names no file")?;
    // `./` makes git look beside the lock file, wherever in the repository that is.
    let object = format!("{reference}:./{name}");
    let shown = Command::new("git")
        .args(["show", &object])
        .current_dir(folder)
        .output()
        .with_context(|| format!("run `git show {object}` in {}", folder.display()))?;
    if !shown.status.success() {
        let error = String::from_utf8_lossy(&shown.stderr);
        bail!("`git show {object}` in {} failed: {}", folder.display(), error.trim());
    }
    let text = String::from_utf8(shown.stdout).with_context(|| format!("{object} is no UTF-8"))?;
    parse(&text, &object)
}
