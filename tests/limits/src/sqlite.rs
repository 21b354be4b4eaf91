//! SQLite in a loop, with the settings of the services and cached statements.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, process};

use anyhow::{Context, Result, ensure};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use serde_json::Value;

use crate::timed;

/// Number of existing rows that serve as templates for inserted rows.
const MAX_TEMPLATES: usize = 1000;

/// Opens a database with the settings of the services.
pub fn open(database: &Path) -> Result<Connection> {
    let connection =
        Connection::open(database).with_context(|| format!("cannot open {}", database.display()))?;
    connection.execute_batch(
        "PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;
         PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;",
    )?;
    Ok(connection)
}

/// Runs the statements of a file in turn and reads all of their rows.
pub fn read(database: &Path, statements: &Path, seconds: f64) -> Result<Value> {
    let (connection, statements) = (open(database)?, lines(statements)?);
    connection.set_prepared_statement_cache_capacity(statements.len());
    let mut next = statements.iter().cycle();
    let mut run_next = || {
        let mut statement = connection.prepare_cached(next.next().context("no statements")?)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            std::hint::black_box(row.get_ref(0)?.as_bytes()?);
        }
        Ok(1)
    };
    for _ in &statements {
        run_next()?; // fills the statement cache and the page cache
    }
    timed::repeat(seconds, run_next)
}

/// Prints the first column of all rows of the first `count` statements.
pub fn print(database: &Path, statements: &Path, count: usize) -> Result<()> {
    let connection = open(database)?;
    for statement in lines(statements)?.iter().take(count) {
        let mut statement = connection.prepare(statement)?;
        for text in statement.query_map([], |row| row.get::<_, String>(0))? {
            println!("{}", text?);
        }
        println!();
    }
    Ok(())
}

/// Copies a database, which may be in use.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    open(from)?.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    Ok(())
}

/// Inserts copies of existing rows with new ids and times, `group` rows in each transaction. Columns, indexes and
/// triggers are those of the service's database.
pub fn insert(database: &Path, table: &str, group: usize, seconds: f64) -> Result<Value> {
    let mut connection = open(database)?;
    let (columns, templates) = templates(&connection, table)?;
    let placeholders = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({placeholders})", columns.join(", "));
    let index = |name: &str| columns.iter().position(|column| column == name);
    let (id, created) = (index("id").context("the table has no id")?, index("created_at"));
    let (mut next, mut number) = (templates.iter().cycle(), 0_u64);
    timed::repeat(seconds, || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for _ in 0..group {
            number += 1;
            let mut row = next.next().context("no rows")?.clone();
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
            row[id] = Cell::Blob(uuid(now, number));
            if let Some(created) = created {
                row[created] = Cell::Integer(i64::try_from(now)?);
            }
            transaction.prepare_cached(&sql)?.execute(params_from_iter(row))?;
        }
        transaction.commit()?;
        Ok(group)
    })
}

/// Returns the columns of inserted rows, and some existing rows.
pub fn templates(connection: &Connection, table: &str) -> Result<(Vec<String>, Vec<Vec<Cell>>)> {
    // SQLite assigns an `INTEGER PRIMARY KEY` itself.
    let query = "SELECT name FROM pragma_table_info(?1) WHERE NOT (pk = 1 AND type = 'INTEGER')";
    let columns = connection
        .prepare(query)?
        .query_map([table], |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    ensure!(!columns.is_empty(), "there is no table {table}");
    let templates = connection
        .prepare(&format!("SELECT {} FROM {table} LIMIT {MAX_TEMPLATES}", columns.join(", ")))?
        .query_map([], |row| (0..columns.len()).map(|i| row.get(i)).collect())?
        .collect::<Result<_, _>>()?;
    Ok((columns, templates))
}

/// Returns a UUID of version 7 that contains the process id, so that no other process creates it. Ids sort by creation
/// time.
pub fn uuid(millis: u128, number: u64) -> Vec<u8> {
    let random = u64::from(process::id()) << 40 | (number & 0xff_ffff_ffff);
    let high = millis << 80 | 0x7 << 76 | u128::from(number & 0xfff) << 64;
    (high | 0b10 << 62 | u128::from(random & 0x3fff_ffff_ffff_ffff)).to_be_bytes().to_vec()
}

/// Reads the lines of a file.
fn lines(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_copies_of_rows_and_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a.sqlite"), folder.path().join("b.sqlite"));
        let connection = open(&first).unwrap();
        let table =
            "CREATE TABLE t (n INTEGER PRIMARY KEY, id BLOB UNIQUE, created_at INTEGER, document TEXT)";
        connection.execute_batch(table).unwrap();
        connection.execute("INSERT INTO t (id, created_at, document) VALUES (x'00', 0, 'd')", []).unwrap();
        copy(&first, &second).unwrap();
        assert_eq!(insert(&second, "t", 16, 0.0).unwrap()["requests"], 16);
        let count = "SELECT count(*) FROM t WHERE document = 'd' AND created_at > 0";
        let counted: i64 = open(&second).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(counted, 16);

        let statements = folder.path().join("statements");
        fs::write(&statements, "SELECT document FROM t\nSELECT document FROM t WHERE n = 1\n").unwrap();
        assert!(read(&first, &statements, 0.0).unwrap()["requests"].as_u64() >= Some(1));
    }

    #[test]
    fn ids_have_version_7_and_ascend() {
        let ids: Vec<_> = (1..5000).map(|number| uuid(u128::from(number) / 1000, number)).collect();
        assert!(ids.iter().all(|id| id.len() == 16 && id[6] >> 4 == 7 && id[8] >> 6 == 2));
        assert!(uuid(2, 0) > uuid(1, 4095));
    }
}
