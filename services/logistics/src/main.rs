//! The logistics service.

fn main() -> std::process::ExitCode {
    common::cli::main::<logistics::Logistics>()
}
