//! Exports that a standby reads.

use std::time::{Duration, Instant};

use common::Service;
use tokio::time::sleep;

use super::app::{App, config};
use super::database::TestDatabase;
use super::receiver::wait_until;
use super::servers::PostgresServer;
use super::user::User;

/// How old the data of an export may be.
const MAX_LAG: Duration = Duration::from_secs(3);
/// Limit until the service uses the standby.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(30);

/// Asserts that an export reads from a standby that lags a little, and from the primary while the standby lags more or
/// is away. `create` creates something that the user finds there and on a page, and returns its id.
pub async fn assert_exports_read_from_standby<S: Service>(
    settings: S::Settings,
    user: &User,
    export: &str,
    page: &str,
    create: impl AsyncFn(&App) -> String,
) {
    let primary = PostgresServer::primary();
    let mut standby = primary.standby();
    let database = TestDatabase::at(primary.url());
    let mut config = config::<S>(&database, settings);
    config.database.read_url = standby.url().into();
    config.database.read_max_lag_ms = u64::try_from(MAX_LAG.as_millis()).unwrap();
    let app = App::start_with::<S>(database, config).await;
    let export = async || {
        let reply = app.get(export).by(user).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text()
    };

    // Creates a row that only the primary has, while exports read from the standby. Its replay stays paused.
    let create_unseen = async |standby: &PostgresServer| {
        let begun = Instant::now();
        loop {
            standby.execute("SELECT pg_wal_replay_pause()");
            let id = create(&app).await;
            if !export().await.contains(&id) {
                return id;
            }
            standby.execute("SELECT pg_wal_replay_resume()");
            assert!(begun.elapsed() < FOLLOW_TIMEOUT, "exports do not read from the standby");
            sleep(Duration::from_millis(200)).await;
        }
    };

    let unseen = create_unseen(&standby).await;
    let page = app.get(page).by(user).send().await;
    assert!(page.text().contains(&unseen), "pages read from the primary: {}", page.text());
    wait_until(async || export().await.contains(&unseen)).await;

    standby.execute("SELECT pg_wal_replay_resume()");
    let unseen = create_unseen(&standby).await;
    standby.stop();
    assert!(export().await.contains(&unseen), "without the standby, exports read from the primary");
}
