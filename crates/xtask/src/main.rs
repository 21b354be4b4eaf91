//! `cargo xtask`: everything a person does with this repository, one command each.

mod abuse;
mod bench;
mod build_release;
mod cli;
mod client;
mod crash;
mod dashboards;
mod data_lock;
mod databases;
mod demo;
mod deny;
mod deploy;
mod expand;
mod faults;
mod fuzz;
mod keys;
mod listener;
mod load;
mod multipart;
mod nginx;
mod openapi;
mod pip;
mod ports;
mod proc;
mod process;
mod random;
mod replicas;
mod restore;
mod servers;
mod service;
mod services;
mod stop;
mod table;
mod test;
mod tidy;
mod token;
mod trial;
mod up;
mod walk;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, TrialArgs};
use crate::stop::{Interrupted, Stop};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = Stop::install().and_then(|stop| match cli.command {
        Command::Up(args) => up::run(&args, &stop),
        Command::Demo(args) => demo::run(&args, &stop),
        Command::Bench(args) => bench::run(&args, &stop),
        Command::Fuzz(args) => trial::run(&args, &stop, fuzz::run),
        Command::Crash(args) => crash::command(&args, &stop),
        Command::Faults(args) => trial::run(&args, &stop, faults::run),
        Command::Abuse(args) => trial::run(&args, &stop, abuse::run),
        Command::Deploy => trial::run(&TrialArgs::default(), &stop, deploy::run),
        Command::Replicas(args) => replicas::command(&args, &stop),
        Command::Restore(args) => trial::run(&args, &stop, restore::run),
        Command::Expand(args) => expand::command(&args, &stop),
        Command::Dashboards => trial::run(&TrialArgs::default(), &stop, dashboards::run),
        Command::Token(args) => token::run(&args),
        Command::Test(args) => test::run(&args, &stop),
        Command::Servers => servers::run(&stop),
        Command::Openapi(args) => openapi::run(args.check, &stop),
        Command::Tidy => tidy::run(),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("stopped");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
