//! `GET /v1/files`

use serde_json::{Value, json};
use testkit::{Backend, User};

use super::{Files, PNG, form, id, part, start};

/// Uploads a file with this name. Returns its id.
async fn upload(files: &Files, user: &User, bucket: &str, kind: &str, name: &str) -> String {
    let content = if bucket == "images" { PNG } else { name.as_bytes() };
    id(&files.upload(user, form(bucket, kind, name).part("file", part(content))).await.ok())
}

/// Returns the names of the files that a search finds, in order.
async fn names(files: &Files, user: &User, query: &str) -> Vec<String> {
    let found = files.app.get(&format!("/v1/files?{query}")).by(user).send().await.ok();
    found.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn files_are_found_by_filters_and_words(backend) {
        let files = start(backend).await;
        let (farm, other, admin) = (User::of("farm"), User::of("other"), User::admin());
        upload(&files, &other, "files", "contract", "Contract of another").await;
        upload(&files, &farm, "files", "weighbridge", "Ticket 48213.pdf").await;
        let archived = upload(&files, &farm, "files", "weighbridge", "Ticket 48214 ÄLT.pdf").await;
        upload(&files, &farm, "images", "image", "Cow_1 100%.png").await;
        upload(&files, &farm, "files", "contract", "Barley contract.pdf").await;
        files.archive(&farm, &archived).await.ok();

        let all = ["Barley contract.pdf", "Cow_1 100%.png", "Ticket 48214 ÄLT.pdf", "Ticket 48213.pdf"];
        for (query, expected) in [
            ("", &all[..]),
            ("f:organisationId=farm", &all),
            ("f:organisationId=other", &[]),
            ("f:type=weighbridge", &all[2..]),
            ("f:type=weighbridge&f:status=active", &all[3..]),
            ("f:status=archived", &all[2..3]),
            ("f:status=active&f:bucket=images", &all[1..2]),
            ("f:bucket=files&f:type=contract", &all[..1]),
            ("f:bucket=images&f:type=contract", &[]),
            ("query=TICKET", &all[2..]),
            ("query=ticket%20pdf%2048213", &all[3..]),
            ("query=%C3%A4lt", &all[2..3]),
            ("query=100%25", &all[1..2]),
            ("query=%25%25", &all),
            ("query=c%25w", &[]),
            ("query=_1", &all[1..2]),
            ("query=1", &all[1..2]),
            ("query=4", &all[2..]),
            ("query=w", &[]),
            ("query=%C3%A4", &all[2..3]),
            ("query=another", &[]),
            ("query=ticket&f:status=archived&f:bucket=files&f:type=weighbridge", &all[2..3]),
            ("limit=2", &all[..2]),
            ("limit=2&offset=1", &all[1..3]),
        ] {
            assert_eq!(names(&files, &farm, query).await, expected, "{query}");
        }
        assert_eq!(names(&files, &admin, "query=contract").await, ["Barley contract.pdf", "Contract of another"]);
        assert_eq!(names(&files, &admin, "f:organisationId=other").await, ["Contract of another"]);
        assert_eq!(names(&files, &admin, "").await.len(), 5);
        assert_eq!(names(&files, &other, "").await, ["Contract of another"]);
    }

    async fn pages_continue_after_the_last_file(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let mut uploaded = Vec::new();
        for n in 0..9 {
            let (bucket, kind) = if n % 2 == 0 { ("images", "image") } else { ("files", "misc") };
            let file = upload(&files, &farm, bucket, kind, &format!("file {n}")).await;
            if n % 3 == 0 {
                files.archive(&farm, &file).await.ok();
            }
            uploaded.push(file);
        }
        uploaded.reverse();
        for query in ["limit=2&count=true", "limit=4&query=file&count=true"] {
            let mut found = Vec::new();
            for page in files.app.pages(&farm, &format!("/v1/files?{query}")).await {
                assert_eq!(page.header("x-total-count"), "9");
                assert!(page.link("next").is_none_or(|next| next.contains("cursor=")));
                found.extend(page.entries().iter().map(id));
            }
            assert_eq!(found, uploaded, "{query}");
        }
    }

    async fn entries_are_file_information(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let form = form("files", "misc", "a.txt").text("organisations", "haulier,*").part("file", part(b"x"));
        let file = id(&files.upload(&farm, form).await.ok());
        let listed = files.app.get("/v1/files").by(&farm).send().await.ok();
        let mut info = files.info(&farm, &file).await.ok();
        info["id"] = json!(file);
        assert_eq!(listed, json!([info]));
        assert_eq!(info["organisations"], json!(["haulier", "*"]));
        // Shared files are not among the organisation's own.
        let haulier = User::of("haulier");
        assert_eq!(files.app.get("/v1/files").by(&haulier).send().await.ok(), json!([]));
    }

    async fn a_user_alone_sees_its_own_files(backend) {
        let files = start(backend).await;
        let (ann, bob) = (User::individual("ann"), User::individual("bob"));
        upload(&files, &ann, "files", "misc", "of ann").await;
        upload(&files, &bob, "files", "misc", "of bob").await;
        upload(&files, &User::of("farm").with("sub", "ann"), "files", "misc", "of ann's farm").await;
        assert_eq!(names(&files, &ann, "").await, ["of ann"]);
        assert_eq!(names(&files, &ann, "f:bucket=files&f:status=active&query=ann").await, ["of ann"]);
        assert_eq!(names(&files, &ann, "f:organisationId=farm").await, [""; 0]);
    }

    async fn all_invalid_parameters_are_reported(backend) {
        let files = start(backend).await;
        let words = "a%20".repeat(17);
        let query = format!("f:type=paper&f:bucket=x&f:status=deleted&limit=0&cursor=x&query={words}");
        let errors = files.app.get(&format!("/v1/files?{query}")).by(&User::of("farm")).send().await.errors();
        let expected =
            ["cursor format", "f:bucket enum", "f:status enum", "f:type enum", "limit range", "query length"];
        assert_eq!(errors, expected);
    }

    async fn files_of_the_previous_release_are_found_by_name(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        upload(&files, &farm, "files", "misc", "OLD Ünit").await;
        // As the previous release inserts it.
        files.app.database.execute(&format!(
            "INSERT INTO files (id, bucket, kind, organisation_id, name, hash, content_type, size, user_id, user_name,
             organisations, created_at) SELECT {}, bucket, kind, organisation_id, 'ÄLTER', hash, content_type, size,
             user_id, user_name, organisations, created_at FROM files",
            if backend == Backend::Sqlite { "randomblob(16)" } else { "gen_random_uuid()" },
        ));
        let settings = files.settings.clone();
        let replica = testkit::App::start_replica::<system::System>(&files.app, settings).await;
        let found = replica.get("/v1/files?query=%C3%A4lter").by(&farm).send().await.ok();
        assert_eq!(found.as_array().map(Vec::len), Some(1));
        assert_eq!(names(&files, &farm, "query=%C3%BCnit").await, ["OLD Ünit"]);
    }

    /// A page of files that are shared with many organisations is large.
    async fn large_pages_need_a_permit(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        for n in 0..8 {
            upload(&files, &farm, "files", "misc", &format!("{n}")).await;
        }
        let organisations: Vec<_> = (0..200).map(|n| format!("{n:04}{}", "\u{1f404}".repeat(196))).collect();
        files.set_organisations(backend, &organisations);
        let page: Value = files.app.get("/v1/files").by(&farm).send().await.ok();
        let sizes: Vec<_> = page.as_array().unwrap().iter().map(|f| f["organisations"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [200; 8]);
    }
}
