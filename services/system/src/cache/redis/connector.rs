//! Connecting to the Redis that `service.cache_url` names.

use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::cluster::ClusterClient;
use ::redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};
use ::redis::{AsyncConnectionConfig, Client, ConnectionInfo, RedisResult, TlsMode, cmd};
use anyhow::{Context, Result, ensure};
use common::http::explain_unresolved;
use tokio::time::timeout;

use super::servers::Servers;
use crate::config::setting;
use crate::redis_url::{RedisUrl, SentinelUrl};

/// Maximum duration of an attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of connecting to a node of a cluster, and of each response of it. Connecting to a cluster takes two steps,
/// the nodes of the URL and then all nodes. A node that does not respond must not use up the time for both.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);
/// Attempts of a command on a cluster after the first: the slot has moved, or the node is not connected.
const CLUSTER_RETRIES: u32 = 3;
/// Range of the delays before them in milliseconds.
const CLUSTER_RETRY_DELAY_MS: (u64, u64) = (10, 100);

/// Connects to Redis. A new connection needs no knowledge of the one before: sentinels and clusters may have another
/// master meanwhile.
pub(super) struct Connector {
    target: Target,
    /// The addresses of the URL, for error messages.
    addresses: String,
}

enum Target {
    Server(Client),
    Sentinel(SentinelUrl),
    Cluster(Box<ClusterClient>),
}

/// Established connections, with a description of what they lead to.
pub(super) struct Connected {
    pub(super) servers: Servers,
    pub(super) description: String,
}

impl Connector {
    /// Creates a connector for the URL of `service.cache_url`. Does not connect.
    ///
    /// # Errors
    /// Fails if the URL is invalid.
    pub(super) fn new(url: &str) -> Result<Self> {
        let name = || setting("cache_url");
        // The message of the URL continues the sentence.
        let parsed = RedisUrl::parse(url).map_err(|error| error.context(name()))?;
        let addresses = addresses(match &parsed {
            RedisUrl::Server(server) => std::slice::from_ref(server),
            RedisUrl::Sentinel(url) => &url.sentinels,
            RedisUrl::Cluster(nodes) => nodes,
        });
        let target = match parsed {
            RedisUrl::Server(server) => Target::Server(Client::open(server).with_context(name)?),
            RedisUrl::Sentinel(url) => Target::Sentinel(url),
            RedisUrl::Cluster(nodes) => Target::Cluster(Box::new(cluster_client(nodes).with_context(name)?)),
        };
        Ok(Self { target, addresses })
    }

    /// Returns whether the Redis is a cluster.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.target, Target::Cluster(_))
    }

    /// Connects and checks that Redis can be used.
    ///
    /// # Errors
    /// Fails if a server cannot be reached in time or refuses the password. Fails if the sentinels name no master, or
    /// slots of the cluster have no master.
    pub(super) async fn connect(&self) -> Result<Connected> {
        let connected = timeout(CONNECT_TIMEOUT, self.connect_to_target()).await;
        connected.with_context(|| format!("{} does not answer", self.addresses))?
    }

    async fn connect_to_target(&self) -> Result<Connected> {
        let addresses = &self.addresses;
        match &self.target {
            Target::Server(client) => {
                let host = addresses.rsplit_once(':').map_or(addresses.as_str(), |(host, _)| host);
                let connection = connect(client).await.map_err(|error| explain_unresolved(error, host))?;
                Ok(Connected {
                    servers: Servers::One(connection),
                    description: format!("Redis at {addresses}"),
                })
            }
            Target::Sentinel(url) => {
                let no_master =
                    || format!("the sentinels at {addresses} name no usable master `{}`", url.master);
                let client = find_master(url).await.with_context(no_master)?;
                let (address, name) = (client.get_connection_info().addr(), &url.master);
                let connection =
                    connect(&client).await.with_context(|| format!("the master at {address}"))?;
                Ok(Connected {
                    servers: Servers::One(connection),
                    description: format!("Redis at {address}, the master `{name}` of the sentinels"),
                })
            }
            Target::Cluster(client) => {
                let connection = client.get_async_connection().await;
                let unusable = || format!("no node of the Redis cluster at {addresses} can be used");
                check_cluster(Servers::Cluster(connection.with_context(unusable)?)).await
            }
        }
    }
}

/// Connects to one server and checks that it responds.
pub(super) async fn connect(client: &Client) -> Result<MultiplexedConnection> {
    // Each command has a timeout of its own.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    cmd("PING").exec_async(&mut connection).await?;
    Ok(connection)
}

/// Asks the sentinels for the master, and the master for its role.
async fn find_master(url: &SentinelUrl) -> RedisResult<Client> {
    let server = SentinelNodeConnectionInfo::default().set_redis_connection_info(url.settings.clone());
    let server = if url.tls { server.set_tls_mode(TlsMode::Secure) } else { server };
    Sentinel::build(url.sentinels.clone())?.async_master_for(&url.master, Some(&server)).await
}

fn cluster_client(nodes: Vec<ConnectionInfo>) -> RedisResult<ClusterClient> {
    let (min_delay, max_delay) = CLUSTER_RETRY_DELAY_MS;
    ClusterClient::builder(nodes)
        .connection_timeout(NODE_TIMEOUT)
        .response_timeout(NODE_TIMEOUT)
        // Each command has a timeout of its own.
        .overall_response_timeout(None)
        .retries(CLUSTER_RETRIES)
        .min_retry_wait(min_delay)
        .max_retry_wait(max_delay)
        .build()
}

/// Checks that all slots of a cluster have a master, and that all masters are connected.
async fn check_cluster(mut servers: Servers) -> Result<Connected> {
    let state: String = servers.query(cmd("CLUSTER").arg("INFO")).await?;
    ensure!(state.contains("cluster_state:ok"), "the Redis cluster is down, or some slots have no master");
    let masters = servers.masters().await?.len();
    Ok(Connected { servers, description: format!("a Redis cluster with {masters} masters") })
}

/// Lists the addresses of servers.
fn addresses(servers: &[ConnectionInfo]) -> String {
    servers.iter().map(|server| server.addr().to_string()).collect::<Vec<_>>().join(", ")
}
