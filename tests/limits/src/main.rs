//! Measures the limits of this machine without Drover's code: an HTTP handler that does nothing, handlers that do the
//! least for a scenario, SQLite in a loop, and durable files in a loop. `cargo xtask bench` compares the services with
//! the results.

mod constant;
mod files;
mod floor;
mod sqlite;
mod timed;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The allocator of the services.
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
    /// Answer every request with the same number of bytes, until killed
    Constant { port: u16, bytes: usize },
    /// Answer searches of the bench from a copy of a database, until killed
    FloorReads { database: PathBuf, port: u16, organisation: String },
    /// Create loads in a copy of a database, until killed
    FloorCreates { database: PathBuf, port: u16 },
    /// Run the statements of a file, one on each line, in a loop
    SqliteRead { database: PathBuf, statements: PathBuf, seconds: f64 },
    /// Run the first statements of a file and print the first column of every row, with an empty line after each
    /// statement
    SqlitePrint { database: PathBuf, statements: PathBuf, count: usize },
    /// Copy a database, including its write-ahead log
    SqliteCopy { from: PathBuf, to: PathBuf },
    /// Insert rows like those of a table, in transactions of the given size
    SqliteInsert { database: PathBuf, table: String, group: usize, seconds: f64 },
    /// Write a file of the given size, sync it, rename it and sync its folder, in a loop
    Files { folder: PathBuf, bytes: usize, seconds: f64 },
}

fn main() -> Result<()> {
    let result = match Cli::parse().limit {
        Limit::Constant { port, bytes } => return constant::serve(port, bytes),
        Limit::FloorReads { database, port, organisation } => {
            return floor::serve_reads(&database, port, &organisation);
        }
        Limit::FloorCreates { database, port } => return floor::serve_creates(&database, port),
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
    println!("{result}");
    Ok(())
}
