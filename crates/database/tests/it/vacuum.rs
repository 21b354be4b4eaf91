//! VACUUM keeps the rows that the full-text indexes of SQLite refer to (docs/operations/personal-data.md).

use testkit::{Backend, TestDatabase};

use crate::service_migrations::{SERVICES, scripts};

/// Runs the migrations of a service.
async fn migrated(service: &str) -> TestDatabase {
    let test = TestDatabase::empty(Backend::Sqlite).await;
    let (_, folders) = SERVICES.iter().find(|(name, _)| *name == service).unwrap();
    for script in scripts(folders, "sqlite").values() {
        test.execute(script);
    }
    test
}

/// Asserts that a full-text index finds the rows with the text `zedonk`, before and after VACUUM. `found` is the
/// condition for rows that the index finds, up to the full-text query.
fn assert_found(test: &TestDatabase, table: &str, column: &str, found: &str) {
    for vacuum in ["", "VACUUM", "VACUUM"] {
        test.execute(vacuum);
        let found = format!("{found} MATCH '\"zed\" AND \"don\"')");
        let right = format!("{table} WHERE {found} AND instr({column}, 'zedonk') > 0");
        assert_eq!(test.count(&right), 50, "{vacuum}");
        assert_eq!(test.count(&format!("{table} WHERE {found}")), 50, "{vacuum}");
    }
}

/// The text of row `n` of 500. Every tenth one has the word.
const TEXT: &str = "CASE WHEN n % 10 = 3 THEN 'a zedonk' ELSE 'a donkey' END || n";
const NUMBERS: &str =
    "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)";

#[tokio::test]
async fn searches_of_listings_are_right_after_vacuum() {
    let test = migrated("livestock").await;
    // Rowids with gaps: VACUUM closes them in tables without an index.
    test.execute(&format!(
        "{NUMBERS} INSERT INTO listings (rowid, id, organisation_id, kind, status, category, created_at, organisation_key,
            types, sexes, additional_info, document, search_text)
         SELECT n * 7, randomblob(16), 'a', 'selling', 'active', 2, n, 'a', '', '', '', '{{}}', {TEXT} FROM numbers;
         UPDATE listings SET search_text = search_text || ' sold' WHERE rowid % 2 = 0"
    ));
    let found = "listings.rowid IN (SELECT rowid FROM listings_fts WHERE listings_fts";
    assert_found(&test, "listings", "search_text", found);
}

#[tokio::test]
async fn searches_of_loads_are_right_after_vacuum() {
    let test = migrated("logistics").await;
    test.execute(&format!(
        "{NUMBERS} INSERT INTO loads (n, id, status, delivery_at, created_at, reference_key, commodity_key, search_text,
            document)
         SELECT n * 7, randomblob(16), 'upcoming', n, n, 'r', 'c', {TEXT}, '{{}}' FROM numbers;
         INSERT OR REPLACE INTO loads_fts (rowid, search_text) SELECT n, search_text FROM loads"
    ));
    assert_found(&test, "loads", "search_text", "n IN (SELECT rowid FROM loads_fts WHERE loads_fts");
}

#[tokio::test]
async fn searches_of_files_are_right_after_vacuum() {
    let test = migrated("system").await;
    test.execute(&format!(
        "{NUMBERS} INSERT INTO files (rowid, id, bucket, kind, name, hash, content_type, size, user_id, user_name,
            organisations, created_at, name_key)
         SELECT n * 7, randomblob(16), 'images', 'image', 'n', 'h', 't', 1, 'u', 'U', '[]', n, {TEXT} FROM numbers"
    ));
    assert_found(&test, "files", "name_key", "id IN (SELECT file_id FROM files_fts WHERE files_fts");
}
