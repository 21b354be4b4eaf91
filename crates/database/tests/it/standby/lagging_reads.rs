//! Reads that may lag: by a standby, as long as it follows.

use std::time::{Duration, Instant};

use database::{AnyConnection, Database, Error, StandbyOptions};
use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool};
use futures_util::future::join_all;
use testkit::{Backend, PostgresServer, TestDatabase, block_on};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::support::{add, migrations, options};

const MAX_LAG: Duration = Duration::from_millis(1_500);
/// A busy machine takes its time.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a primary and a standby that replicates asynchronously, and opens the database with it.
async fn open() -> (Database, PostgresServer, PostgresServer) {
    let started = spawn_blocking(|| {
        let primary = PostgresServer::primary();
        let standby = primary.standby();
        (primary, standby)
    });
    let (primary, standby) = started.await.unwrap();
    // Which of the servers is the standby may change, so operators name all.
    let db = open_with(&primary, &url_of([&primary, &standby])).await;
    (db, primary, standby)
}

fn url_of(servers: [&PostgresServer; 2]) -> String {
    let [first, second] = servers.map(|server| server.port);
    format!("postgres://postgres:secret@127.0.0.1:{first},127.0.0.1:{second}/postgres")
}

/// Opens the database with the standby of a URL.
async fn open_with(primary: &PostgresServer, standby_url: &str) -> Database {
    let options = options(&primary.url());
    let db = Database::open(options.clone(), migrations).await.unwrap();
    let standby = StandbyOptions { url: standby_url.into(), max_lag: MAX_LAG };
    db.follow_standby(&options, standby).unwrap();
    db
}

/// Runs a closure with a server on another thread, and returns the server.
async fn with(
    mut server: PostgresServer,
    f: impl FnOnce(&mut PostgresServer) + Send + 'static,
) -> PostgresServer {
    let run = move || {
        f(&mut server);
        server
    };
    spawn_blocking(run).await.unwrap()
}

/// Reads whether the server is a standby, and the number of things that it has.
async fn read(db: &Database) -> (bool, i64) {
    let read = |c: &mut AnyConnection| {
        let AnyConnection::Postgres(c) = c else { panic!("this is PostgreSQL") };
        let is_standby = diesel::select(sql::<Bool>("pg_is_in_recovery()")).get_result(c)?;
        let count = sql::<BigInt>("(SELECT count(*) FROM things)");
        Ok::<_, Error>((is_standby, diesel::select(count).get_result(c)?))
    };
    db.read_from_standby(read).await.unwrap()
}

/// Waits until reads come from the standby or from the primary, and returns how long that took.
async fn wait_until_read_by(db: &Database, standby: bool) -> Duration {
    let begun = Instant::now();
    while read(db).await.0 != standby {
        assert!(
            begun.elapsed() < TIMEOUT,
            "reads do not come from the {}",
            if standby { "standby" } else { "primary" }
        );
        sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

#[test]
fn reads_leave_a_standby_that_lags_and_return() {
    block_on(async {
        let (db, _primary, standby) = open().await;
        wait_until_read_by(&db, true).await;
        add(&db, "first").await.unwrap();
        let standby = with(standby, |standby| standby.execute("SELECT pg_wal_replay_pause()")).await;
        add(&db, "second").await.unwrap();
        let paused = Instant::now();
        // The standby may have the first thing or not, and lacks the second. It answers until its lag is too large.
        while let (true, count) = read(&db).await {
            assert!(count < 2 && paused.elapsed() < TIMEOUT);
            sleep(Duration::from_millis(20)).await;
        }
        let lag = paused.elapsed();
        println!("reads left a standby {lag:?} after it had stopped to follow, the limit is {MAX_LAG:?}");
        assert!(lag < MAX_LAG + Duration::from_secs(1), "{lag:?}");
        assert_eq!(read(&db).await, (false, 2));
        let _standby = with(standby, |standby| standby.execute("SELECT pg_wal_replay_resume()")).await;
        wait_until_read_by(&db, true).await;
        assert_eq!(read(&db).await, (true, 2));
    });
}

#[test]
fn reads_continue_without_the_standby() {
    block_on(async {
        let (db, _primary, standby) = open().await;
        wait_until_read_by(&db, true).await;
        add(&db, "first").await.unwrap();
        let _standby = with(standby, PostgresServer::stop).await;
        for _ in 0..20 {
            read(&db).await;
            sleep(Duration::from_millis(20)).await;
        }
        wait_until_read_by(&db, false).await;
        assert_eq!(read(&db).await, (false, 1));
    });
}

/// A standby that receives nothing has replayed all that it received, and lags nevertheless.
#[test]
fn reads_leave_a_standby_that_is_cut_off() {
    block_on(async {
        let (db, _primary, standby) = open().await;
        wait_until_read_by(&db, true).await;
        let cut_off = "ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()";
        let _standby = with(standby, move |standby| {
            cut_off.split("; ").for_each(|statement| standby.execute(statement));
        })
        .await;
        add(&db, "first").await.unwrap();
        wait_until_read_by(&db, false).await;
        assert_eq!(read(&db).await, (false, 1));
    });
}

#[test]
fn reads_of_several_standbys_leave_the_one_that_lags() {
    block_on(async {
        let started = spawn_blocking(|| {
            let primary = PostgresServer::primary();
            let standbys = [primary.standby(), primary.standby()];
            (primary, standbys)
        });
        let (primary, [lagging, current]) = started.await.unwrap();
        // Each connection is to either of them.
        let url = url_of([&lagging, &current]) + "?load_balance_hosts=random";
        let db = open_with(&primary, &url).await;
        wait_until_read_by(&db, true).await;
        let _lagging = with(lagging, |server| server.execute("SELECT pg_wal_replay_pause()")).await;
        add(&db, "first").await.unwrap();
        sleep(2 * MAX_LAG).await;
        for _ in 0..20 {
            let reads = join_all((0..8).map(|_| read(&db))).await;
            assert!(reads.iter().all(|(_, count)| *count == 1), "{reads:?}");
            sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn the_check_refuses_a_server_that_is_not_a_standby() {
    block_on(async {
        let (db, primary, standby) = open().await;
        wait_until_read_by(&db, true).await;
        let check = |server: &PostgresServer| {
            let options = options(&primary.url());
            let url = server.url().into();
            Database::check_standby(&options, &StandbyOptions { url, max_lag: MAX_LAG })
        };
        assert_eq!(check(&standby).unwrap(), "PostgreSQL, for reads that may lag by 1500 ms");
        let error = check(&primary).unwrap_err().to_string();
        assert!(error.contains("(DROVER_DATABASE__READ_URL) is not a standby"), "{error}");
    });
}

#[test]
fn sqlite_has_no_standby() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let options = options(&test.url);
        let db = Database::open(options.clone(), migrations).await.unwrap();
        let standby = StandbyOptions { url: "postgres://h/d".into(), max_lag: MAX_LAG };
        let error = db.follow_standby(&options, standby).unwrap_err().to_string();
        assert!(error.contains("database.read_url (DROVER_DATABASE__READ_URL) is for PostgreSQL"), "{error}");
    });
}
