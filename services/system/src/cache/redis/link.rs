//! The connection to Redis. One that fails is given up at once and made again in the background, so that nobody ever
//! waits for connecting, and a Redis that is dead or hangs costs one request its patience and the others nothing.

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

use crate::metrics::cache_errors;

/// The pause between attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// An attempt to connect is given up after this long.
const CONNECTING: Duration = Duration::from_secs(3);
/// The service waits this long for Redis before it starts without.
const STARTING: Duration = Duration::from_secs(1);

type Current = watch::Sender<Option<MultiplexedConnection>>;

/// A connection, whenever there is one.
pub(super) struct RedisConnection {
    current: Arc<Current>,
    errors: Counter,
    /// Ended when this is dropped.
    _keeper: JoinSet<()>,
}

impl RedisConnection {
    pub(super) async fn open(url: &str) -> Result<Self> {
        const WRONG: &str = "service.cache_url must be memory:, or redis:// or rediss:// and an address, as in \
                             redis://cache.internal:6379/0";
        ensure!(url.starts_with("redis://") || url.starts_with("rediss://"), WRONG);
        let client = Client::open(url).context(WRONG)?;
        let current = Arc::new(Current::new(None));
        let mut keeper = JoinSet::new();
        keeper.spawn(keep(client, current.clone()));
        let _ = timeout(STARTING, current.subscribe().wait_for(Option::is_some)).await;
        Ok(Self { current, errors: cache_errors(), _keeper: keeper })
    }

    /// Sends a command and waits this long for its answer. Any failure gives the connection up, also one that Redis
    /// itself reports, since it may be loading or have become a replica that takes no writes; but not that it is full.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd, patience: Duration) -> Result<T> {
        let connection = self.current.borrow().clone();
        let Some(mut connection) = connection else {
            self.errors.increment(1);
            bail!("Redis is not connected")
        };
        let mut span = client_span("redis", || [KeyValue::new("db.system.name", "redis")]);
        let answer = timeout(patience, command.query_async(&mut connection)).await;
        let answer = answer.context("Redis is too slow").and_then(|answer| answer.context("Redis failed"));
        if let Err(error) = &answer {
            self.errors.increment(1);
            record_error(&mut span, "no_answer");
            let full = error.downcast_ref().and_then(RedisError::code) == Some("OOM");
            if !full && self.current.send_replace(None).is_some() {
                tracing::warn!(error = format!("{error:#}"), "going on without the cache");
            }
        }
        answer
    }

    /// Sends a command that only looks: whatever becomes of it, nothing is counted or given up. A user of Redis may not be
    /// allowed to know.
    pub(super) async fn look<T: FromRedisValue>(&self, command: &Cmd, patience: Duration) -> Option<T> {
        let mut connection = self.current.borrow().clone()?;
        timeout(patience, command.query_async(&mut connection)).await.ok()?.ok()
    }
}

/// Connects, and again whenever the connection was given up.
async fn keep(client: Client, current: Arc<Current>) {
    let mut told = false;
    loop {
        let connection = timeout(CONNECTING, connect(&client)).await;
        match connection.context("Redis is too slow").and_then(|connection| connection) {
            Ok(connection) => {
                tracing::info!("the cache is connected");
                current.send_replace(Some(connection));
                let _ = current.subscribe().wait_for(Option::is_none).await;
                told = true;
            }
            Err(error) if !told => {
                tracing::warn!(error = format!("{error:#}"), "starting without the cache");
                told = true;
            }
            Err(_) => {}
        }
        sleep(RECONNECT_PAUSE).await;
    }
}

pub(super) async fn connect(client: &Client) -> Result<MultiplexedConnection> {
    // Every command has a limit of its own.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    cmd("PING").exec_async(&mut connection).await?;
    Ok(connection)
}
