//! Old notifications are deleted, and what is pending is delivered however many there are.

use super::*;

fn table(backend: testkit::Backend) -> &'static str {
    if backend == testkit::Backend::Sqlite { "notifications" } else { "logistics.notifications" }
}

testkit::on_both! {
    async fn delivered_and_failed_ones_are_deleted_after_some_days(backend) {
        let broken = Receiver::start(answer(500)).await;
        let app = App::start::<Logistics>(backend, broken.settings()).await;
        let (delivered, failed, pending) = (created(&app).await, created(&app).await, created(&app).await);
        for load in [&delivered, &failed, &pending] {
            send(&app, load).await;
            settled(&app, load, "failed").await;
        }
        let database = app.stop().await;
        let (name, day) = match backend {
            testkit::Backend::Sqlite => ("notifications", "86400000"),
            testkit::Backend::Postgres => ("logistics.notifications", "interval '1 day'"),
        };
        let of = |load: &str| match backend {
            testkit::Backend::Sqlite => format!("load_id = x'{}'", load.replace('-', "")),
            testkit::Backend::Postgres => format!("load_id = '{load}'"),
        };
        database.execute(&format!(
            "UPDATE {name} SET pending_since = pending_since - 31 * {day};
             UPDATE {name} SET status = 'delivered', delivered_at = pending_since WHERE {};
             UPDATE {name} SET status = 'pending', attempts = 0, due_at = pending_since + 40 * {day} WHERE {}",
            of(&delivered), of(&pending),
        ));
        let kept = Settings { notification_retention_days: 32, ..broken.settings() };
        let app = App::start_on::<Logistics>(database, kept).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(log(&app, &delivered).await.len(), 1, "not old enough");
        let id = log(&app, &delivered).await[0]["id"].as_str().unwrap().to_owned();
        let app = App::start_on::<Logistics>(app.stop().await, broken.settings()).await;
        eventually(async || log(&app, &delivered).await.is_empty() && log(&app, &failed).await.is_empty()).await;
        assert_eq!(log(&app, &pending).await[0]["status"], "pending");
        let path = format!("/v1/loads/{delivered}/notifications/{id}/redeliver");
        assert_eq!(app.post(&path).by(&User::admin()).send().await.error(404), "not_found");
        assert!(app.get("/metrics").send().await.text().contains("drover_notifications_pruned_total"));
    }

    async fn one_that_was_pending_for_long_is_kept_from_its_delivery_on(backend) {
        let broken = Receiver::start(answer(500)).await;
        let app = App::start::<Logistics>(backend, broken.settings()).await;
        let load = created(&app).await;
        send(&app, &load).await;
        settled(&app, &load, "failed").await;
        let database = app.stop().await;
        let day = if backend == testkit::Backend::Sqlite { "86400000" } else { "interval '1 day'" };
        database.execute(&format!(
            "UPDATE {} SET status = 'pending', attempts = 0, due_at = created_at, pending_since = pending_since - 31 * {day}",
            table(backend)
        ));
        let receiver = Receiver::start(answer(200)).await;
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        settled(&app, &load, "delivered").await;
        // It looks for old ones when it starts.
        let app = App::start_on::<Logistics>(app.stop().await, receiver.settings()).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(log(&app, &load).await[0]["status"], "delivered");
    }

    async fn a_hundred_thousand_that_are_pending_delay_nobody(backend) {
        let receiver = Receiver::start(answer(200)).await;
        let app = App::start::<Logistics>(backend, Settings::default()).await;
        let load = created(&app).await;
        send(&app, &load).await;
        settled(&app, &load, "delivered").await;
        let database = app.stop().await;
        let name = table(backend);
        let (numbers, id, due) = match backend {
            testkit::Backend::Sqlite => (
                "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000) SELECT n FROM s)",
                "randomblob(16)", "1",
            ),
            testkit::Backend::Postgres => ("generate_series(1, 100000) AS s (n)", "gen_random_uuid()", "to_timestamp(1)"),
        };
        // Of one organisation half, the others of a hundred.
        database.execute(&format!(
            "INSERT INTO {name} (id, load_id, event, recipient_id, status, attempts, created_at, pending_since, due_at, body, organisation_id)
             SELECT {id}, load_id, event, 'r', 'pending', 0, created_at, pending_since, {due}, body,
                CASE WHEN n % 2 = 0 THEN 'many' ELSE 'o' || (n % 199) END FROM {name}, {numbers}"
        ));
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        app.record_statements();
        send(&app, &load).await;
        eventually(async || log(&app, &load).await.iter().any(|entry| entry["recipientId"] == "dai" && entry["status"] == "pending")
            || receiver.requests().await.iter().any(|r| String::from_utf8_lossy(&r.body).contains("\"dai\""))).await;
        if backend == testkit::Backend::Sqlite {
            let statements = app.take_statements();
            let turns = statements.iter().find(|said| said.starts_with("WITH RECURSIVE turns")).unwrap();
            let plan = app.query_plan(turns);
            assert!(!plan.contains("SCAN n") && !plan.contains("SCAN notifications"), "{plan}");
            assert!(plan.contains("notifications_turns (organisation_id=? AND due_at<?)"), "{plan}");
            let claims = "SELECT `notifications`.`id`, `notifications`.`load_id`, `notifications`.`organisation_id`";
            let plan = app.query_plan(statements.iter().find(|said| said.starts_with(claims)).unwrap());
            assert!(plan.contains("notifications_turns (organisation_id=? AND due_at<?)"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
