//! The infrastructure app in `infra/`: its packages, its tests, its plan, and the stack on an emulator.

mod deploy;
mod node;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::Project;
use crate::shell;
use crate::test::Goldens;

pub(crate) use deploy::Lane;

/// cfn-lint's rule about dependencies that a reference implies: CDK writes them on purpose.
const REDUNDANT_DEPENDENCY: &str = "W3005";

/// `cargo xtask infra diff`.
pub(crate) fn diff(project: &Project, args: &[String]) -> anyhow::Result<()> {
    Infra::install(project)?.map_err(anyhow::Error::msg)?.diff(args)
}

/// The app's bill of materials, by npm.
pub(crate) fn sbom(project: &Project) -> anyhow::Result<String> {
    let infra = Infra::install(project)?.map_err(anyhow::Error::msg)?;
    shell::output(infra.npm().args(["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"]))
}

/// The app with its packages installed.
#[derive(Debug)]
pub(crate) struct Infra {
    folder: PathBuf,
}

impl Infra {
    /// Installs the packages of the lock file, or says what this machine lacks.
    pub(crate) fn install(project: &Project) -> anyhow::Result<Result<Self, String>> {
        let folder = project.root().join("infra");
        if let Err(lack) = node::find() {
            return Ok(Err(lack));
        }
        node::ensure(&folder)?;
        Ok(Ok(Self { folder }))
    }

    /// Compares, judges and asserts the templates.
    pub(crate) fn test(&self, goldens: Goldens) -> anyhow::Result<()> {
        let script = if goldens == Goldens::Write { "golden" } else { "test" };
        shell::run(self.npm().args(["run", "--silent", script]))
    }

    /// Types of the app, and cfn-lint on the templates it makes.
    pub(crate) fn lint(&self, cfn_lint: &Path) -> anyhow::Result<()> {
        shell::run(self.npm().args(["run", "--silent", "lint"]))?;
        let mut lint = Command::new(cfn_lint);
        lint.args(["--ignore-checks", REDUNDANT_DEPENDENCY, "--"]);
        for entry in std::fs::read_dir(self.folder.join("test").join("golden"))? {
            lint.arg(entry?.path());
        }
        shell::run(&mut lint)
    }

    /// What a deployment would change, by `cdk diff` with these arguments.
    fn diff(&self, args: &[String]) -> anyhow::Result<()> {
        shell::run(self.npm().args(["run", "--silent", "diff", "--"]).args(args))
    }

    fn npm(&self) -> Command {
        let mut npm = Command::new("npm");
        npm.current_dir(&self.folder).env("CDK_DISABLE_CLI_TELEMETRY", "true");
        npm
    }

    /// A program of the installed packages.
    fn program(&self, name: &str) -> Command {
        let mut program = Command::new(self.folder.join("node_modules").join(".bin").join(name));
        program.current_dir(&self.folder).env("CDK_DISABLE_CLI_TELEMETRY", "true");
        program
    }
}
