//! PostgreSQL and MariaDB from the system's packages, and pgbouncer before the former: each in a
//! private data folder, on loopback and a free port, with no settings but ours.
//!
//! A URL in the environment takes a server's place. Nothing is started that the system would start
//! by itself: an installation is guarded by a `policy-rc.d` that says no.

use std::env;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::group::{self, Life};
use super::{health, system};
use crate::shell;

/// How long a start may take.
const START: Duration = Duration::from_secs(60);

/// What is known of a database server before anything is installed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its name in paths, and in the paths of the tests that need it.
    pub(super) name: &'static str,
    title: &'static str,
    /// Tells the tests where it is; set by the caller, no server is started.
    variable: &'static str,
    package: &'static str,
    program: &'static str,
    /// Who runs it when we are root, which these programs refuse to be.
    user: &'static str,
}

/// In the order they are started: pgbouncer needs the first one's URL.
pub(super) const PARTS: [Part; 3] = [
    Part {
        name: "postgres",
        title: "PostgreSQL",
        variable: "EVENTLANE_TEST_POSTGRES_URL",
        package: "postgresql",
        program: "postgres",
        user: "postgres",
    },
    Part {
        name: "mariadb",
        title: "MariaDB",
        variable: "EVENTLANE_TEST_MARIADB_URL",
        package: "mariadb-server",
        program: "mariadbd",
        user: "mysql",
    },
    Part {
        name: "pgbouncer",
        title: "pgbouncer",
        variable: "EVENTLANE_TEST_PGBOUNCER_URL",
        package: "pgbouncer",
        program: "pgbouncer",
        user: "postgres",
    },
];

/// A server that can be started, or is given by its URL.
#[derive(Debug)]
pub(super) struct Server {
    part: Part,
    /// None when its URL is given.
    program: Option<PathBuf>,
}

impl Server {
    /// Finds or installs it.
    ///
    /// # Errors
    /// Why it can't run here, for the reader.
    pub(super) fn find(part: Part, allowed: bool) -> Result<Self, String> {
        if let Ok(given) = Self::given(part) {
            return Ok(given);
        }
        let found = program(part.program).or_else(|| {
            system::install_servers(&[part.package], allowed).ok()?;
            program(part.program)
        });
        let missing = || {
            format!(
                "tests on {}: install the package {}, or let `cargo xtask test --install` do it, or set {}",
                part.title, part.package, part.variable
            )
        };
        found.map(|program| Self { part, program: Some(program) }).ok_or_else(missing)
    }

    /// The one that its URL names, and no other.
    ///
    /// # Errors
    /// Why there is none, for the reader.
    pub(super) fn given(part: Part) -> Result<Self, String> {
        if env::var_os(part.variable).is_some_and(|url| !url.is_empty()) {
            return Ok(Self { part, program: None });
        }
        Err(format!(
            "tests on {}: PostgreSQL is not ours to put it before; set {}",
            part.title, part.variable
        ))
    }

    /// Whether it is a PostgreSQL that we start.
    pub(super) fn is_our_postgres(&self) -> bool {
        self.part.name == "postgres" && self.program.is_some()
    }

    /// Starts it; `postgres` is PostgreSQL's URL, for pgbouncer.
    pub(super) fn start(&self, folder: &Path, life: Life, postgres: Option<&str>) -> anyhow::Result<Running> {
        let part = self.part;
        let Some(program) = &self.program else {
            let url = env::var(part.variable).with_context(|| format!("read {}", part.variable))?;
            return Ok(Running { part, url, child: None, life, ready: true });
        };
        let user = system::is_root()?.then_some(part.user);
        let (data, log) = (folder.join(part.name), folder.join(format!("{}.log", part.name)));
        private(&data, user)?;
        let port = health::free_port()?;
        let mut command = group::command(life);
        command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).env("LANG", "C.UTF-8");
        if let Some(user) = user {
            command.args(["runuser", "-u", user, "--"]);
        }
        command.arg(program);
        let url = match part.name {
            "postgres" => postgres_arguments(&mut command, program, &data, user, port)?,
            "mariadb" => mariadb_arguments(&mut command, &data, user, port)?,
            _ => pgbouncer_arguments(&mut command, &data, user, port, postgres.context("no PostgreSQL")?)?,
        };
        let output = File::create(&log)?;
        command.current_dir("/").stdout(output.try_clone()?).stderr(output);
        let child = group::spawn(&mut command, life).with_context(|| format!("start {}", part.title))?;
        let mut running = Running { part, url, child: Some(child), life, ready: false };
        running.wait_until_ready(port).with_context(|| {
            format!("{} did not start; the end of its log:\n{}", part.title, health::tail(&log))
        })?;
        Ok(running)
    }
}

/// On the path, in `sbin`, or where Debian keeps PostgreSQL's, newest first.
fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// A new, empty folder that nobody but the server's user may look into.
fn private(folder: &Path, user: Option<&str>) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    shell::output(Command::new("chmod").arg("700").arg(folder))?;
    if let Some(user) = user {
        shell::output(Command::new("chown").arg(user).arg(folder))?;
        let reach = shell::output(Command::new("runuser").args(["-u", user, "--", "test", "-w"]).arg(folder));
        reach.with_context(|| {
            format!(
                "{user}, who runs the server, can't reach {}; use a checkout that others may enter",
                folder.display()
            )
        })?;
    }
    Ok(())
}

/// A command run as the server's user.
fn as_user(user: Option<&str>, program: &Path) -> Command {
    match user {
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args(["-u", user, "--"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

fn postgres_arguments(
    command: &mut Command,
    program: &Path,
    folder: &Path,
    user: Option<&str>,
    port: u16,
) -> anyhow::Result<String> {
    let data = folder.join("data");
    let mut init = as_user(user, &program.with_file_name("initdb"));
    init.arg("-D").arg(&data).args([
        "-U",
        "eventlane",
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
        "--locale=C",
    ]);
    shell::output(init.current_dir("/"))?;
    command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string()]);
    // Nothing here has to outlive a power cut.
    command.args(["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=300"]);
    Ok(format!("postgres://eventlane@127.0.0.1:{port}"))
}

fn mariadb_arguments(
    command: &mut Command,
    folder: &Path,
    user: Option<&str>,
    port: u16,
) -> anyhow::Result<String> {
    let data = folder.join("data");
    let mut init = as_user(user, Path::new("mariadb-install-db"));
    init.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    init.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    shell::output(init.current_dir("/"))?;
    command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={}", folder.join("s").display()));
    command.arg(format!("--pid-file={}", folder.join("pid").display()));
    command.args(["--bind-address=127.0.0.1", &format!("--port={port}"), "--skip-name-resolve"]);
    command.args(["--innodb-flush-log-at-trx-commit=0", "--max-connections=300"]);
    Ok(format!("mysql://root@127.0.0.1:{port}"))
}

/// Two sessions for everyone, so that they really are shared.
fn pgbouncer_arguments(
    command: &mut Command,
    folder: &Path,
    user: Option<&str>,
    port: u16,
    postgres: &str,
) -> anyhow::Result<String> {
    let behind = postgres.rsplit(':').next().context("PostgreSQL's port")?.trim_end_matches('/');
    let settings = format!(
        "[databases]\n* = host=127.0.0.1 port={behind} user=eventlane\n\n[pgbouncer]\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
         pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 200\n"
    );
    let file = folder.join("pgbouncer.ini");
    fs::write(&file, settings)?;
    if let Some(user) = user {
        shell::output(Command::new("chown").arg(user).arg(&file))?;
    }
    command.arg(&file);
    Ok(format!("postgres://eventlane@127.0.0.1:{port}"))
}

/// A started server, or one that was given.
#[derive(Debug)]
pub(crate) struct Running {
    part: Part,
    url: String,
    child: Option<Child>,
    life: Life,
    ready: bool,
}

impl Running {
    /// Its name in paths.
    pub(crate) fn name(&self) -> &'static str {
        self.part.name
    }

    /// The environment variable that tells the tests where it is.
    pub(crate) fn variable(&self) -> &'static str {
        self.part.variable
    }

    /// Where it is, without a database.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The id of its process group; none for one that was given.
    pub(crate) fn group(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn wait_until_ready(&mut self, port: u16) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(status) = self.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                bail!("it ended with {status}");
            }
            if answers(self.part.name, port) {
                self.ready = true;
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("it did not answer within {} s", START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Whether it takes a session, not only a connection.
fn answers(name: &str, port: u16) -> bool {
    let port_text = port.to_string();
    let mut ask = match name {
        "postgres" => {
            let mut ask = Command::new("pg_isready");
            ask.args(["-q", "-h", "127.0.0.1", "-p", &port_text]);
            ask
        }
        "mariadb" => {
            let mut ask = Command::new("mariadb-admin");
            ask.args(["--no-defaults", "-h", "127.0.0.1", "-P", &port_text, "-u", "root", "ping"]);
            ask
        }
        _ => return TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok(),
    };
    ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child
            && (self.life == Life::WithUs || !self.ready)
        {
            group::stop(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_sbin_too_and_one_that_is_not_there_is_not() {
        assert!(program("sh").is_some_and(|found| found.is_file()));
        assert_eq!(program("no-such-program"), None);
    }

    #[test]
    fn each_server_has_a_name_that_tests_can_be_left_out_by() {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names, ["postgres", "mariadb", "pgbouncer"]);
    }

    #[test]
    fn a_private_folder_is_new_and_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = env::temp_dir().join(format!("eventlane-xtask-{}", std::process::id()));
        private(&folder, None).unwrap();
        fs::write(folder.join("old"), "x").unwrap();
        private(&folder, None).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(&folder).unwrap();
    }
}
