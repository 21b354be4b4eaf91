//! The system service as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    common::cli::main::<system::System>()
}
