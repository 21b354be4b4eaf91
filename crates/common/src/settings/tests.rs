use testkit::TestDatabase;

use super::*;

async fn open(test: &TestDatabase) -> Data<RuntimeSettings> {
    let db = crate::migrations::tests::open(test).await;
    Data::new(RuntimeSettings::open(&db, "info").await.unwrap())
}

testkit::on_both! {
    async fn a_replica_applies_changes_within_five_seconds(backend) {
        let test = TestDatabase::empty(backend).await;
        let (one, two) = (open(&test).await, open(&test).await);
        let watching = tokio::spawn(RuntimeSettings::watch(two.clone()));
        let logging = Logging { level: "trace".into(), filter: "x=debug".into() };
        let document = Document { logging };
        let stored = document.clone();
        one.db.write(move |c| store::update(c, &stored)).await.unwrap();
        let started = std::time::Instant::now();
        while two.current() != document {
            assert!(started.elapsed() < Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        watching.abort();
    }
}
