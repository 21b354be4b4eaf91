//! Runs stages one after the other. Records their times and the stages that were left out.

use std::env;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use testkit::processes::interrupt::{Interrupt, Interrupted};
use testkit::processes::{process, text_table, tools};

/// A stage of `cargo xtask test`.
pub struct Stage<'a> {
    /// The name in the output.
    pub name: &'a str,
    /// The command that runs only this stage.
    pub command: &'a str,
    /// The tools that the stage needs besides cargo.
    pub tools: &'a [&'a str],
}

/// The stages of one run.
pub struct Stages<'a> {
    /// The user's request to stop.
    pub interrupt: &'a Interrupt,
    started: Instant,
    times: Vec<[String; 2]>,
    left_out: Vec<[String; 2]>,
}

impl<'a> Stages<'a> {
    /// Begins a run.
    pub fn new(interrupt: &'a Interrupt) -> Self {
        Self { interrupt, started: Instant::now(), times: Vec::new(), left_out: Vec::new() }
    }

    /// Runs a stage. Leaves it out and returns `None` if one of its tools is missing.
    ///
    /// # Errors
    /// The stage failed or the user stopped the run.
    pub fn run<T>(&mut self, stage: &Stage<'_>, action: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        self.interrupt.check()?;
        let missing = tools::missing(stage.tools);
        if !missing.is_empty() {
            self.leave_out(stage.name, &tools::message(&missing));
            return Ok(None);
        }
        let Stage { name, command, .. } = stage;
        println!("\n=== {name} (starts at {})", minutes(self.started));
        let started = Instant::now();
        let result = action();
        self.times.push([(*name).to_owned(), minutes(started)]);
        match result {
            Err(error) if !error.is::<Interrupted>() => {
                Err(error.context(format!("stage `{name}` failed; run only this stage with `{command}`")))
            }
            other => other.map(Some),
        }
    }

    /// Runs a stage that is one command.
    pub fn run_command(&mut self, stage: &Stage<'_>, command: &mut Command) -> Result<()> {
        let interrupt = self.interrupt;
        self.run(stage, || succeed(command, interrupt)).map(drop)
    }

    /// Records that a stage was left out.
    pub fn leave_out(&mut self, name: &str, reason: &str) {
        println!("\n=== {name}: LEFT OUT ({reason})");
        self.left_out.push([name.to_owned(), reason.to_owned()]);
    }

    /// Records a stage that this machine cannot run. CI accepts that.
    pub fn skip(&mut self, name: &str, reason: &str) {
        println!("\n=== {name}: SKIPPED ({reason})");
        self.times.push([name.to_owned(), format!("skipped: {reason}")]);
    }

    /// Prints the times and the stages that were left out.
    ///
    /// # Errors
    /// The error of the stage that failed. Under `CI`, stages were left out.
    pub fn finish(mut self, result: Result<()>) -> Result<()> {
        self.times.push(["total".to_owned(), minutes(self.started)]);
        println!("\n{}", text_table::render(["stage", "min:s"], &self.times));
        if !self.left_out.is_empty() {
            println!("{}", text_table::render(["left out", "reason"], &self.left_out));
        }
        result?;
        let all_ran = self.left_out.is_empty();
        ensure!(all_ran || env::var_os("CI").is_none(), "CI does not accept a run that leaves stages out");
        println!("{}", if all_ran { "all stages passed" } else { "all other stages passed" });
        Ok(())
    }
}

/// Runs a command and fails if it does.
pub fn succeed(command: &mut Command, interrupt: &Interrupt) -> Result<()> {
    let status = process::run(command.stdin(Stdio::null()), interrupt)?;
    if !status.success() {
        let program = command.get_program().to_string_lossy();
        bail!("{program} failed ({status}); its messages are above");
    }
    Ok(())
}

/// Formats the time since an instant as minutes and seconds.
fn minutes(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Returns the version of the compiler, such as `1.95.0`.
pub fn compiler_version() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split(' ').nth(1).context("rustc prints no version")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage<'a>(name: &'a str, tools: &'a [&'a str]) -> Stage<'a> {
        Stage { name, command: "sh", tools }
    }

    #[test]
    fn a_stage_without_its_tools_is_left_out() {
        let interrupt = Interrupt::default();
        let mut stages = Stages::new(&interrupt);
        assert_eq!(stages.run(&stage("a", &["sh"]), || Ok(1)).unwrap(), Some(1));
        assert_eq!(stages.run(&stage("b", &["sh", "no-such-program"]), || Ok(2)).unwrap(), None);
        assert_eq!(stages.times.len(), 1);
        assert_eq!(stages.left_out[0][0], "b");
        assert!(stages.left_out[0][1].contains("no-such-program"), "{:?}", stages.left_out);
    }

    #[test]
    fn a_failed_stage_is_named_with_its_command() {
        let interrupt = Interrupt::default();
        let mut stages = Stages::new(&interrupt);
        let error = stages.run_command(&stage("c", &[]), &mut Command::new("false")).unwrap_err();
        assert_eq!(error.to_string(), "stage `c` failed; run only this stage with `sh`");
        assert!(stages.finish(Err(error)).is_err());
    }

    #[test]
    fn the_compiler_has_a_version() {
        assert!(compiler_version().unwrap().starts_with("1."));
    }
}
