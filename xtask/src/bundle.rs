//! `cargo xtask bundle`: the functions as Lambda takes them, and how big they are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::project::Project;
use crate::services::{python, venv};
use crate::shell;

/// The oldest Python that cargo-lambda's wheel runs on.
const PYTHON: (u32, u32) = (3, 9);

/// Bytes of a zipped function that is uploaded directly. Source: Lambda quotas, "Deployment package".
const ZIP_BYTES: u64 = 50 * 1024 * 1024;

/// Builds every function for ARM into `target/lambda`, zipped beside plain, and prints both sizes.
pub(crate) fn bundle(project: &Project) -> anyhow::Result<()> {
    let functions = functions(project)?;
    let path = with_cargo_lambda(project)?;
    let folder = project.root().join("target").join("lambda");
    for format in ["binary", "zip"] {
        let mut build = project.cargo();
        build.env("PATH", &path).args(["lambda", "build", "--release", "--arm64", "--locked"]);
        build.args(["--output-format", format, "--lambda-dir"]).arg(&folder);
        for name in &functions {
            build.args(["-p", &format!("eventlane-{name}-function")]);
        }
        shell::run(&mut build)?;
    }
    println!("| function | bytes | zipped |\n| --- | --- | --- |");
    let mut faults = Vec::new();
    for name in &functions {
        let [plain, zipped] = sizes(&folder.join(name))?;
        println!("| {name} | {plain} | {zipped} |");
        if zipped > ZIP_BYTES {
            faults.push(format!("{name} is {zipped} bytes zipped, Lambda takes {ZIP_BYTES}"));
        }
    }
    if !faults.is_empty() {
        bail!("too big:\n- {}", faults.join("\n- "));
    }
    println!("in {}", folder.display());
    Ok(())
}

/// Each package in `functions/`.
fn functions(project: &Project) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(project.root().join("functions")).context("list the functions")? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// A search path that has cargo-lambda: the user's own, or one out of a venv with its linker.
fn with_cargo_lambda(project: &Project) -> anyhow::Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|folder| folder.join("cargo-lambda").is_file()) {
        return Ok(path);
    }
    let python = python::find(PYTHON).with_context(|| {
        format!("install cargo-lambda, or Python {}.{} to get it from", PYTHON.0, PYTHON.1)
    })?;
    let pins = project.root().join("xtask").join("requirements-release.txt");
    fs::create_dir_all(project.local())?;
    let interpreter = venv::ensure(&python, &project.local().join("release"), &pins, false)?;
    let programs: PathBuf = interpreter.parent().context("an interpreter in no folder")?.to_owned();
    Ok(env::join_paths(std::iter::once(programs).chain(env::split_paths(&path)))?)
}

fn sizes(folder: &Path) -> anyhow::Result<[u64; 2]> {
    let size = |name: &str| {
        let path = folder.join(name);
        fs::metadata(&path).map(|file| file.len()).with_context(|| format!("look at {}", path.display()))
    };
    Ok([size("bootstrap")?, size("bootstrap.zip")?])
}
