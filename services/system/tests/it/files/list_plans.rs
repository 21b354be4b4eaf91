//! The query plans of file lists.

use system::System;
use testkit::{App, Backend, User};

use super::{form, part, start};

/// For each search of an organisation a step of its plan on SQLite, and whether it sorts.
const SEARCHES: [(&str, &str, bool); 10] = [
    ("", "files_owner_bucket (organisation_id=? AND bucket=?)", false),
    ("", "files_archived_owner_bucket (organisation_id=? AND bucket=?)", false),
    ("f:status=active", "files_owner_bucket (organisation_id=? AND bucket=?)", false),
    ("f:type=contract", "files_owner_kind (organisation_id=? AND kind=? AND bucket=?)", false),
    (
        "f:type=contract&f:status=archived",
        "files_archived_owner_kind (organisation_id=? AND kind=? AND bucket=?)",
        false,
    ),
    ("f:bucket=images", "files_owner_bucket (organisation_id=? AND bucket=?)", false),
    ("f:bucket=images&f:type=logo", "files_owner_kind (organisation_id=? AND kind=? AND bucket=?)", false),
    ("query=ticket", "files USING INDEX sqlite_autoindex_files_1 (id=?)", true),
    ("query=ticket&f:type=contract", "files USING INDEX sqlite_autoindex_files_1 (id=?)", true),
    ("query=zz", "files_owner_bucket (organisation_id=? AND bucket=?)", false),
];

/// The same for `admin`, who sees all files.
const ADMIN_SEARCHES: [(&str, &str, bool); 5] = [
    ("", "files_bucket (bucket=?)", false),
    ("f:type=contract", "files_kind (kind=? AND bucket=?)", false),
    ("f:status=archived", "files_archived_bucket (bucket=?)", false),
    ("f:organisationId=a", "files_owner_bucket (organisation_id=? AND bucket=?)", false),
    ("query=ticket", "files USING INDEX sqlite_autoindex_files_1 (id=?)", true),
];

/// Returns the statements that select the ids of pages.
fn page_statements(app: &App) -> Vec<String> {
    let statements = app.take_statements().into_iter();
    statements.filter(|sql| sql.starts_with("SELECT id, sort_key") && sql.contains("files")).collect()
}

#[test]
fn sqlite_reads_lists_from_indexes() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite).await;
        let user = User::of("farm");
        files.upload(&user, form("files", "misc", "x").part("file", part(b"x"))).await.ok();
        files.app.record_statements();
        let admin = User::admin();
        let alone = User::individual("ann");
        let searches = SEARCHES.iter().map(|search| (&user, search));
        let searches = searches.chain(ADMIN_SEARCHES.iter().map(|search| (&admin, search)));
        let own = ("", "files_user (user_id=?)", false);
        for (user, (query, step, sorts)) in searches.chain([(&alone, &own)]) {
            for cursor in ["", "&limit=1"] {
                files.app.get(&format!("/v1/files?{query}{cursor}")).by(user).send().await.ok();
            }
            let statements = page_statements(&files.app);
            assert_eq!(statements.len(), 2, "{query}: {statements:?}");
            let plan = files.app.query_plan(&statements[0]);
            assert!(plan.contains(step), "{query}\n{plan}\n{}", statements[0]);
            assert!(!plan.contains("SCAN files\n"), "{query}\n{plan}");
            assert_eq!(plan.contains("TEMP B-TREE FOR ORDER BY"), *sorts, "{query}\n{plan}");
        }
    });
}

/// Adds 100,000 files. The organisations have a Zipf distribution: `org-1` has about a tenth. One in 50 is archived,
/// one in 1,000 has a rare word in its name.
const SKEWED_FILES: &str = "SELECT setseed(0.5);
    INSERT INTO system.files (id, bucket, kind, organisation_id, name, name_key, hash, content_type, size, user_id,
        user_name, organisations, created_at, archived_at)
    SELECT gen_random_uuid(), CASE WHEN random() < 0.5 THEN 'images' ELSE 'files' END,
        CASE WHEN random() < 0.9 THEN 'image' WHEN random() < 0.9 THEN 'misc' ELSE 'contract' END,
        'org-' || floor(exp(random() * ln(1000))), 'n', 'ticket ' || n || CASE WHEN n % 1000 = 0 THEN ' harvest' ELSE '' END,
        'h' || n, 'image/png', 1, 'u', 'u', '[]', timestamptz '2026-01-01' + n * interval '10 s',
        CASE WHEN random() < 0.02 THEN now() END
    FROM generate_series(1, 100000) AS n;
    ALTER TABLE system.files ALTER name_key SET STATISTICS 1000;
    ANALYZE system.files";

#[test]
fn postgres_reads_few_pages_for_any_list() {
    testkit::block_on(async {
        let files = start(Backend::Postgres).await;
        files.app.database.execute(SKEWED_FILES);
        let farm = User::of("org-1");
        let small = User::of("org-900");
        let admin = User::admin();
        for query in [
            "",
            "f:type=contract",
            "f:status=archived",
            "f:bucket=images&f:type=contract&f:status=active",
            "query=harvest",
            "query=ticket",
            "query=unknown",
            "query=ticket&f:type=contract",
        ] {
            for user in [&farm, &small, &admin] {
                files.app.record_statements();
                files.app.get(&format!("/v1/files?{query}")).by(user).send().await.ok();
                let statements = page_statements(&files.app);
                let [_, for_these] = files.app.executed_plans::<System>(&statements[0]).await;
                assert!(!for_these.text.contains("Seq Scan"), "{query}\n{}", for_these.text);
                // Each of the four branches looks the trigrams up again, or skips the files without the words.
                assert!(for_these.pages < 1_800, "{query}\n{for_these:#?}");
            }
        }
    });
}
