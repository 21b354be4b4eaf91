//! Runs the program as `cargo xtask trials crash` does, to query databases. This test also builds it for that command.

use std::fs;
use std::process::Command;

use rusqlite::Connection;

#[test]
fn prints_the_rows_of_statements() {
    let folder = tempfile::tempdir().unwrap();
    let (database, statements) = (folder.path().join("database"), folder.path().join("statements"));
    Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('one'), ('two')")
        .unwrap();
    fs::write(&statements, "SELECT a FROM t ORDER BY a\nPRAGMA integrity_check\nSELECT 'no more'").unwrap();
    let mut limits = Command::new(env!("CARGO_BIN_EXE_limits"));
    let output = limits.arg("sqlite-print").args([&database, &statements]).arg("2").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n\nok\n\n");
}
