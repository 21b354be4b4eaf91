//! `cargo xtask`: everything a person does with this repository, one command each.

mod cli;
mod demo;
mod examples;
mod launch;
mod openapi;
mod seed;
mod test;
mod token;
mod tool;
mod up;
mod webhooks;

use std::process::ExitCode;

use clap::Parser;

use stack::interrupt;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::run_program(|stop| match cli.command {
        Command::Up(args) => up::run(&args, stop),
        Command::Demo(args) => demo::run(&args, stop),
        Command::Bench(args) => tool::bench(&args, stop),
        Command::Fuzz(args) => tool::trial("fuzz", &args, stop),
        Command::Crash(args) => tool::trial("crash", &args, stop),
        Command::Faults(args) => tool::trial("faults", &args, stop),
        Command::Abuse(args) => tool::trial("abuse", &args, stop),
        Command::Deploy(args) => tool::trial("deploy", &args, stop),
        Command::Containers(args) => tool::trial("containers", &args, stop),
        Command::Replicas(args) => tool::trial("replicas", &args, stop),
        Command::Restore(args) => tool::trial("restore", &args, stop),
        Command::Expand(args) => tool::trial("expand", &args, stop),
        Command::Dashboards(args) => tool::trial("dashboards", &args, stop),
        Command::Docs(args) => tool::trial("docs", &args, stop),
        Command::Docspage(args) => tool::trial("docspage", &args, stop),
        Command::Clients(args) => tool::trial("clients", &args, stop),
        Command::Spreadsheets(args) => tool::trial("spreadsheets", &args, stop),
        Command::Login(args) => tool::trial("login", &args, stop),
        Command::Token(args) => token::run(&args),
        Command::Test(args) => test::run(&args, stop),
        Command::Servers(args) => stack::servers::run(args.citus, args.schemas, stop),
        Command::Openapi(args) => openapi::run(args.check, stop),
        Command::Tidy => tool::tidy(stop),
    })
}
