//! The connection to Redis. A failed connection is dropped at once and replaced in the background. So no caller waits
//! for connecting, and an unresponsive Redis delays one request by its timeout and the others not at all.

use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, cmd};
use anyhow::{Context, Result, bail};
use common::http::explain_unresolved;
use common::traces::{KeyValue, client_span, record_error};
use metrics::Counter;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cache::cache_errors;

/// Maximum duration of an attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Delay between attempts to connect.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay of the service's start while Redis does not respond.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(1);

type CurrentConnection = watch::Sender<Option<Numbered>>;

/// An established connection.
#[derive(Clone)]
struct Numbered {
    connection: MultiplexedConnection,
    /// The number of the connection. Each has another one.
    number: u64,
}

/// A connection that is re-established in the background.
pub(super) struct RedisConnection {
    current: Arc<CurrentConnection>,
    errors: Counter,
    /// The task that reconnects. Aborted on drop.
    _reconnector: JoinSet<()>,
}

impl RedisConnection {
    /// Connects to Redis. Returns after [`STARTUP_TIMEOUT`] at the latest, connected or not.
    pub(super) async fn open(client: Client) -> Self {
        let current = Arc::new(CurrentConnection::new(None));
        let mut reconnector = JoinSet::new();
        reconnector.spawn(keep_connected(client, current.clone()));
        let _ = timeout(STARTUP_TIMEOUT, current.subscribe().wait_for(Option::is_some)).await;
        Self { current, errors: cache_errors(), _reconnector: reconnector }
    }

    /// Sends a command and waits for its response. Any failure drops the connection, even an error response, because
    /// the server may be loading its data or may have become a read-only replica. Only "out of memory" keeps the
    /// connection.
    ///
    /// # Errors
    /// Fails if Redis is disconnected, does not respond within `max_wait` or reports an error.
    pub(super) async fn query<T: FromRedisValue>(&self, command: &Cmd, max_wait: Duration) -> Result<T> {
        let current = self.current.borrow().clone();
        let Some(Numbered { mut connection, number }) = current else {
            self.errors.increment(1);
            bail!("Redis is not connected")
        };
        let mut span = client_span("redis", || [KeyValue::new("db.system.name", "redis")]);
        let response = timeout(max_wait, command.query_async(&mut connection)).await;
        let response =
            response.context("Redis timed out").and_then(|response| response.context("Redis failed"));
        if let Err(error) = &response {
            self.errors.increment(1);
            record_error(&mut span, error_type(error));
            let out_of_memory = error.downcast_ref().and_then(RedisError::code) == Some("OOM");
            if !out_of_memory && self.drop_connection(number) {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "the cache is disconnected; continuing without it"
                );
            }
        }
        response
    }

    /// Sends a command and returns its response. A failure has no effect: it is not counted and the connection stays.
    /// For commands that the Redis user may lack the permission for.
    pub(super) async fn query_optional<T: FromRedisValue>(
        &self,
        command: &Cmd,
        max_wait: Duration,
    ) -> Option<T> {
        let mut connection = self.current.borrow().clone()?.connection;
        timeout(max_wait, command.query_async(&mut connection)).await.ok()?.ok()
    }

    /// Drops the connection with this number. Returns false if it is dropped already: a late failure must not drop the
    /// connection that has replaced it.
    fn drop_connection(&self, number: u64) -> bool {
        self.current.send_if_modified(|current| {
            let is_current = current.as_ref().is_some_and(|connected| connected.number == number);
            if is_current {
                *current = None;
            }
            is_current
        })
    }
}

/// Returns the `error.type` of a failed command in traces.
fn error_type(error: &anyhow::Error) -> &'static str {
    match error.downcast_ref::<RedisError>() {
        Some(error) if error.code().is_some() => "refused",
        Some(error) if !error.is_io_error() => "invalid_response",
        // A timeout, or the connection was lost.
        _ => "no_answer",
    }
}

/// Connects, and reconnects whenever the connection is dropped. Logs only the first failure before the first
/// connection; `query` logs the loss of a connection.
async fn keep_connected(client: Client, current: Arc<CurrentConnection>) {
    let mut outage_logged = false;
    for number in 0.. {
        match connect(&client).await {
            Ok(connection) => {
                tracing::info!(server = describe(&client), "the cache is connected");
                current.send_replace(Some(Numbered { connection, number }));
                let _ = current.subscribe().wait_for(Option::is_none).await;
                // `query` logs the loss of a connection.
                outage_logged = true;
            }
            Err(error) if !outage_logged => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "cannot connect to the cache; starting without it"
                );
                outage_logged = true;
            }
            Err(_) => {}
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Connects to a server and checks that it responds.
///
/// # Errors
/// Fails if the server cannot be reached in time or refuses the password.
pub(super) async fn connect(client: &Client) -> Result<MultiplexedConnection> {
    let address = client.get_connection_info().addr().to_string();
    let connection = async {
        // Each command has a timeout of its own.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        cmd("PING").exec_async(&mut connection).await?;
        Ok(connection)
    };
    let connection = timeout(CONNECT_TIMEOUT, connection).await;
    let connection = connection.with_context(|| format!("{address} does not answer"))?;
    let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
    connection.map_err(|error: RedisError| explain_unresolved(error.into(), host))
}

/// Describes the server of a client, for people.
pub(super) fn describe(client: &Client) -> String {
    format!("Redis at {}", client.get_connection_info().addr())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    /// Longer than any response takes.
    const LONG: Duration = Duration::from_secs(3);
    const SHORT: Duration = Duration::from_millis(100);

    async fn open() -> RedisConnection {
        RedisConnection::open(Client::open(testkit::redis_url()).unwrap()).await
    }

    /// Waits until a command succeeds.
    async fn wait_until_connected(connection: &RedisConnection) {
        let begun = Instant::now();
        while connection.query::<String>(&cmd("PING"), SHORT).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(10), "Redis is not connected");
            sleep(Duration::from_millis(20)).await;
        }
    }

    #[test]
    fn late_failures_keep_the_connection_that_has_replaced_theirs() {
        testkit::block_on(async {
            let connection = open().await;
            // Blocks the first connection, whose other commands wait.
            let mut blocking = cmd("BLPOP");
            blocking.arg("test:no such list").arg(0);
            let replaced = async {
                sleep(SHORT).await;
                connection.query::<String>(&cmd("PING"), SHORT).await.unwrap_err();
                wait_until_connected(&connection).await;
            };
            let late = connection.query::<()>(&blocking, RECONNECT_DELAY * 3);
            let (late, ()) = tokio::join!(late, replaced);
            late.unwrap_err();
            connection.query::<String>(&cmd("PING"), LONG).await.unwrap();
        });
    }

    #[test]
    fn traces_tell_refusals_from_missing_responses() {
        testkit::block_on(async {
            let connection = open().await;
            let query = async |command: &Cmd, max_wait| {
                wait_until_connected(&connection).await;
                error_type(&connection.query::<u64>(command, max_wait).await.unwrap_err())
            };
            assert_eq!(query(&cmd("NO-SUCH-COMMAND"), LONG).await, "refused");
            assert_eq!(query(&cmd("PING"), LONG).await, "invalid_response");
            assert_eq!(query(cmd("BLPOP").arg("test:no such list").arg(0), SHORT).await, "no_answer");
            // A connection that the server closes.
            let closing = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = Client::open(format!("redis://{}", closing.local_addr().unwrap())).unwrap();
            let server = std::thread::spawn(move || drop(closing.accept().unwrap()));
            assert_eq!(error_type(&connect(&client).await.unwrap_err()), "no_answer");
            server.join().unwrap();
        });
    }
}
