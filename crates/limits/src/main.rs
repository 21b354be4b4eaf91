//! What is possible on this machine, without anything of ours: an HTTP handler that does nothing, SQLite in a loop, a
//! file and its fsync in a loop. `cargo xtask bench` starts this beside the services and compares.

mod constant;
mod files;
mod sqlite;
mod timed;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// As the services have it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(name = "limits", version, about = "Limits of this machine, for `cargo xtask bench`")]
struct Cli {
    #[command(subcommand)]
    limit: Limit,
}

#[derive(Debug, Subcommand)]
enum Limit {
    /// Answer every request with so many constant bytes, until killed
    Constant { port: u16, bytes: usize },
    /// Run the statements of a file, one a line, in a loop
    SqliteRead { database: PathBuf, statements: PathBuf, seconds: f64 },
    /// Print the first column of every row of the first so many statements, an empty line after each of them
    SqlitePrint { database: PathBuf, statements: PathBuf, count: usize },
    /// Copy a database, with what its log holds
    SqliteCopy { from: PathBuf, to: PathBuf },
    /// Insert rows like those that a table has, so many in a transaction
    SqliteInsert { database: PathBuf, table: String, group: usize, seconds: f64 },
    /// Write a file of so many bytes, sync it, rename it into place and sync its folder, in a loop
    Files { folder: PathBuf, bytes: usize, seconds: f64 },
}

fn main() -> Result<()> {
    let timed = match Cli::parse().limit {
        Limit::Constant { port, bytes } => return constant::serve(port, bytes),
        Limit::SqlitePrint { database, statements, count } => {
            return sqlite::print(&database, &statements, count);
        }
        Limit::SqliteCopy { from, to } => return sqlite::copy(&from, &to),
        Limit::SqliteRead { database, statements, seconds } => sqlite::read(&database, &statements, seconds)?,
        Limit::SqliteInsert { database, table, group, seconds } => {
            sqlite::insert(&database, &table, group, seconds)?
        }
        Limit::Files { folder, bytes, seconds } => files::write(&folder, bytes, seconds)?,
    };
    println!("{timed}");
    Ok(())
}
