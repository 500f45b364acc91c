//! A virtual environment with exactly the pinned packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::system;
use crate::shell;

/// Makes sure that `folder` holds these pins, and returns its interpreter.
///
/// A stamp with the pins and the Python is written last, so an installation that was cut short is
/// made anew, and one that stands costs nothing.
pub(crate) fn ensure(python: &Path, folder: &Path, pins: &Path, system: bool) -> anyhow::Result<PathBuf> {
    let text = fs::read_to_string(pins).with_context(|| format!("read {}", pins.display()))?;
    let wanted = format!("{}\n{text}", python.display());
    let stamp = folder.join("installed.txt");
    let interpreter = folder.join("bin").join("python");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && interpreter.exists() {
        return Ok(interpreter);
    }
    println!("installing {} into {}", pins.display(), folder.display());
    create(python, folder, system)?;
    let mut pip = Command::new(&interpreter);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "-r"]);
    shell::run(pip.arg(pins))?;
    fs::write(&stamp, wanted).with_context(|| format!("write {}", stamp.display()))?;
    Ok(interpreter)
}

fn create(python: &Path, folder: &Path, system: bool) -> anyhow::Result<()> {
    let venv = || shell::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder));
    // Debian and its kin ship Python without the part that makes virtual environments.
    let complete = Command::new(python).args(["-c", "import venv, ensurepip"]).output();
    if !complete.is_ok_and(|output| output.status.success()) {
        system::install(&["python3-venv"], system)
            .with_context(|| format!("{} can't make virtual environments", python.display()))?;
    }
    venv()
}
