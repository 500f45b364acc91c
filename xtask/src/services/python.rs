//! Finding a Python that is new enough.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Versions the emulators' pins were tried with, best first; then whatever `python3` is.
const NAMES: [&str; 5] = ["python3.13", "python3.12", "python3.11", "python3.10", "python3"];

/// An interpreter of at least this version.
///
/// Each candidate is asked: a version manager puts names on the path that then only explain why
/// they don't run.
pub(crate) fn find(least: (u32, u32)) -> Option<PathBuf> {
    let candidates = NAMES.iter().map(PathBuf::from).chain(managed());
    candidates.into_iter().find(|python| version(python).is_some_and(|found| found >= least))
}

/// What pyenv has installed, newest first: its names on the path follow a setting, these don't.
fn managed() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    let Some(root) = env::var_os("PYENV_ROOT").map(PathBuf::from).or(home) else { return Vec::new() };
    let Ok(versions) = fs::read_dir(root.join("versions")) else { return Vec::new() };
    let mut found: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| is_tried(&name.to_string_lossy())))
        .map(|path| path.join("bin").join("python3"))
        .collect();
    found.sort();
    found.reverse();
    found
}

fn is_tried(version: &str) -> bool {
    version.starts_with("3.13") || version.starts_with("3.12")
}

fn version(python: &PathBuf) -> Option<(u32, u32)> {
    let program = "import sys; print(sys.version_info[0], sys.version_info[1])";
    let mut command = Command::new(python);
    command.args(["-c", program]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    parse(&String::from_utf8(output.stdout).ok()?)
}

fn parse(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(parse("3 9\n").unwrap() < parse("3 12\n").unwrap());
        assert_eq!(parse("pyenv: python3.13: command not found"), None);
    }

    #[test]
    fn a_name_that_does_not_run_is_no_python() {
        assert_eq!(version(&PathBuf::from("/nonexistent/python3")), None);
        assert_eq!(version(&PathBuf::from("false")), None);
    }
}
