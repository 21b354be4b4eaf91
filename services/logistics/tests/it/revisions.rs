//! Revisions of loads: `ETag`, `If-None-Match` and `If-Match`.

use super::*;

testkit::on_both! {
    async fn reads_carry_the_revision(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        let path = format!("/v1/loads/{id}");
        for method in ["GET", "HEAD"] {
            let reply = app.call(method, &path).by(&haul).send().await;
            assert_eq!((reply.status, reply.header("etag")), (200, "\"1\""), "{method}");
            for known in ["\"1\"", "W/\"1\"", "*", "\"7\", \"1\"", "\"7\",W/\"1\""] {
                let reply = app.call(method, &path).by(&haul).header("if-none-match", known).send().await;
                assert_eq!((reply.status, reply.header("etag")), (304, "\"1\""), "{method} {known}");
                assert!(reply.bytes.is_empty() && !reply.header("x-request-id").is_empty());
            }
            for other in ["\"2\"", "1", "\"\"", "nonsense"] {
                let reply = app.call(method, &path).by(&haul).header("if-none-match", other).send().await;
                assert_eq!(reply.status, 200, "{method} {other}");
            }
        }
        let stranger = app.get(&path).by(&User::of("other")).header("if-none-match", "*").send().await;
        assert_eq!(stranger.error(403), "forbidden");
        assert_eq!(app.get("/v1/loads/nonsense").by(&haul).header("if-none-match", "*").send().await.status, 404);
    }

    async fn bodies_show_the_revision_and_its_time(backend) {
        let (app, haul) = (app(backend).await, User::of("haul"));
        let id = create_load(&app).await;
        let path = format!("/v1/loads/{id}");
        let created = app.get(&path).by(&haul).send().await.ok();
        assert_eq!((&created["revision"], &created["updatedAtUTC"]), (&json!(1), &created["createdAtUTC"]));
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        let edited = patch(&app, &haul, &id, &json!({"weightNet": 3})).await.ok();
        assert_eq!(edited["revision"], 2);
        assert!(edited["updatedAtUTC"].as_str() > created["updatedAtUTC"].as_str(), "{edited}");
        for list in ["/v1/loads".to_owned(), format!("/v1/loads/by-ids?ids={id}"), "/v1/loads?query=HH-1".to_owned()] {
            assert_eq!(app.get(&list).by(&haul).send().await.ok(), json!([edited]), "{list}");
        }
        let feed = feed::page(&app, &haul, "include=resource").await;
        assert_eq!(feed["events"][1]["load"], edited);
        let csv = app.get("/v1/loads?format=CSV").by(&haul).send().await;
        assert!(!String::from_utf8_lossy(&csv.bytes).contains("revision"));
        let invalid = patch(&app, &haul, &id, &json!({"revision": 2, "updatedAtUTC": edited["updatedAtUTC"]})).await;
        let mut errors = invalid.errors();
        errors.sort();
        assert_eq!(errors, ["revision inconsistent", "updatedAtUTC inconsistent"]);
        let proven = prove(&app, &haul, &id, &proof_form()).await;
        assert_eq!((tag(&proven), proven.ok()["revision"].clone()), (3, json!(3)));
        accept(&app, &id).await;
        assert_eq!(revision(&app, &id).await, 4);
    }

    async fn changes_honour_if_match(backend) {
        let app = app(backend).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        let path = format!("/v1/loads/{id}");
        let send = async |method: &str, path: &str, user: &User, known: &str, body: Value| {
            app.call(method, path).by(user).header("if-match", known).json(&body).send().await
        };
        for other in ["\"2\"", "W/\"2\"", "1", "\"7\", W/\"3-gzip\""] {
            for (method, path, body) in [
                ("PATCH", path.clone(), json!({"weight": 3})),
                ("PATCH", path.clone(), json!({})),
                ("POST", format!("{path}/cancel"), json!({})),
            ] {
                let reply = send(method, &path, &grain, other, body).await;
                assert_eq!(reply.json()["body"]["revision"], 1);
                assert_eq!(reply.error(412), "precondition_failed", "{method} {other}");
            }
        }
        assert_eq!(revision(&app, &id).await, 1);
        for (n, known) in ["\"1\"", "*", "\"9\", \"3\""].into_iter().enumerate() {
            send("PATCH", &path, &grain, known, json!({"weight": n + 3})).await.ok();
        }
        // Invalid members and foreign loads come before the condition, and so does the status.
        let invalid = send("PATCH", &path, &grain, "\"1\"", json!({"status": "completed"})).await;
        assert_eq!(invalid.errors(), ["status inconsistent"]);
        assert_eq!(send("PATCH", &path, &User::of("other"), "\"1\"", json!({})).await.error(403), "forbidden");
        let nowhere = "/v1/loads/0190f5fe-0000-7000-8000-000000000000";
        assert_eq!(send("PATCH", nowhere, &grain, "*", json!({})).await.error(404), "not_found");
        assert_eq!(send("POST", &format!("{path}/cancel"), &grain, "\"4\"", json!({})).await.status, 200);
        assert_eq!(send("PATCH", &path, &grain, "\"4\"", json!({})).await.error(409), "conflict");
        assert_eq!(send("POST", &format!("{path}/cancel"), &grain, "\"4\"", json!({})).await.error(412), "precondition_failed");
    }

    async fn one_of_concurrent_edits_of_a_revision_succeeds(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=8 {
            let call = app.call("PATCH", &format!("/v1/loads/{id}")).by(&User::of("grain"));
            tasks.spawn(call.header("if-match", "\"1\"").json(&json!({"weight": n})).send());
        }
        let statuses: Vec<_> = tasks.join_all().await.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 412].contains(status)), "{statuses:?}");
        assert_eq!((revision(&app, &id).await, events(&app, &id).await.len()), (2, 2));
    }

    async fn every_change_of_a_load_honours_if_match(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let (id, entered) = (create_load(&app).await, create_load(&app).await);
        let sent = json!({"loadId": id, "driverId": "dai"});
        app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        let unknown = app.call("DELETE", &format!("/v1/loads/{id}/drivers/nobody")).by(&haul);
        assert_eq!(unknown.header("if-match", "\"99\"").send().await.error(404), "not_found");
        let correction = json!({"weightNet": 28, "reason": "misread"});
        for (method, path, user, body) in [
            ("POST", format!("/v1/loads/{entered}/accept"), &grain, json!({})),
            ("DELETE", format!("/v1/loads/{id}/drivers/dai"), &haul, json!({})),
            ("PATCH", format!("/v1/loads/{id}"), &haul, json!({"ticketNumber": "1"})),
            ("POST", format!("/v1/loads/{id}/proof-of-delivery"), &haul, proof_form()),
            ("POST", format!("/v1/loads/{id}/proof-of-delivery/corrections"), &haul, correction),
            ("POST", format!("/v1/loads/{entered}/cancel"), &grain, json!({})),
        ] {
            let load = if path.contains(&entered) { &entered } else { &id };
            let known = revision(&app, load).await;
            let call = async |tag: String, key: &str| {
                let request = app.call(method, &path).by(user).json(&body).header("if-match", &tag);
                request.header("idempotency-key", key).send().await
            };
            let stale = call("\"99\"".into(), &format!("\"stale {path}\"")).await;
            assert_eq!(stale.json()["body"]["revision"], known, "{method} {path}");
            assert_eq!(stale.error(412), "precondition_failed");
            assert_eq!(revision(&app, load).await, known, "{method} {path}");
            let key = format!("\"{path}\"");
            call(format!("W/\"{known}\""), &key).await.ok();
            assert_eq!(revision(&app, load).await, known + 1, "{method} {path}");
            if method == "POST" {
                call(format!("\"{known}\""), &key).await.ok();
                let repeat = call(format!("\"{known}\""), &format!("\"repeat {path}\"")).await;
                assert_eq!(repeat.error(412), "precondition_failed", "{path}");
            }
        }
    }
}
