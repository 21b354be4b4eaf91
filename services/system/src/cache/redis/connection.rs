//! The connection to Redis. A failed connection is dropped at once and replaced in the background. So no caller waits
//! for connecting, and an unresponsive Redis delays one request by its timeout and the others not at all.

use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, cmd};
use anyhow::{Context, Result, bail, ensure};
use common::traces::{KeyValue, client_span, record_error};
use metrics::Counter;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::metrics::cache_errors;
use crate::config::setting;

/// Delay between attempts to connect.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// Maximum duration of an attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum delay of the service's start while Redis does not respond.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(1);

type CurrentConnection = watch::Sender<Option<MultiplexedConnection>>;

/// A connection that is re-established in the background.
pub(super) struct RedisConnection {
    current: Arc<CurrentConnection>,
    errors: Counter,
    /// The task that reconnects. Aborted on drop.
    _reconnector: JoinSet<()>,
}

impl RedisConnection {
    /// Connects to the Redis of `service.cache_url`. Returns after [`STARTUP_TIMEOUT`] at the latest, connected or not.
    ///
    /// # Errors
    /// Fails if the URL is invalid.
    pub(super) async fn open(url: &str) -> Result<Self> {
        let invalid_url = || {
            format!(
                "{} must be `memory:` or the URL of a Redis, for example `redis://cache.internal:6379/0` or \
                 `rediss://cache.internal:6379/0`",
                setting("cache_url")
            )
        };
        ensure!(url.starts_with("redis://") || url.starts_with("rediss://"), invalid_url());
        let client = Client::open(url).with_context(invalid_url)?;
        let current = Arc::new(CurrentConnection::new(None));
        let mut reconnector = JoinSet::new();
        reconnector.spawn(keep_connected(client, current.clone()));
        let _ = timeout(STARTUP_TIMEOUT, current.subscribe().wait_for(Option::is_some)).await;
        Ok(Self { current, errors: cache_errors(), _reconnector: reconnector })
    }

    /// Sends a command and waits for its response. Any failure drops the connection, even an error response, because
    /// the server may be loading its data or may have become a read-only replica. Only "out of memory" keeps the
    /// connection.
    ///
    /// # Errors
    /// Fails if Redis is disconnected, does not respond within `max_wait` or reports an error.
    pub(super) async fn query<T: FromRedisValue>(&self, command: &Cmd, max_wait: Duration) -> Result<T> {
        let connection = self.current.borrow().clone();
        let Some(mut connection) = connection else {
            self.errors.increment(1);
            bail!("Redis is not connected")
        };
        let mut span = client_span("redis", || [KeyValue::new("db.system.name", "redis")]);
        let response = timeout(max_wait, command.query_async(&mut connection)).await;
        let response =
            response.context("Redis timed out").and_then(|response| response.context("Redis failed"));
        if let Err(error) = &response {
            self.errors.increment(1);
            record_error(&mut span, "no_answer");
            let out_of_memory = error.downcast_ref().and_then(RedisError::code) == Some("OOM");
            if !out_of_memory && self.current.send_replace(None).is_some() {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "the cache is disconnected; continuing without it"
                );
            }
        }
        response
    }

    /// Sends a command whose failure has no effect: it is not counted and the connection stays. For commands that the
    /// Redis user may lack the permission for.
    pub(super) async fn query_optional<T: FromRedisValue>(
        &self,
        command: &Cmd,
        max_wait: Duration,
    ) -> Option<T> {
        let mut connection = self.current.borrow().clone()?;
        timeout(max_wait, command.query_async(&mut connection)).await.ok()?.ok()
    }
}

/// Connects, and reconnects whenever the connection is dropped. Logs only the first failure before the first
/// connection;
/// `query` logs the loss of a connection.
async fn keep_connected(client: Client, current: Arc<CurrentConnection>) {
    let mut outage_logged = false;
    loop {
        let connection = timeout(CONNECT_TIMEOUT, connect(&client)).await;
        match connection.context("Redis timed out").and_then(|connection| connection) {
            Ok(connection) => {
                tracing::info!("the cache is connected");
                current.send_replace(Some(connection));
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

/// Connects and checks that Redis responds.
pub(super) async fn connect(client: &Client) -> Result<MultiplexedConnection> {
    // Each command has a timeout of its own.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    cmd("PING").exec_async(&mut connection).await?;
    Ok(connection)
}
