//! `cargo xtask`: everything a person does with this repository, one command each.

mod cli;
mod demo;
mod events;
mod examples;
mod launch;
mod openapi;
mod test;
mod tool;
mod up;

use std::process::ExitCode;

use clap::Parser;
use testkit::processes::interrupt;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::run_program(|stop| match cli.command {
        Command::Up(args) => up::run(&args, stop),
        Command::Demo(args) => demo::run(&args, stop),
        Command::Bench(args) => tool::run("bench", &args, stop),
        Command::Trials(args) => tool::run("trials", &args, stop),
        Command::Token(args) => tool::token(&args),
        Command::Test(args) => test::run(&args, stop),
        Command::Servers(args) => testkit::processes::servers::run(args.citus, args.schemas, stop),
        Command::Openapi(args) => openapi::run(args.check, stop),
        Command::Tidy => tool::tidy(stop),
    })
}
