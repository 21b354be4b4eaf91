//! The program of the logistics service.

use std::process::ExitCode;

/// glibc's allocator takes a tenth more time per request and retains more freed memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    common::cli::main::<logistics::Logistics>()
}
