//! The export and the erasure of everything that the service holds about a user.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use testkit::ErasedUser;

use super::*;

fn with_file(form: Value, id: &str) -> Value {
    with(form, "files", json!([{ "id": id }]))
}

async fn create(app: &App, user: &User, form: &Value) -> String {
    let request = app.post("/v1/loads/organiser").by(user).header("idempotency-key", "create").json(form);
    request.send().await.ok()["id"].as_str().unwrap().to_owned()
}

async fn send_to_driver(app: &App, id: &str, driver: &str) {
    let form = json!({"loadId": id, "driverId": driver});
    app.post("/v1/loads/send-to-driver").by(&User::of("grain")).json(&form).send().await.ok();
}

/// Waits until the service has stored that the user has called.
async fn wait_until_known(app: &App) {
    let row = format!("known_callers WHERE kind = 'driver' AND id = '{}'", ErasedUser::ID);
    testkit::wait_until(async || app.database.count(&row) == 1).await;
}

/// Begins an erasure that makes the id of the user `erased-before`.
fn begin_erasure(app: &App, backend: Backend) {
    let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(ErasedUser::ID));
    let begun = if backend == Backend::Postgres { "now()" } else { "0" };
    app.database.execute(&format!("INSERT INTO erasures VALUES ('{hash}', 'erased-before', {begun})"));
}

/// The ids of loads that concern the user.
struct Loads {
    own: String,
    of_colleague: String,
    sent: String,
    accepted: String,
    /// A file of the user.
    file: String,
}

/// Stores every kind of record of the user.
async fn create_records(app: &App, system: &SystemStub) -> Loads {
    let (zeph, colleague) = (ErasedUser::of("grain"), User::of("grain"));
    let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["load.created", "load.completed", "load.driver_revoked"]});
    app.post("/v1/webhooks").by(&colleague).json(&hook).send().await.ok();
    let file = system.add_with_name("ticket.jpg", &zeph, ErasedUser::NAME);
    let own = create(app, &zeph, &with_file(organiser_form(), &file)).await;
    patch(app, &zeph, &own, &json!({"ticketNumber": "edited"})).await.ok();
    app.post(&format!("/v1/loads/{own}/notes")).by(&zeph).json(&json!({"text": "late"})).send().await.ok();
    let of_colleague = create(app, &colleague, &with_file(organiser_form(), &file)).await;
    send_to_driver(app, &of_colleague, "dai").await;

    let sent = app.post("/v1/loads/organiser").by(&colleague).json(&organiser_form()).send().await.ok();
    let sent = sent["id"].as_str().unwrap().to_owned();
    send_to_driver(app, &sent, ErasedUser::ID).await;
    let driver = User::individual(ErasedUser::ID).with("name", ErasedUser::NAME);
    prove(app, &driver, &sent, &with_file(proof_form(), &file)).await.ok();

    let revoked = create_load(app).await;
    send_to_driver(app, &revoked, ErasedUser::ID).await;
    let path = format!("/v1/loads/{revoked}/drivers/{}", ErasedUser::IN_PATH);
    app.call("DELETE", &path).by(&colleague).send().await.ok();
    let cancelled = create_load(app).await;
    send_to_driver(app, &cancelled, ErasedUser::ID).await;
    cancel(app, &colleague, &cancelled).await.ok();
    let accepted = create_load(app).await;
    app.post(&format!("/v1/loads/{accepted}/accept")).by(&zeph).send().await.ok();

    super::batch::send_file_as(app, &zeph, super::batch::VALID_CSV).await.ok();
    system.set_share_status(Some(503));
    let form = with_file(organiser_form(), &system.add_with_name("late.jpg", &zeph, ErasedUser::NAME));
    app.post("/v1/loads/organiser").by(&zeph).json(&form).send().await.ok();
    Loads { own, of_colleague, sent, accepted, file }
}

testkit::on_both! {
    async fn erases_every_mention_and_keeps_the_records(backend) {
        let (app, system) = app_with_files(backend).await;
        let loads = create_records(&app, &system).await;
        app.get("/v1/drivers").by(&User::of("grain")).send().await.ok();
        let ids = [
            "contacts.contact_id", "contacts.words", "due_shares.user_id", "file_uploaders.user_id",
            "idempotency_keys.caller", "known_callers.id", "load_batches.user_id", "load_drivers.driver_id",
            "load_events.changes", "load_events.user_id", "loads.accepted_by", "loads.creator_id", "notifications.body",
            "notifications.recipient_id", "user_notes.user_id", "webhook_message_users.user_id", "webhook_messages.body",
        ];
        let names = [
            "contacts.name", "contacts.name_key", "contacts.words", "idempotency_keys.answer", "known_callers.name",
            "load_batches.user_name", "load_events.user_name", "loads.creator_name", "loads.document",
            "notifications.body", "webhook_messages.body",
        ];
        ErasedUser::assert_mentioned(&app, &ids, &names);
        let exported = ErasedUser::count(&app).await;
        // The notification of the driver who was revoked was dropped, unless it was delivered before.
        let notifications = exported["notifications"];
        assert!((2..=3).contains(&notifications), "{exported:?}");
        let books = exported["addressBooks"];
        assert_eq!(books, 1, "the colleague has read the address book");
        let expected = [
            ("acceptedLoads", 1), ("addressBooks", books), ("batches", 1), ("driverEvents", 4), ("drivers", 2),
            ("events", 8), ("files", 4), ("idempotencyKeys", 1), ("knownAs", 1), ("loads", 4),
            ("notifications", notifications), ("pendingShares", 1), ("webhookDeliveries", 5),
        ];
        assert_eq!(exported, BTreeMap::from(expected.map(|(name, count)| (name.to_owned(), count))));
        let (before, other) = (revision(&app, &loads.own).await, events(&app, &loads.of_colleague).await);

        ErasedUser::erase_all(&app).await;

        let history = events(&app, &loads.own).await;
        let id = history[0]["userId"].as_str().unwrap();
        assert!(id.starts_with("erased-") && id.len() == 39, "{id}");
        assert!(history.iter().all(|event| event["userId"] == id && event["userName"] == "erased user"), "{history:?}");
        assert_eq!(revision(&app, &loads.own).await, before + 1, "the document changed");
        let own = app.get(&format!("/v1/loads/{}", loads.own)).by(&User::of("grain")).send().await.ok();
        assert_eq!((&own["files"][0]["userName"], &own["ticketNumber"]), (&json!("erased user"), &json!("edited")));
        assert_eq!(events(&app, &loads.of_colleague).await, other);
        let sent = events(&app, &loads.sent).await;
        assert_eq!(sent[1]["changes"]["driverId"], json!({"to": id}));
        assert_eq!((&sent[2]["type"], &sent[2]["userId"]), (&json!("completed"), &json!(id)));
        let drivers = app.get(&format!("/v1/loads/{}/drivers", loads.sent)).by(&User::admin()).send().await.ok();
        assert_eq!(drivers[0]["driverId"], id);
        let notified = app.get(&format!("/v1/loads/{}/notifications", loads.sent)).by(&User::admin()).send().await.ok();
        assert_eq!(notified[0]["recipientId"], id);
        let accepted = events(&app, &loads.accepted).await;
        assert_eq!((&accepted[1]["type"], &accepted[1]["userId"]), (&json!("accepted"), &json!(id)));
        // A repeated request of another user still returns its response, without the name.
        let form = with_file(organiser_form(), &loads.file);
        let request = app.post("/v1/loads/organiser").by(&User::of("grain")).header("idempotency-key", "create");
        let replayed = request.json(&form).send().await;
        assert_eq!(replayed.header("idempotency-replayed"), "true");
        let replayed = replayed.ok();
        assert_eq!((&replayed["id"], &replayed["files"][0]["userName"]), (&json!(loads.of_colleague), &json!("erased user")));
    }

    async fn an_unknown_user_has_no_records(backend) {
        let app = app(backend).await;
        create_load(&app).await;
        assert_eq!(ErasedUser::erase(&app).await, 0);
        let response = app.get(&format!("/v1/users/{}/data", ErasedUser::IN_PATH)).by(&User::admin()).send().await;
        assert_eq!(response.header("content-disposition"), "attachment; filename=\"personal-data-logistics.json\"");
        assert_eq!(response.header("cache-control"), "private, no-store");
        assert_eq!(response.ok()["loads"], json!([]));
        assert!(ErasedUser::count(&app).await.values().all(|count| *count == 0));
        for (path, status) in [("a".repeat(201), 400), ("a%00".to_owned(), 404), ("a%0a".to_owned(), 404)] {
            for (method, operation) in [("GET", "data"), ("POST", "erase")] {
                let response = app.call(method, &format!("/v1/users/{path}/{operation}")).by(&User::admin()).send().await;
                assert_eq!(response.status, status, "{path}");
            }
        }
    }

    async fn erases_many_records_in_batches_with_one_id(backend) {
        let app = app(backend).await;
        let header = "reference,deliveryDateISO,commodityId,organiserId,organiserName\n";
        let rows: Vec<_> = (0..1_203).map(|n| format!("R{n},2026-03-01,1,grain,Border Grain\n")).collect();
        let rows = rows.concat();
        let part = reqwest::multipart::Part::text(format!("{header}{rows}")).file_name("loads.csv");
        let form = reqwest::multipart::Form::new().part("file", part);
        app.post("/v1/loads/batch").by(&ErasedUser::of("grain")).form(form).send().await.ok();
        let namesake = User::of("grain").with("sub", "another").with("name", ErasedUser::NAME);
        let other = app.post("/v1/loads/organiser").by(&namesake).json(&organiser_form()).send().await.ok();
        if backend == Backend::Sqlite {
            // Creators are looked up in a table that is filled in the background, and among the loads that wait for it.
            testkit::wait_until(async || app.database.count("load_creators") >= 1_203).await;
        }
        app.post("/v1/loads/organiser").by(&ErasedUser::of("grain")).json(&organiser_form()).send().await.ok();
        assert_eq!(ErasedUser::count(&app).await["loads"], 1_204);
        wait_until_known(&app).await;
        // Each load and the event of its creation, the batch, and the user as a caller.
        assert_eq!(ErasedUser::erase(&app).await, 2 * 1_204 + 2);
        assert_eq!(app.database.mentions(ErasedUser::ID_MARK), Vec::<String>::new());
        let ids = "(SELECT DISTINCT creator_id FROM loads WHERE creator_id LIKE 'erased-%') AS ids";
        assert_eq!(app.database.count(ids), 1);
        let history = events(&app, other["id"].as_str().unwrap()).await;
        assert_eq!((&history[0]["userId"], &history[0]["userName"]), (&json!("another"), &json!(ErasedUser::NAME)));
    }

    async fn an_unfinished_erasure_continues_with_its_id(backend) {
        let app = app(backend).await;
        let zeph = ErasedUser::of("grain");
        let first = app.post("/v1/loads/organiser").by(&zeph).json(&organiser_form()).send().await.ok();
        begin_erasure(&app, backend);
        wait_until_known(&app).await;
        assert_eq!(ErasedUser::erase(&app).await, 3);
        assert_eq!(events(&app, first["id"].as_str().unwrap()).await[0]["userId"], "erased-before");
        assert_eq!(app.database.count("erasures"), 0);
    }

    /// An erasure was interrupted, and its user still has a valid token.
    async fn records_that_came_back_do_not_stop_an_erasure(backend) {
        let (app, system) = app_with_files(backend).await;
        let (zeph, colleague) = (ErasedUser::of("grain"), User::of("grain"));
        let file = system.add_with_name("ticket.jpg", &zeph, ErasedUser::NAME);
        let load = create(&app, &zeph, &with_file(organiser_form(), &file)).await;
        send_to_driver(&app, &load, ErasedUser::ID).await;
        begin_erasure(&app, backend);
        for (table, column) in [("load_drivers", "driver_id"), ("notifications", "recipient_id"), ("file_uploaders", "user_id")] {
            let erase = format!("UPDATE {table} SET {column} = 'erased-before' WHERE {column} = '{}'", ErasedUser::ID);
            app.database.execute(&erase);
        }
        // The first notification is as a finished transaction of the erasure leaves it.
        app.database.execute("UPDATE notifications SET collapses = NULL");
        send_to_driver(&app, &load, ErasedUser::ID).await;
        patch(&app, &colleague, &load, &json!({"files": []})).await.ok();
        patch(&app, &colleague, &load, &json!({"files": [{"id": file}]})).await.ok();
        assert_eq!((ErasedUser::count(&app).await["drivers"], ErasedUser::count(&app).await["files"]), (1, 1));
        // Two notifications of the load become those of one erased driver.
        assert_eq!(ErasedUser::count(&app).await["notifications"], 1);
        ErasedUser::erase(&app).await;
        ErasedUser::assert_erased(&app).await;
        let drivers = app.get(&format!("/v1/loads/{load}/drivers")).by(&User::admin()).send().await.ok();
        assert_eq!((drivers.as_array().unwrap().len(), &drivers[0]["driverId"]), (1, &json!("erased-before")));
        let notified = app.get(&format!("/v1/loads/{load}/notifications")).by(&User::admin()).send().await.ok();
        let recipients: Vec<_> = notified.as_array().unwrap().iter().map(|sent| &sent["recipientId"]).collect();
        assert_eq!(recipients, ["erased-before"; 2]);
        let load = app.get(&format!("/v1/loads/{load}")).by(&colleague).send().await.ok();
        assert_eq!(load["files"][0]["userName"], "erased user");
    }

    async fn two_pending_notifications_of_a_load_are_erased(backend) {
        let app = app(backend).await;
        let load = create_load(&app).await;
        send_to_driver(&app, &load, ErasedUser::ID).await;
        begin_erasure(&app, backend);
        // Erases the first notification in a request of its own.
        ErasedUser::erase(&app).await;
        begin_erasure(&app, backend);
        send_to_driver(&app, &load, ErasedUser::ID).await;
        ErasedUser::erase(&app).await;
        ErasedUser::assert_erased(&app).await;
        assert_eq!(app.database.count("notifications WHERE recipient_id = 'erased-before'"), 2);
    }

    async fn deliveries_of_a_load_are_erased_however_many_they_are(backend) {
        let (app, system) = app_with_files(backend).await;
        let (zeph, colleague) = (ErasedUser::of("grain"), User::of("grain"));
        let hook = json!({"url": "https://127-0-0-1.invalid/", "events": ["load.created"]});
        app.post("/v1/webhooks").by(&colleague).json(&hook).send().await.ok();
        let file = system.add_with_name("ticket.jpg", &zeph, ErasedUser::NAME);
        create(&app, &colleague, &with_file(organiser_form(), &file)).await;
        let (id, prepare) = match backend {
            // As the service does: moved rows leave no copies in the file.
            Backend::Sqlite => ("randomblob(16)", "PRAGMA secure_delete = ON;"),
            Backend::Postgres => ("gen_random_uuid()", ""),
        };
        app.database.execute(&format!(
            "{prepare} INSERT INTO webhook_deliveries (id, webhook_id, event, status, attempts, created_at,
                pending_since, body)
             SELECT {id}, webhook_id, event, 'delivered', 1, created_at, pending_since, m.body
             FROM webhook_deliveries d, webhook_messages m, {}",
            backend.numbers(250)
        ));
        app.record_statements();
        assert_eq!(ErasedUser::erase(&app).await, 1, "deliveries are not counted");
        ErasedUser::assert_indexed(&app);
        ErasedUser::assert_erased(&app).await;
        assert_eq!(app.database.count("webhook_deliveries"), 251);
        assert_eq!(app.database.count("delivery_erasures"), 0);
    }

    async fn loads_stay_usable_while_a_user_is_erased(backend) {
        let (app, system) = app_with_files(backend).await;
        let (zeph, colleague) = (ErasedUser::of("grain"), User::of("grain"));
        let file = system.add_with_name("ticket.jpg", &zeph, ErasedUser::NAME);
        let mut ids = Vec::new();
        for _ in 0..20 {
            let load = app.post("/v1/loads/organiser").by(&zeph).json(&with_file(organiser_form(), &file)).send().await.ok();
            ids.push(load["id"].as_str().unwrap().to_owned());
        }
        let edits = async {
            for id in &ids {
                patch(&app, &colleague, id, &json!({"ticketNumber": "edited"})).await.ok();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::join!(ErasedUser::erase(&app), edits);
        ErasedUser::erase(&app).await;
        assert_eq!(app.database.mentions(ErasedUser::NAME_MARK), Vec::<String>::new());
        for id in &ids {
            let load = app.get(&format!("/v1/loads/{id}")).by(&colleague).send().await.ok();
            assert_eq!((&load["ticketNumber"], &load["files"][0]["userName"]), (&json!("edited"), &json!("erased user")));
        }
    }

    async fn the_script_exports_and_erases(backend) {
        let app = app(backend).await;
        app.post("/v1/loads/organiser").by(&ErasedUser::of("grain")).json(&organiser_form()).send().await.ok();
        wait_until_known(&app).await;
        let folder = tempfile::tempdir().unwrap();
        let run = async |arguments: [&str; 3], token: String| {
            let mut script = std::process::Command::new("bash");
            script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/personal-data.sh")).args(arguments);
            for service in ["SYSTEM", "LOGISTICS", "LIVESTOCK"] {
                script.env(service, format!("{}/", app.url));
            }
            script.env("TOKEN", token);
            tokio::task::spawn_blocking(move || script.output().unwrap()).await.unwrap()
        };
        let path = folder.path().to_str().unwrap();
        let refused = run(["erase", ErasedUser::ID, ""], User::of("grain").token()).await;
        assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("forbidden"), "{refused:?}");
        let exported = run(["export", ErasedUser::ID, path], User::admin().token()).await;
        assert!(exported.status.success(), "{exported:?}");
        let data: Value = serde_json::from_slice(&std::fs::read(folder.path().join("livestock.json")).unwrap()).unwrap();
        assert_eq!(data["loads"][0]["userName"], ErasedUser::NAME);
        let erased = run(["erase", ErasedUser::ID, ""], User::admin().token()).await;
        let lines = "logistics: 3 records erased\nlivestock: 0 records erased\nsystem: 0 records erased\n";
        assert_eq!(String::from_utf8_lossy(&erased.stdout), lines, "{erased:?}");
        ErasedUser::assert_erased(&app).await;
    }
}
