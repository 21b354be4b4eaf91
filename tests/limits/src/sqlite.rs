//! SQLite with the settings of the services.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

/// Opens a database.
pub fn open(database: &Path) -> Result<Connection> {
    let connection =
        Connection::open(database).with_context(|| format!("cannot open {}", database.display()))?;
    connection.execute_batch(
        "PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;
         PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;",
    )?;
    Ok(connection)
}

/// Copies a database, which may be in use.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    open(from)?.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    Ok(())
}

/// Prints the first column of all rows of the first `count` statements.
pub fn print(database: &Path, statements: &Path, count: usize) -> Result<()> {
    let connection = open(database)?;
    for statement in read(statements)?.lines().take(count) {
        let mut statement = connection.prepare(statement)?;
        for text in statement.query_map([], |row| row.get::<_, String>(0))? {
            println!("{}", text?);
        }
        println!();
    }
    Ok(())
}

/// Reads a file of statements.
pub fn read(statements: &Path) -> Result<String> {
    fs::read_to_string(statements).with_context(|| format!("cannot read {}", statements.display()))
}
