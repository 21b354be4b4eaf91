//! Child processes, each in its own process group and signalled by its id.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::processes::interrupt::{Interrupt, Interrupted};

const POLL: Duration = Duration::from_millis(50);

/// Runs a command with this program's output until it ends. An interrupt ends its process group.
pub fn run(command: &mut Command, stop: &Interrupt) -> Result<ExitStatus> {
    run_while(command, stop, || Ok(()))
}

/// Runs a command like [`run`]. A failing `check`, called every 50 ms, ends it too.
pub fn run_while(
    command: &mut Command,
    stop: &Interrupt,
    mut check: impl FnMut() -> Result<()>,
) -> Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {name}: install it or put it on PATH"))?;
    loop {
        if let Some(status) = child.try_wait().with_context(|| format!("cannot wait for {name}"))? {
            stop.check()?;
            return Ok(status);
        }
        let checked = if stop.requested() { Err(Interrupted.into()) } else { check() };
        if let Err(error) = checked {
            end_group(&mut child);
            return Err(error);
        }
        sleep(POLL);
    }
}

/// Runs a command to its end and returns its standard output. The error of a failure contains all output.
pub fn output(command: &mut Command) -> Result<String> {
    Ok(collect_output(command)?.0)
}

/// Does what [`output`] does and fails if anything is on standard error, where tools print warnings.
pub fn output_without_warnings(command: &mut Command) -> Result<String> {
    let (stdout, stderr) = collect_output(command)?;
    if !stderr.trim().is_empty() {
        bail!("{} warns:\n{stderr}", command.get_program().display());
    }
    Ok(stdout)
}

fn collect_output(command: &mut Command) -> Result<(String, String)> {
    let name = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if !output.status.success() {
        bail!("{name} failed ({}):\n{stderr}{stdout}", output.status);
    }
    Ok((stdout, stderr))
}

/// Sends a signal to a child that has not been waited for: its id has no other owner yet.
pub fn signal(child: &Child, signal: Signal) {
    // The child may have ended already.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Waits until the child ends, `limit` passes or `give_up` returns true.
pub fn wait(child: &mut Child, limit: Duration, give_up: impl Fn() -> bool) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline && !give_up() => sleep(POLL),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Ends a child by SIGTERM, after 10 s by SIGKILL, and waits for its end.
pub fn end(child: &mut Child) {
    if let Ok(Some(_)) = child.try_wait() {
        return; // its id may have another owner by now
    }
    signal(child, Signal::TERM);
    if wait(child, Duration::from_secs(10), || false).is_none() {
        signal(child, Signal::KILL);
        let _ = child.wait();
    }
}

fn end_group(child: &mut Child) {
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    if wait(child, Duration::from_secs(10), || false).is_none() {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_to_its_end() {
        let status = run(Command::new("sh").args(["-c", "exit 3"]), &Interrupt::default()).unwrap();
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let error = run(&mut Command::new("no-such-program"), &Interrupt::default()).unwrap_err();
        assert!(error.to_string().contains("no-such-program"));
    }

    #[test]
    fn a_failing_check_ends_a_command() {
        let check = || anyhow::bail!("the server is gone");
        let error = run_while(Command::new("sleep").arg("60"), &Interrupt::default(), check).unwrap_err();
        assert_eq!(error.to_string(), "the server is gone");
    }

    #[test]
    fn a_child_is_ended_by_its_id() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        signal(&child, Signal::TERM);
        assert!(wait(&mut child, Duration::from_secs(5), || false).is_some());
    }
}
