//! Real processes: started, listened to, killed, and never left behind.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where the binaries under test are; `cargo xtask test` sets it.
pub const BIN_DIR: &str = "EVENTLANE_TEST_BIN_DIR";

/// The path of a binary of this workspace.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let folder = env::var_os(BIN_DIR).map_or_else(beside_the_tests, PathBuf::from);
    let path = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(
        path.is_file(),
        "{} is not built: run the tests through `cargo xtask test`, or build it with \
         `cargo build --profile ci --workspace --bins`",
        path.display()
    );
    path
}

/// Cargo puts test executables into `deps/`, and binaries into the folder around it.
fn beside_the_tests() -> PathBuf {
    let test = env::current_exe().expect("a test executable has a path");
    test.parent().and_then(|deps| deps.parent()).map(PathBuf::from).unwrap_or_default()
}

/// A running process; dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// The lines of its stdout that were not read before.
    pub stdout: Vec<String>,
    /// All of its stderr.
    pub stderr: String,
}

impl Process {
    /// Starts a command; its stdout and stderr are kept for the test, its stdin is a pipe.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let stdout = child.stdout.take().expect("stdout was piped");
        let stderr = child.stderr.take().expect("stderr was piped");
        let (sender, lines) = mpsc::channel();
        // Both pipes are read at all times: a full one would stop the process.
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = BufReader::new(stderr).read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { child, lines, stderr: Some(stderr) }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its stdin; dropping that closes it. Once.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The next line of its stdout.
    ///
    /// # Panics
    /// When none comes in time, or the process ended, with its stderr.
    #[track_caller]
    pub fn line(&mut self, within: Duration) -> String {
        self.lines.recv_timeout(within).unwrap_or_else(|error| self.no_line("a line", error))
    }

    /// The next line of its stdout with this text in it; lines before that are dropped.
    ///
    /// # Panics
    /// When none comes in time, or the process ended, with its stderr.
    #[track_caller]
    pub fn line_with(&mut self, text: &str, within: Duration) -> String {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(error) => self.no_line(&format!("a line with {text:?}"), error),
            }
        }
    }

    #[track_caller]
    fn no_line(&mut self, wanted: &str, error: RecvTimeoutError) -> ! {
        self.kill();
        let end = match error {
            RecvTimeoutError::Timeout => "no such line came in time",
            RecvTimeoutError::Disconnected => "its stdout ended",
        };
        panic!("waited for {wanted} on stdout, but {end}; its stderr:\n{}", self.take_stderr());
    }

    /// `kill -9`, and waits until it is gone. A process that has ended is fine.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends `SIGTERM`, as a host that wants to stop it would.
    ///
    /// # Panics
    /// When there is no shell, or the process is gone.
    pub fn terminate(&self) {
        let kill = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.id())]).status();
        assert!(kill.is_ok_and(|status| status.success()), "process {} is gone already", self.id());
    }

    /// Whether it still runs.
    ///
    /// # Panics
    /// When the system doesn't say.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked for its status").is_none()
    }

    /// Waits for its end by itself, and takes what it wrote.
    ///
    /// # Panics
    /// When it doesn't end in time: it is killed, and its stderr shown.
    #[must_use]
    #[track_caller]
    pub fn wait(mut self, within: Duration) -> Ended {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + within;
        // The standard library waits for ever or not at all: look again and again.
        while self.is_running() {
            if Instant::now() > deadline {
                self.kill();
                panic!("the process did not end within {within:?}; its stderr:\n{}", self.take_stderr());
            }
            thread::sleep(Duration::from_millis(2));
        }
        let status = self.child.wait().expect("a child that ended has a status");
        Ended { status, stdout: self.lines.iter().collect(), stderr: self.take_stderr() }
    }

    fn take_stderr(&mut self) -> String {
        self.stderr.take().map(|reader| reader.join().unwrap_or_default()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SOON: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> Process {
        Process::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn lines_are_read_as_they_come_and_the_rest_at_the_end() {
        let mut process = shell("echo one; echo two; read answer; echo $answer; echo trouble >&2; exit 3");
        assert_eq!(process.line(SOON), "one");
        assert_eq!(process.line_with("w", SOON), "two");
        process.stdin().unwrap().write_all(b"three\n").unwrap();
        let ended = process.wait(SOON);
        assert_eq!(
            (ended.status.code(), ended.stdout, ended.stderr),
            (Some(3), vec!["three".to_owned()], "trouble\n".to_owned())
        );
    }

    #[test]
    fn a_killed_process_is_gone() {
        let mut process = shell("echo up; exec sleep 600");
        assert_eq!(process.line(SOON), "up");
        assert!(process.is_running());
        process.kill();
        assert!(!process.is_running());
    }

    #[test]
    fn a_terminated_process_may_say_goodbye() {
        let mut process = shell("trap 'echo bye; exit 0' TERM; echo up; while :; do read nothing; done");
        process.line_with("up", SOON);
        process.terminate();
        // The shell runs the trap when its read ends: closing stdin, as `wait` does, ends it.
        assert_eq!(process.wait(SOON).stdout, ["bye"]);
    }

    #[test]
    #[should_panic(expected = "its stdout ended; its stderr:\nno luck")]
    fn a_process_that_ends_too_early_shows_its_stderr() {
        shell("echo no luck >&2").line(SOON);
    }

    #[test]
    #[should_panic(expected = "is not built: run the tests through `cargo xtask test`")]
    fn a_binary_that_is_not_built_says_how() {
        let _ = binary("no-such-binary");
    }
}
