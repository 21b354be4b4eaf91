//! `trials`: the services as they run, under failure, load and abuse. `cargo xtask NAME` builds and runs one.

mod abuse;
mod browser;
mod chaos;
mod clients;
mod command;
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
mod replicas;
mod restore;
mod spreadsheets;
mod traffic;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use stack::interrupt::{self, Interrupt};
use stack::programs::{self, Profile};
use stack::servers::Servers;
use stack::tools;
use stack::trial::{Options, Trial};

/// Runs trials of the services.
#[derive(Debug, Parser)]
#[command(name = "trials", max_term_width = 100)]
struct Cli {
    /// The trials to run, one after the other
    #[arg(required = true)]
    names: Vec<Name>,
    /// Run the short form, as `cargo xtask test` does
    #[arg(long)]
    short: bool,
    /// Seed of the random choices: the same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the services' programs [default: a release build, made first]
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Release for `expand`, as a tag or another revision [default: the newest tag v* before HEAD]
    #[arg(long, value_name = "REV")]
    release: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    Deploy,
    Containers,
    Fuzz,
    Crash,
    Faults,
    Abuse,
    Replicas,
    Restore,
    Dashboards,
    Docs,
    Docspage,
    Clients,
    Spreadsheets,
    Expand,
    Login,
}

impl Name {
    fn run(self, trial: &Trial<'_>, cli: &Cli) -> Result<()> {
        match self {
            Self::Deploy => deploy::run(trial),
            Self::Containers => deploy::run_in_containers(trial),
            Self::Fuzz => fuzz::run(trial),
            Self::Crash => crash::run(trial),
            Self::Faults => faults::run(trial),
            Self::Abuse => abuse::run(trial),
            Self::Replicas => replicas::run(trial),
            Self::Restore => restore::run(trial),
            Self::Dashboards => observability::run(trial),
            Self::Docs => docs::run(trial),
            Self::Docspage => docspage::run(trial),
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
    let programs = match &cli.programs {
        Some(programs) => programs.clone(),
        None => programs::services(Profile::Release, stop)?,
    };
    let names = cli.names.iter().filter_map(ValueEnum::to_possible_value);
    let needed: Vec<&str> = names.flat_map(|name| tools::for_trial(name.get_name())).copied().collect();
    tools::require(&needed)?;
    let servers = Servers::start(stop)?;
    let options = Options { short: cli.short, seed: cli.seed };
    for name in &cli.names {
        let trial = Trial::new(&programs, &servers, options, stop)?;
        let result = name.run(&trial, cli);
        println!("{}", trial.table());
        result?;
        for untried in trial.untried() {
            println!("NOT TRIED: {untried}");
        }
    }
    Ok(())
}
