//! What this machine can do without Drover's code: a server that answers each request by one SQL statement.
//! `cargo xtask bench` compares the services with it.

mod floor;
mod sqlite;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// The allocator of the services.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Limits of this machine, for `cargo xtask bench`
#[derive(Debug, Parser)]
#[command(name = "limits", version)]
enum Limit {
    /// Answer from a copy of a database, until killed. Each line of the file has a path, a tab and the statement whose
    /// rows are the response; statements without a path run first. Loads are created by POST
    Floor { database: PathBuf, port: u16, statements: PathBuf },
    /// Run the first statements of a file, one on each line, and print the first column of every row, with an empty
    /// line after each statement
    SqlitePrint { database: PathBuf, statements: PathBuf, count: usize },
    /// Copy a database, including its write-ahead log
    SqliteCopy { from: PathBuf, to: PathBuf },
}

fn main() -> Result<()> {
    match Limit::parse() {
        Limit::Floor { database, port, statements } => floor::serve(&database, port, &statements),
        Limit::SqlitePrint { database, statements, count } => sqlite::print(&database, &statements, count),
        Limit::SqliteCopy { from, to } => sqlite::copy(&from, &to),
    }
}
