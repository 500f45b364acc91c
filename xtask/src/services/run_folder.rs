//! The folder the services of one run write to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;

use super::group::is_alive;
use crate::project::Project;

/// A run's folder, removed at its end.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    logs: PathBuf,
}

impl RunFolder {
    /// A new folder named by this process, so that runs beside each other don't meet.
    pub(crate) fn temporary(project: &Project) -> anyhow::Result<Self> {
        let runs = project.local().join("runs");
        fs::create_dir_all(&runs).with_context(|| format!("create {}", runs.display()))?;
        sweep(&runs);
        let path = runs.join(process::id().to_string());
        fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self { path, logs: project.local().join("logs") })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the services' logs to where they outlive the run, and says where that is.
    pub(crate) fn keep_logs(&self) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(&self.logs)?;
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if let (Some("log"), Some(name)) =
                (path.extension().and_then(|end| end.to_str()), path.file_name())
            {
                fs::copy(&path, self.logs.join(name))?;
            }
        }
        Ok(self.logs.clone())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What can't be removed now, the next run sweeps.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of runs that were killed.
fn sweep(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let process = entry.file_name().to_string_lossy().parse();
        if process.is_ok_and(|process: u32| !is_alive(process)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
