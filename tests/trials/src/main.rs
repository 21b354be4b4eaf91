//! `trials`: the services as they run, under failure, load and abuse. `cargo xtask trials` builds and runs them.

mod abuse;
mod browser;
mod chaos;
mod clients;
mod console;
mod crash;
mod deploy;
mod docs;
mod docspage;
mod expand;
mod faults;
mod fuzz;
mod ledger;
mod login;
mod markdown;
mod observability;
mod power;
mod provider;
mod receiver;
mod replicas;
mod restore;
mod spreadsheets;
mod traffic;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use testkit::processes::checkout::PROGRAMS;
use testkit::processes::interrupt::{self, Interrupt, Interrupted};
use testkit::processes::programs::{self, Profile};
use testkit::processes::servers::Servers;
use testkit::processes::trial::{Options, Trial};
use testkit::processes::{process, text_table, tools};

/// Timeout of `docker info`.
const DOCKER_INFO_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs trials of the services.
#[derive(Debug, Parser)]
#[command(name = "trials", max_term_width = 100)]
struct Cli {
    /// The trials to run, one after the other [default: all]
    names: Vec<Name>,
    /// Run the short form: each kind of check once
    #[arg(long)]
    short: bool,
    /// Seed of the random choices: the same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the services' programs [default: a release build, made first]
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Folder for the pictures of `console` [default: target/console]
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Release for `expand`, as a tag or another revision [default: the newest tag v* before HEAD]
    #[arg(long, value_name = "REV")]
    release: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// Check the files of a deployment
    Deploy,
    /// Run the Compose files in containers, under load
    Containers,
    /// Send requests made from the OpenAPI documents, valid and invalid, and check every response
    Fuzz,
    /// Generate clients from the OpenAPI documents, check their types, and use them
    Clients,
    /// Exchange files with LibreOffice and openpyxl, in English and German
    Spreadsheets,
    /// Kill the services at random moments and compare what they stored with what they acknowledged
    Crash,
    /// Cut the power at random moments and compare what was synced with what the services acknowledged
    Power,
    /// Take away what the services depend on, fill their disk, change their clock; check responses and recovery
    Faults,
    /// Send slow, large, nested and very many requests; measure memory and the latency of other clients
    Abuse,
    /// Restart, kill and freeze replicas behind nginx under load
    Replicas,
    /// Back up, destroy and restore the services by the commands of docs/operations/backup.md
    Restore,
    /// Check dashboard, alerts and the list of metrics against a real Prometheus
    Dashboards,
    /// Check the documents: commands, settings, links and examples
    Docs,
    /// Send the examples of the OpenAPI documents, and try operations out on the docs pages in a browser
    Docspage,
    /// Do people's work in the console in a browser; check each screen by axe and write pictures of it
    Console,
    /// Run the tests of the last release on today's migrations
    Expand,
    /// Invite people at the OpenID provider of deploy/login, and log in to the console and the docs pages in a browser
    Login,
}

impl Name {
    /// Runs a trial and prints its table. Returns what it did not try.
    fn run_on(self, programs: &Path, servers: &Servers, cli: &Cli, stop: &Interrupt) -> Result<Vec<String>> {
        let trial = Trial::new(programs, servers, Options { short: cli.short, seed: cli.seed }, stop)?;
        let result = self.run(&trial, cli);
        println!("{}", trial.table());
        result.map(|()| trial.untried())
    }

    fn run(self, trial: &Trial<'_>, cli: &Cli) -> Result<()> {
        match self {
            Self::Deploy => deploy::run(trial),
            Self::Containers => deploy::run_in_containers(trial),
            Self::Fuzz => fuzz::run(trial),
            Self::Crash => crash::run(trial),
            Self::Power => power::run(trial),
            Self::Faults => faults::run(trial),
            Self::Abuse => abuse::run(trial),
            Self::Replicas => replicas::run(trial),
            Self::Restore => restore::run(trial),
            Self::Dashboards => observability::run(trial),
            Self::Docs => docs::run(trial),
            Self::Docspage => docspage::run(trial),
            Self::Console => console::run(trial, cli.pictures.as_deref()),
            Self::Clients => clients::run(trial),
            Self::Spreadsheets => spreadsheets::run(trial),
            Self::Expand => expand::run(trial, cli.release.as_deref()),
            Self::Login => login::run(trial),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::run_program(|stop| run(&cli, stop))
}

fn run(cli: &Cli, stop: &Interrupt) -> Result<()> {
    let names = if cli.names.is_empty() { Name::value_variants() } else { &cli.names };
    let programs = if let Some(programs) = &cli.programs {
        programs.clone()
    } else {
        if names.iter().any(|name| matches!(name, Name::Crash | Name::Power)) {
            // They read SQLite files with it. Built alone, it adds no features to what the services depend on.
            programs::build(&["limits"], Profile::Release, stop)?;
        }
        programs::build(&PROGRAMS, Profile::Release, stop)?
    };
    let servers = Servers::start(stop)?;
    let (mut report, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        stop.check()?;
        let title = name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        println!("\n=== {title}");
        let started = Instant::now();
        let (result, untried) = match missing(&title, stop) {
            Some(reason) => ("NOT TRIED".to_owned(), vec![reason]),
            None => match name.run_on(&programs, &servers, cli, stop) {
                Ok(untried) => ("passed".to_owned(), untried),
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => {
                    eprintln!("error: {error:?}");
                    failed.push(title.clone());
                    ("FAILED".to_owned(), Vec::new())
                }
            },
        };
        report.push([title, result, format!("{} s", started.elapsed().as_secs()), untried.join("; ")]);
    }
    println!("\n{}", text_table::render(["trial", "result", "time", "not tried"], &report));
    ensure!(failed.is_empty(), "failed: {}; the messages are above", failed.join(", "));
    Ok(())
}

/// Returns why this machine cannot run a trial.
fn missing(name: &str, stop: &Interrupt) -> Option<String> {
    let missing = tools::missing(tools::for_trial(name));
    if !missing.is_empty() {
        return Some(tools::message(&missing));
    }
    let needs_docker = name == "containers" && !has_docker_engine(stop);
    needs_docker.then(|| "there is no Docker engine: `docker info` fails, or takes more than 20 s".to_owned())
}

/// Returns whether a Docker engine on this machine responds in time. One that hangs is none.
fn has_docker_engine(stop: &Interrupt) -> bool {
    let mut info = Command::new("docker");
    info.arg("info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = info.spawn() else { return false };
    let status = process::wait(&mut child, DOCKER_INFO_TIMEOUT, || stop.check().is_err());
    if status.is_none() {
        process::end(&mut child);
    }
    status.is_some_and(|status| status.success())
}
