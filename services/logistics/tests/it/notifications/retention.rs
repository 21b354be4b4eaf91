//! Retention of delivered and failed notifications, and large backlogs.

use super::*;

testkit::on_both! {
    async fn deletes_delivered_and_failed_notifications_after_the_retention_period(backend) {
        let failing = Receiver::start(respond_with(500)).await;
        let app = App::start::<Logistics>(backend, failing.settings()).await;
        let (delivered, failed, pending) = (create_load(&app).await, create_load(&app).await, create_load(&app).await);
        for load in [&delivered, &failed, &pending] {
            send(&app, load).await;
            wait_for_status(&app, load, "failed").await;
        }
        let database = app.stop().await;
        let later = match backend {
            Backend::Sqlite => "4102444800000",
            Backend::Postgres => "timestamptz '2100-01-01'",
        };
        let of = |load| format!("load_id = {}", backend.id(load));
        database.execute(&format!(
            "UPDATE notifications SET pending_since = {};
             UPDATE notifications SET pending_since = {} WHERE {};
             UPDATE notifications SET status = 'delivered', delivered_at = pending_since WHERE {};
             UPDATE notifications SET status = 'pending', attempts = 0, due_at = {later} WHERE {}",
            backend.hours_ago(31 * 24), backend.hours_ago(33 * 24), of(&failed), of(&delivered), of(&pending),
        ));
        let longer = Settings { notification_retention_days: 32, ..failing.settings() };
        let app = App::start_on::<Logistics>(database, longer).await;
        wait_until(async || delivery_log(&app, &failed).await.is_empty()).await;
        assert_eq!(delivery_log(&app, &delivered).await.len(), 1, "not old enough");
        let id = delivery_log(&app, &delivered).await[0]["id"].as_str().unwrap().to_owned();
        let app = App::start_on::<Logistics>(app.stop().await, failing.settings()).await;
        wait_until(async || delivery_log(&app, &delivered).await.is_empty()).await;
        assert_eq!(delivery_log(&app, &pending).await[0]["status"], "pending");
        let path = format!("/v1/loads/{delivered}/notifications/{id}/redeliver");
        assert_eq!(app.post(&path).by(&User::admin()).send().await.error(404), "not_found");
        assert!(app.get("/metrics").send().await.text().contains("drover_notifications_pruned_total"));
    }

    async fn the_retention_period_starts_at_delivery(backend) {
        let failing = Receiver::start(respond_with(500)).await;
        let app = App::start::<Logistics>(backend, failing.settings()).await;
        let (load, other) = (create_load(&app).await, create_load(&app).await);
        for load in [&load, &other] {
            send(&app, load).await;
            wait_for_status(&app, load, "failed").await;
        }
        let database = app.stop().await;
        database.execute(&format!(
            "UPDATE notifications SET status = 'pending', attempts = 0, due_at = created_at, pending_since = {}",
            backend.hours_ago(31 * 24),
        ));
        let receiver = Receiver::start(respond_with(200)).await;
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        wait_for_status(&app, &load, "delivered").await;
        wait_for_status(&app, &other, "delivered").await;
        // Every start deletes old notifications.
        let database = app.stop().await;
        let (old, other_id) = (backend.hours_ago(31 * 24), backend.id(&other));
        database.execute(&format!("UPDATE notifications SET pending_since = {old} WHERE load_id = {other_id}"));
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        wait_until(async || delivery_log(&app, &other).await.is_empty()).await;
        assert_eq!(delivery_log(&app, &load).await[0]["status"], "delivered");
    }

    async fn a_backlog_of_100000_delays_no_other_organisation(backend) {
        let receiver = Receiver::start(respond_with(200)).await;
        let app = App::start::<Logistics>(backend, Settings::default()).await;
        let load = create_load(&app).await;
        send(&app, &load).await;
        wait_for_status(&app, &load, "delivered").await;
        let database = app.stop().await;
        let (id, due) = match backend {
            Backend::Sqlite => ("randomblob(16)", "1"),
            Backend::Postgres => ("gen_random_uuid()", "to_timestamp(1)"),
        };
        // One organisation has half of them, a hundred others share the rest.
        database.execute(&format!(
            "INSERT INTO notifications (id, load_id, event, recipient_id, status, attempts, created_at, pending_since, due_at, body, organisation_id)
             SELECT {id}, load_id, event, 'r', 'pending', 0, created_at, pending_since, {due}, body,
                CASE WHEN n % 2 = 0 THEN 'many' ELSE 'o' || (n % 199) END FROM notifications, {}",
            backend.numbers(100_000)
        ));
        let app = App::start_on::<Logistics>(database, receiver.settings()).await;
        app.record_statements();
        send(&app, &load).await;
        let is_pending = |entry: &Value| entry["recipientId"] == "dai" && entry["status"] == "pending";
        wait_until(async || delivery_log(&app, &load).await.iter().any(is_pending)
            || receiver.requests().await.iter().any(|r| String::from_utf8_lossy(&r.body).contains("\"dai\""))).await;
        if backend == Backend::Sqlite {
            let statements = app.take_statements();
            let turns = statements.iter().find(|statement| statement.starts_with("WITH RECURSIVE turns")).unwrap();
            let plan = app.query_plan(turns);
            assert!(!plan.contains("SCAN m") && !plan.contains("SCAN notifications"), "{plan}");
            assert!(plan.contains("notifications_turns (organisation_id=? AND due_at<?)"), "{plan}");
            let claims = statements.iter().find(|statement| statement.starts_with("WITH due")).unwrap();
            let plan = app.query_plan(claims);
            assert!(plan.contains("notifications_turns (organisation_id=? AND due_at<?)"), "{plan}");
            assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN notifications"), "{plan}");
        }
    }
}
