//! Process groups: an emulator starts children of its own, and all of them must end with it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a group may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// How long a service lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It ends when this process ends, however that ends: Ctrl-C and `kill -9` too.
    WithUs,
    /// It stays when this process has ended.
    Detached,
}

/// Runs the service and a watchdog in one group. The watchdog holds the reading end of a pipe whose
/// writing end this process holds: when this process is gone, the read ends, and the group with it.
/// That needs no signal handler here, and works for `kill -9`.
const WITH_US: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
service=$!
( trap '' TERM; read -r line; kill -TERM 0; sleep 3; kill -KILL 0 ) <&3 3<&- &
exec 3<&-
wait "$service"
"#;

/// The same without the watchdog: the shell becomes the service.
const DETACHED: &str = r#"exec "$@""#;

/// A command that runs what is added to it as arguments, program first.
pub(super) fn command(life: Life) -> Command {
    let mut shell = Command::new("sh");
    let script = match life {
        Life::WithUs => WITH_US,
        Life::Detached => DETACHED,
    };
    shell.args(["-c", script, "eventlane-service"]);
    shell
}

/// Starts such a command as the leader of a new process group.
pub(super) fn spawn(command: &mut Command, life: Life) -> std::io::Result<Child> {
    let input = match life {
        Life::WithUs => Stdio::piped(),
        Life::Detached => Stdio::null(),
    };
    command.process_group(0).stdin(input).spawn()
}

/// Ends the group a child leads, and takes the child's exit status off the system.
pub(super) fn stop(child: &mut Child) {
    let group = child.id();
    end(group, || !matches!(child.try_wait(), Ok(None)));
    // A leader that is gone was reaped just now; an error would mean that it was so before.
    let _ = child.wait();
}

/// Ends a group led by no child of ours.
pub(crate) fn stop_detached(group: u32) {
    end(group, || !is_alive(group));
}

/// Asks the group to end, waits for its leader, then ends what is left by force: the watchdog (it
/// keeps the group's id from being used by others until then) and stragglers.
fn end(group: u32, mut leader_is_gone: impl FnMut() -> bool) {
    signal(group, "TERM");
    let deadline = Instant::now() + GRACE;
    while !leader_is_gone() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(group, "KILL");
}

/// Whether a process with this id exists.
pub(crate) fn is_alive(process: u32) -> bool {
    kill(&format!("-0 {process}"))
}

/// A group that is already gone is no trouble: that is what was wanted.
fn signal(group: u32, signal: &str) {
    kill(&format!("-{signal} -{group}"));
}

/// The shell's own `kill`: small systems have no program of that name.
fn kill(arguments: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("kill {arguments}")]).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    /// A service that prints its child's process id, then waits for it.
    fn family() -> (Child, u32) {
        let mut command = command(Life::WithUs);
        command.args(["sh", "-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped());
        let mut leader = spawn(&mut command, Life::WithUs).unwrap();
        let mut line = String::new();
        BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (leader, line.trim().parse().unwrap())
    }

    fn ends(process: u32) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_running(process) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        !is_running(process)
    }

    /// A process whose parent doesn't care stays a zombie where pid 1 doesn't reap: it has ended.
    fn is_running(process: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        is_alive(process) && !stat.contains(") Z ")
    }

    #[test]
    fn stopping_a_service_ends_its_children_too() {
        let (mut leader, grandchild) = family();
        assert!(is_running(grandchild));
        stop(&mut leader);
        assert!(ends(grandchild));
    }

    #[test]
    fn a_service_ends_when_the_one_who_started_it_is_gone() {
        let (mut leader, grandchild) = family();
        assert!(is_running(grandchild));
        // What the end of this process, however it comes, does to the pipe.
        drop(leader.stdin.take());
        assert!(ends(grandchild));
        leader.wait().unwrap();
    }
}
