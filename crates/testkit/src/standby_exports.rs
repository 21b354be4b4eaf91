//! Exports that a standby reads.

use std::time::{Duration, Instant};

use common::Service;
use tokio::time::sleep;

use crate::{App, PostgresServer, TestDatabase, User, config, wait_until};

/// How old the data of an export may be.
const MAX_LAG: Duration = Duration::from_secs(3);
/// Limit until the service uses the standby.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(30);

/// Asserts that the CSV export of a search reads from a standby that lags a little, and from the primary while the
/// standby lags more or is away. `create` creates something that the user finds there, and returns its id.
pub async fn assert_exports_read_from_standby<S: Service>(
    settings: S::Settings,
    user: &User,
    path: &str,
    create: impl AsyncFn(&App) -> String,
) {
    let primary = PostgresServer::primary();
    let mut standby = primary.standby();
    let database = TestDatabase::at(primary.url());
    let mut config = config::<S>(&database, settings);
    config.database.read_url = standby.url().into();
    config.database.read_max_lag_ms = u64::try_from(MAX_LAG.as_millis()).unwrap();
    let app = App::start_with::<S>(database, config).await;
    let csv = format!("{path}?format=CSV");
    let export = async || {
        let reply = app.get(&csv).by(user).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text()
    };

    let begun = Instant::now();
    // What the primary has and the standby has not.
    let new = loop {
        standby.execute("SELECT pg_wal_replay_pause()");
        let id = create(&app).await;
        if !export().await.contains(&id) {
            break id;
        }
        standby.execute("SELECT pg_wal_replay_resume()");
        assert!(begun.elapsed() < FOLLOW_TIMEOUT, "exports do not read from the standby");
        sleep(Duration::from_millis(200)).await;
    };
    let page = app.get(path).by(user).send().await;
    assert!(page.text().contains(&new), "pages read from the primary: {}", page.text());
    wait_until(async || export().await.contains(&new)).await;

    standby.execute("SELECT pg_wal_replay_resume()");
    standby.stop();
    let last = create(&app).await;
    wait_until(async || export().await.contains(&last)).await;
}
