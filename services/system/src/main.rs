//! The executable of the system service.

use std::process::ExitCode;

/// Requests take a tenth more time with glibc's allocator, and it returns less memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    common::cli::main::<system::System>()
}
