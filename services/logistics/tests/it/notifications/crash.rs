//! The service dies between delivery and record: the program itself, killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::TestDatabase;

use super::*;

/// The service as a process, killed when this is dropped.
struct Process(Child);

impl Process {
    /// Starts it over this database, with this receiver.
    async fn start(database: &TestDatabase, receiver: &Receiver) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_logistics"));
        command
            .env("DROVER_SERVER__PORT", "0")
            .env("DROVER_DATABASE__URL", &database.url)
            .env("DROVER_AUTH__JWKS_FILE", testkit::jwks_file())
            .env("DROVER_AUTH__ISSUER", testkit::ISSUER)
            .env("DROVER_AUTH__AUDIENCE", testkit::AUDIENCE)
            .env("DROVER_SERVICE__WEBHOOK_URL", format!("{}/hook", receiver.0.uri()))
            .env("DROVER_SERVICE__WEBHOOK_SECRETS", secret(1))
            .env("DROVER_SERVICE__WEBHOOK_ALLOW_PRIVATE", "true")
            .env("DROVER_SERVICE__WEBHOOK_TIMEOUT_MS", "3000")
            .stdout(Stdio::piped());
        let started = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
            lines.find(|line| line.contains("\"ready\"")).unwrap();
            // Somebody must read the log, or the service would wait for ever to write it.
            std::thread::spawn(move || lines.for_each(drop));
            Self(child)
        });
        started.await.unwrap()
    }

    /// `kill -9`
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

testkit::on_both! {
    async fn it_is_delivered_again_and_known_by_its_id(backend) {
        // It takes the event and holds its answer for longer than anybody waits, the first time.
        let first = AtomicBool::new(true);
        let receiver = Receiver::start(move |_: &Request| {
            let held = Duration::from_secs(if first.swap(false, Ordering::SeqCst) { 3600 } else { 0 });
            answer(200).set_delay(held)
        });
        let receiver = receiver.await;
        // Recorded by a service that is gone before it is delivered: its receiver takes nothing.
        let (database, load, id) = recorded(backend).await;
        let doomed = Process::start(&database, &receiver).await;
        receiver.has(1).await;
        doomed.kill();

        let _heir = Process::start(&database, &receiver).await;
        let requests = receiver.has(2).await;
        assert!(requests.iter().all(|request| header(request, "webhook-id") == id), "{requests:?}");
        assert_eq!(requests[0].body, requests[1].body);
        let watch = App::start_on::<Logistics>(database, Settings::default()).await;
        let entry = settled(&watch, &load, "delivered").await;
        assert!(entry["attempts"].as_u64() >= Some(2), "{entry}");
        assert_eq!(receiver.requests().await.len(), 2);
    }
}

/// A database with one notification that is due, and the ids of load and notification.
async fn recorded(backend: testkit::Backend) -> (TestDatabase, String, String) {
    let refusing = Receiver::start(answer(500)).await;
    let settings = Settings { webhook_retry_seconds: 3600, ..refusing.settings() };
    let app = App::start::<Logistics>(backend, settings).await;
    let load = created(&app).await;
    let id = send(&app, &load).await;
    refusing.has(1).await;
    let database = app.stop().await;
    let now = match backend {
        testkit::Backend::Sqlite => "0",
        testkit::Backend::Postgres => "now()",
    };
    let table = if backend == testkit::Backend::Sqlite { "notifications" } else { "logistics.notifications" };
    database.execute(&format!("UPDATE {table} SET due_at = {now}, attempts = 0"));
    (database, load, id)
}
