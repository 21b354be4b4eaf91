//! Duplicate detection: the same content sent again.

use super::*;

/// Returns the SHA-256 digest.
fn sha256(content: &[u8]) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content).as_ref().to_vec()
}

testkit::on_both! {
    async fn rejects_content_that_the_organisation_imported_before(backend) {
        let app = app(backend).await;
        let (grain, one, two) = (User::of("grain"), VALID_CSV.as_bytes(), &VALID_CSV.replace("BG-", "XX-").into_bytes()[..]);
        send(&app, &grain, form(&[one, two])).await.ok();
        let again = send(&app, &grain, form(&[two, one])).await;
        let at = again.json()["body"]["importedAtUTC"].as_str().unwrap().to_owned();
        assert!(at.starts_with("20") && at.ends_with('Z'), "{at}");
        assert_eq!(again.json()["body"]["file"], "1.csv", "the name of the first file");
        assert_eq!(again.error(409), "conflict");
        let dry = send(&app, &grain, form(&[one, two]).text("dryRun", "true")).await;
        assert_eq!(dry.json()["body"]["importedAtUTC"], at);
        assert_eq!(count_loads(&app).await, 4);
        // Files are compared one by one, whatever else the batch contains.
        assert_eq!(send(&app, &grain, form(&[one])).await.json()["body"]["importedAtUTC"], at);
        let third = &VALID_CSV.replace("BG-", "YY-").into_bytes()[..];
        let mixed = send(&app, &grain, form(&[third, two])).await;
        assert_eq!(mixed.json()["body"]["file"], "2.csv");
        assert_eq!(mixed.error(409), "conflict");
        assert_eq!(count_loads(&app).await, 4);
        assert_eq!(send(&app, &grain, form(&[third])).await.ok()["count"], 2, "other content");
        assert_eq!(send(&app, &grain, form(&[one, two]).text("repeat", "true")).await.ok()["count"], 4);
        let later = send(&app, &grain, form(&[one, two])).await.json()["body"]["importedAtUTC"].clone();
        assert!(later.as_str().unwrap() > at.as_str(), "{later} {at}");
        assert_eq!(send(&app, &User::admin(), form(&[one, two])).await.ok()["count"], 4, "of another sender");
        assert_eq!(send(&app, &User::admin(), form(&[one, two])).await.status, 409);
    }

    async fn rejects_duplicate_files_in_one_request(backend) {
        let app = app(backend).await;
        let (one, two) = (VALID_CSV.as_bytes(), &VALID_CSV.replace("BG-", "XX-").into_bytes()[..]);
        let reply = send(&app, &User::of("grain"), form(&[one, two, one])).await;
        assert_eq!(reply.json()["validation"][0]["data"]["file"], "3.csv");
        assert_eq!(entries(&reply), ["file inconsistent 3.csv"]);
        let invalid = VALID_CSV.replace("29.4", "-1");
        let reply = send(&app, &User::of("grain"), form(&[invalid.as_bytes(), invalid.as_bytes()]).text("repeat", "true")).await;
        assert_eq!(entries(&reply), ["file inconsistent 2.csv", "rows[0].weight range 2 1.csv", "rows[2].weight range 2 2.csv"]);
        assert_eq!(count_loads(&app).await, 0);
    }

    async fn recognises_imports_of_the_previous_version(backend) {
        let app = app(backend).await;
        let (one, two) = (VALID_CSV.as_bytes(), &VALID_CSV.replace("BG-", "XX-").into_bytes()[..]);
        send(&app, &User::of("grain"), form(&[one, two])).await.ok();
        // That version stored one hash for all files of a batch.
        let mut hashes = [one, two].map(sha256);
        hashes.sort_unstable();
        let hash = base16ct::lower::encode_string(&sha256(&hashes.concat()));
        app.database.execute(&format!(
            "DELETE FROM imports WHERE content_hash <> (SELECT min(content_hash) FROM imports); UPDATE imports SET content_hash = '{hash}'"
        ));
        let again = send(&app, &User::of("grain"), form(&[two, one])).await;
        assert_eq!(again.json()["body"]["file"], "1.csv");
        assert_eq!(again.error(409), "conflict");
    }

    async fn a_dry_run_stores_nothing(backend) {
        let app = app(backend).await;
        let dry = || form(&[VALID_CSV.as_bytes()]).text("dryRun", "true");
        for _ in 0..2 {
            let answer = send(&app, &User::of("grain"), dry()).await.ok();
            assert_eq!((&answer["count"], &answer["ids"], &answer["status"]), (&json!(2), &json!([]), &json!("success")));
            assert!(answer["message"].as_str().unwrap().contains("nothing was stored"));
        }
        assert_eq!(send(&app, &User::of("other"), dry()).await.error(403), "forbidden");
        let invalid = form(&[VALID_CSV.replace("2026-03-02", "2026-13-02").as_bytes()]).text("dryRun", "true");
        assert_eq!(entries(&send(&app, &User::of("grain"), invalid).await), ["rows[1].deliveryDateISO format 3"]);
        assert_eq!(count_loads(&app).await, 0);
        send_file(&app, VALID_CSV).await.ok();
    }

    async fn concurrent_duplicates_are_stored_once(backend) {
        let app = app(backend).await;
        let replica = App::start_replica::<Logistics>(&app, Settings::default()).await;
        let rows: Vec<_> = (0..500).map(|n| format!("R-{n},2026-03-01,Feed Wheat,grain,Grain,\n")).collect();
        let table = format!("{}\n{}", VALID_CSV.lines().next().unwrap(), rows.concat());
        // SQLite databases belong to one process.
        let other = if backend == Backend::Sqlite { &app } else { &replica };
        let (one, two) = tokio::join!(send_file(&app, &table), send_file(other, &table));
        let mut replies = [one, two];
        replies.sort_by_key(|reply| reply.status);
        assert_eq!([replies[0].status, replies[1].status], [200, 409], "{}", replies[1].text());
        assert!(replies[1].json()["body"]["importedAtUTC"].is_string(), "{}", replies[1].text());
        assert_eq!(count_loads(&app).await, 500);
    }

    async fn a_repeated_request_may_name_its_files_differently(backend) {
        let app = app(backend).await;
        let post = async |form: Form| {
            app.post("/v1/loads/batch").by(&User::of("grain")).header("idempotency-key", "k1").form(form).send().await
        };
        post(form(&[VALID_CSV.as_bytes()])).await.ok();
        let renamed = Part::bytes(VALID_CSV.as_bytes()).file_name("other.csv");
        assert_eq!(post(Form::new().part("file", renamed)).await.header("idempotency-replayed"), "true");
        let other = post(form(&[VALID_CSV.as_bytes()]).text("repeat", "true")).await;
        assert_eq!(other.error(409), "idempotency_key_reused");
    }
}
