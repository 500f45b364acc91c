//! `cargo xtask sbom`: what the programs and the infrastructure app are made of, as CycloneDX.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::infra;
use crate::project::Project;
use crate::shell;

/// What reads the graph of crates. It is built once, below the project's own folder.
const TOOL: &str = "cargo-cyclonedx@0.5.9";

/// Writes one bill of materials a program, and one for `infra/`, to `target/sbom`.
pub(crate) fn sbom(project: &Project) -> anyhow::Result<()> {
    let path = with_tool(project)?;
    let folder = project.root().join("target").join("sbom");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    // The tool writes beside each manifest, under a name that nothing else has.
    let name = "eventlane-sbom";
    let file = format!("{name}.json");
    let mut cyclonedx = project.cargo();
    cyclonedx.env("PATH", path).args(["cyclonedx", "--format", "json", "--override-filename", name]);
    let written = shell::run(cyclonedx.args(["--features", "eventlane/aws", "--quiet"]));
    let mut programs = 0;
    for member in members(project)? {
        let from = member.join(&file);
        if !from.is_file() {
            continue;
        }
        if let Some(program) = program(project.root(), &member) {
            fs::copy(&from, folder.join(format!("{program}.cdx.json")))
                .context("keep a bill of materials")?;
            programs += 1;
        }
        fs::remove_file(&from).with_context(|| format!("remove {}", from.display()))?;
    }
    written?;
    if programs == 0 {
        bail!("no bill of materials was written");
    }
    fs::write(folder.join("infra.cdx.json"), infra::sbom(project)?)
        .context("keep infra's bill of materials")?;
    println!("{programs} programs and the infrastructure app: {}", folder.display());
    Ok(())
}

/// The folders of the workspace's packages.
fn members(project: &Project) -> anyhow::Result<Vec<PathBuf>> {
    let metadata = shell::output(project.cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    let folder = |package: &serde_json::Value| {
        Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_owned())
    };
    Ok(packages.iter().filter_map(folder).collect())
}

/// The name of what is shipped out of a package's folder; nothing for libraries and tools.
fn program(root: &Path, member: &Path) -> Option<String> {
    let place = member.strip_prefix(root).ok()?;
    if place == Path::new("cli") {
        return Some("eventlane".to_owned());
    }
    let function = place.strip_prefix("functions").ok()?;
    Some(format!("eventlane-{}", function.display()))
}

/// A search path with the tool: the user's own, or one that has just been built.
fn with_tool(project: &Project) -> anyhow::Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|folder| folder.join("cargo-cyclonedx").is_file()) {
        return Ok(path);
    }
    let root = project.local().join("sbom");
    if !root.join("bin").join("cargo-cyclonedx").is_file() {
        let mut install: Command = project.cargo();
        shell::run(install.args(["install", "--quiet", "--locked", TOOL, "--root"]).arg(&root))?;
    }
    Ok(env::join_paths(std::iter::once(root.join("bin")).chain(env::split_paths(&path)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_the_command_and_the_functions() {
        let of = |place: &str| program(Path::new("/lane"), &Path::new("/lane").join(place));
        assert_eq!(of("cli").as_deref(), Some("eventlane"));
        assert_eq!(of("functions/drain").as_deref(), Some("eventlane-drain"));
        assert_eq!((of("shared/aws"), of("xtask")), (None, None));
    }
}
