//! The most bytes of all files of an owner.

use std::time::Instant;

use futures_util::future::join_all;
use serde_json::json;
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, TestResponse, User};

use super::image_samples::jpeg_with_position;
use super::{Files, form, id, on_all, part, start_with};
use crate::with_temp_store;

fn settings(of_organisation: u64, of_user: u64) -> Settings {
    Settings {
        max_bytes_per_organisation: of_organisation,
        max_bytes_per_user: of_user,
        ..Settings::default()
    }
}

async fn upload(app: &App, user: &User, parts: &[&[u8]]) -> TestResponse {
    let form = form("files", "misc", "x");
    let form = parts.iter().fold(form, |form, content| form.part("file", part(content)));
    app.post("/v1/files").by(user).form(form).send().await
}

/// Returns bytes and number of the files.
async fn usage(files: &Files, user: &User) -> (i64, i64) {
    let usage = files.app.get("/v1/files/usage").by(user).send().await.ok();
    (usage["bytes"].as_i64().unwrap(), usage["files"].as_i64().unwrap())
}

fn assert_exceeded(response: TestResponse) {
    let body = response.json();
    assert_eq!(body["body"]["reason"], "quota_exceeded", "{body}");
    assert_eq!(response.error(403), "forbidden");
}

/// Stores a file without the service, as the previous release does: without counting it.
fn insert(database: &TestDatabase, backend: Backend, owner: &str, number: usize) {
    let (table, at) = match backend {
        Backend::Sqlite => ("files", "1767225600000"),
        Backend::Postgres => ("system.files", "'2026-01-01T00:00:00Z'"),
    };
    let file = match backend {
        Backend::Sqlite => format!("x'01980000000070008000{number:012x}'"),
        Backend::Postgres => format!("'01980000-0000-7000-8000-{number:012x}'"),
    };
    database.execute(&format!(
        "INSERT INTO {table} (id, bucket, kind, organisation_id, name, hash, content_type, size, user_id, user_name,
            organisations, created_at, name_key)
         VALUES ({file}, 'files', 'misc', {owner}, 'x', '{}', 'text/plain', 7, 'ann', 'Ann', '[]', {at}, 'x')",
        "0".repeat(64)
    ));
}

on_all! {
    async fn files_of_an_owner_have_at_most_so_many_bytes(storage) {
        let files = start_with(storage, settings(100, 10)).await;
        let (farm, mart, ann) = (User::of("farm"), User::of("mart"), User::individual("ann"));
        let sixty = [7; 60];
        assert_eq!(usage(&files, &farm).await, (0, 0));
        let first = id(&upload(&files.app, &farm, &[&sixty]).await.ok());
        let stored = files.stored().await.len();
        assert_exceeded(upload(&files.app, &farm, &[&sixty]).await);
        // Of several parts, none is stored.
        assert_exceeded(upload(&files.app, &farm, &[b"a", &[1; 40]]).await);
        assert_eq!(files.stored().await.len(), stored, "nothing is left of what was refused");
        // Archived files count, and so does equal content.
        files.archive(&farm, &first).await.ok();
        assert_exceeded(upload(&files.app, &farm, &[&sixty]).await);
        upload(&files.app, &farm, &[&[1; 20], &[1; 20]]).await.ok();
        assert_eq!(usage(&files, &farm).await, (100, 3));
        assert_exceeded(upload(&files.app, &farm, &[b"a"]).await);
        // Other owners have their own quota: an organisation, also by an admin, and a user without one.
        upload(&files.app, &mart, &[&sixty]).await.ok();
        let for_farm = form("files", "misc", "x").text("organisationId", "farm").part("file", part(b"a"));
        assert_exceeded(files.upload(&User::admin(), for_farm).await);
        upload(&files.app, &ann, &[&[1; 10]]).await.ok();
        assert_exceeded(upload(&files.app, &ann, &[b"a"]).await);
        let own = files.app.get("/v1/files/usage").by(&ann).send().await.ok();
        assert_eq!(own, json!({"bytes": 10, "files": 1, "maximumBytes": 10}));
        let with_organisation = files.app.get("/v1/files/usage").by(&farm).send().await.ok();
        assert_eq!(with_organisation["maximumBytes"], 100);
    }

    async fn stripped_bytes_do_not_count(storage) {
        let files = start_with(storage, Settings::default()).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        let private = form("files", "misc", "a.jpg").part("file", part(&content));
        let file = id(&files.upload(&farm, private).await.ok());
        assert_eq!(usage(&files, &farm).await, (i64::try_from(content.len()).unwrap(), 1));
        files.resolve(&farm, json!({"ids": [file], "shareWith": ["*"]})).await.ok();
        let stored = i64::try_from(files.get(&farm, &file).await.bytes.len()).unwrap();
        assert_eq!(usage(&files, &farm).await, (stored, 1));
        // Smaller copies do not count.
        files.app.get(&format!("/v1/files/{file}?width=160")).by(&farm).send().await;
        assert_eq!(usage(&files, &farm).await, (stored, 1));
    }
}

testkit::on_both! {
    /// Uploads at the same time, through two replicas on PostgreSQL, do not exceed it together.
    async fn parallel_uploads_share_the_quota(backend) {
        let (settings, _folder) = with_temp_store(settings(1000, 1000));
        let first = App::start::<System>(backend, settings.clone()).await;
        let replica = match backend {
            Backend::Postgres => Some(App::start_replica::<System>(&first, settings).await),
            Backend::Sqlite => None,
        };
        let apps = [&first, replica.as_ref().unwrap_or(&first)];
        let farm = User::of("farm");
        let uploads = (0..40u8).map(|n| {
            let (app, farm) = (apps[usize::from(n) % 2], &farm);
            async move {
                loop {
                    let response = upload(app, farm, &[&[n; 60], &[n + 100; 40]]).await;
                    // A conflict that was repeated too often: nothing was stored.
                    if response.status != 503 {
                        return response;
                    }
                }
            }
        });
        let responses = join_all(uploads).await;
        let stored = responses.iter().filter(|response| response.status == 200).count();
        assert_eq!(stored, 10, "{:?}", responses.iter().map(|response| response.status).collect::<Vec<_>>());
        responses.into_iter().filter(|response| response.status != 200).for_each(assert_exceeded);
        let used = first.get("/v1/files/usage").by(&farm).send().await.ok();
        assert_eq!(used, json!({"bytes": 1000, "files": 20, "maximumBytes": 1000}));
    }

    /// The number of files is limited however small they are, so that the table of files cannot grow without limit.
    async fn owners_have_at_most_so_many_files(backend) {
        let files = start_with(backend, settings(1000, 1000)).await;
        let farm = User::of("farm");
        upload(&files.app, &farm, &[b"a"]).await.ok();
        let table = match backend {
            Backend::Sqlite => "storage_usage",
            Backend::Postgres => "system.storage_usage",
        };
        files.app.database.execute(&format!("UPDATE {table} SET files = 9998"));
        assert_exceeded(upload(&files.app, &farm, &[b"b", b"c", b"d"]).await);
        upload(&files.app, &farm, &[b"b", b"c"]).await.ok();
        assert_exceeded(upload(&files.app, &farm, &[b"d"]).await);
        assert_eq!(usage(&files, &farm).await, (3, 10_000));
    }

    /// Files from before the count, also after the count of an owner was made: it is made again a day later.
    async fn files_of_the_previous_release_count(backend) {
        let files = start_with(backend, settings(30, 30)).await;
        let (farm, ann) = (User::of("farm"), User::individual("ann"));
        for n in 0..3 {
            insert(&files.app.database, backend, "'farm'", n);
        }
        insert(&files.app.database, backend, "NULL", 3);
        assert_eq!(usage(&files, &farm).await, (21, 3));
        assert_eq!(usage(&files, &ann).await, (7, 1));
        assert_exceeded(upload(&files.app, &farm, &[&[1; 10]]).await);
        upload(&files.app, &farm, &[b"a"]).await.ok();
        insert(&files.app.database, backend, "'farm'", 4);
        assert_eq!(usage(&files, &farm).await, (22, 4));
        let (table, day) = match backend {
            Backend::Sqlite => ("storage_usage", "counted_at - 86400001"),
            Backend::Postgres => ("system.storage_usage", "counted_at - interval '25 hours'"),
        };
        files.app.database.execute(&format!("UPDATE {table} SET counted_at = {day}"));
        assert_eq!(usage(&files, &farm).await, (29, 5));
        assert_exceeded(upload(&files.app, &farm, &[b"ab"]).await);
        upload(&files.app, &farm, &[b"a"]).await.ok();
        assert_eq!(usage(&files, &farm).await, (30, 6));
    }

    /// The row of a user whose id is erased does not stay.
    async fn an_erasure_forgets_what_a_user_uses(backend) {
        let files = start_with(backend, settings(30, 30)).await;
        let ann = User::individual("ann");
        upload(&files.app, &ann, &[b"a"]).await.ok();
        assert_eq!(files.app.database.count("storage_usage"), 1);
        files.app.post("/v1/users/ann/erase").by(&User::admin()).send().await.ok();
        assert_eq!(files.app.database.count("storage_usage"), 0);
    }
}

testkit::on_both! {
    async fn counting_reads_an_index_only(backend) {
        let files = start_with(backend, Settings::default()).await;
        let (table, file, at) = match backend {
            Backend::Sqlite => ("files", "randomblob(16)", "1767225600000"),
            Backend::Postgres => ("system.files", "gen_random_uuid()", "now()"),
        };
        files.app.database.execute(&format!(
            "INSERT INTO {table} (id, bucket, kind, organisation_id, name, hash, content_type, size, user_id, user_name,
                organisations, created_at, name_key)
             SELECT {file}, 'files', 'misc', CASE WHEN n % 2 = 0 THEN 'farm' ELSE 'mart' END, 'x', n, 'text/plain', 7,
                'ann', 'Ann', '[]', {at}, 'x'
             FROM {}",
            backend.numbers(200_000)
        ));
        if backend == Backend::Postgres {
            files.app.database.execute(&format!("VACUUM ANALYZE {table}"));
        }
        files.app.record_statements();
        let started = Instant::now();
        assert_eq!(usage(&files, &User::of("farm")).await, (700_000, 100_000));
        println!("{backend:?}: counted in {:?}", started.elapsed());
        let statements = files.app.take_statements();
        let statement = statements.iter().find(|sql| sql.contains("SUM(size)")).unwrap();
        match backend {
            Backend::Sqlite => {
                let plan = files.app.query_plan(statement);
                assert!(plan.contains("COVERING INDEX files_owner_size (organisation_id=?)"), "{plan}");
            }
            Backend::Postgres => {
                let [plan, _] = files.app.executed_plans::<System>(statement).await;
                assert!(plan.text.contains("Index Only Scan using files_owner_size"), "{}", plan.text);
                // Without a visibility map it also looks at each row, once.
                assert!(plan.pages < 5_000, "{plan:?}");
            }
        }
    }
}
