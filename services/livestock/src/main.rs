//! The livestock service.

fn main() -> std::process::ExitCode {
    common::cli::main::<livestock::Livestock>()
}
