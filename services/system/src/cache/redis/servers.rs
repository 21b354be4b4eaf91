//! Established connections to Redis: to one server, or to the nodes of a cluster.

use ::redis::aio::MultiplexedConnection;
use ::redis::cluster_async::ClusterConnection;
use ::redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use ::redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, Value, cmd, from_redis_value};

/// Connections to Redis. Clones share them.
#[derive(Clone)]
pub(super) enum Servers {
    /// To one server.
    One(MultiplexedConnection),
    /// To the nodes of a cluster. It follows slots that move to other nodes, and reconnects to single nodes.
    Cluster(ClusterConnection),
}

/// A server that stores keys.
#[derive(Debug)]
pub(super) enum Master {
    /// The only server.
    Only,
    /// A master of a cluster, by its address.
    OfCluster(String, u16),
}

impl Servers {
    /// Sends a command to the server that stores its keys. All its keys must be in one slot.
    pub(super) async fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        match self {
            Self::One(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }

    /// Sends a command to a master.
    pub(super) async fn query_on<T: FromRedisValue>(
        &mut self,
        master: &Master,
        command: &Cmd,
    ) -> RedisResult<T> {
        match (self, master) {
            (Self::Cluster(connection), Master::OfCluster(host, port)) => {
                let node = SingleNodeRoutingInfo::ByAddress { host: host.clone(), port: *port };
                parse(connection.route_command(command.clone(), RoutingInfo::SingleNode(node)).await?)
            }
            (servers, _) => servers.query(command).await,
        }
    }

    /// Sends a command to all masters that are connected.
    pub(super) async fn query_masters<T: FromRedisValue>(
        &mut self,
        command: &Cmd,
    ) -> RedisResult<Vec<(Master, T)>> {
        match self {
            Self::One(connection) => Ok(vec![(Master::Only, command.query_async(connection).await?)]),
            Self::Cluster(connection) => {
                let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let responses: Vec<(String, T)> =
                    parse(connection.route_command(command.clone(), masters).await?)?;
                responses.into_iter().map(|(address, response)| Ok((master(&address)?, response))).collect()
            }
        }
    }

    /// Returns all masters.
    ///
    /// # Errors
    /// Fails if a master of the cluster is not connected.
    pub(super) async fn masters(&mut self) -> RedisResult<Vec<Master>> {
        if let Self::One(_) = self {
            return Ok(vec![Master::Only]);
        }
        // `query_masters` leaves out masters that are not connected, but the others name them.
        let slots: Vec<(Master, Vec<Vec<Value>>)> = self.query_masters(cmd("CLUSTER").arg("SLOTS")).await?;
        if slots.iter().any(|(_, ranges)| count_masters(ranges) != slots.len()) {
            let error =
                (ErrorKind::ClusterConnectionNotFound, "a master of the Redis cluster is not connected");
            return Err(error.into());
        }
        Ok(slots.into_iter().map(|(master, _)| master).collect())
    }
}

fn parse<T: FromRedisValue>(response: Value) -> RedisResult<T> {
    Ok(from_redis_value(response.extract_error()?)?)
}

/// Returns the master with this address, a host and a port.
fn master(address: &str) -> RedisResult<Master> {
    let parsed = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let error = || RedisError::from((ErrorKind::UnexpectedReturnType, "not the address of a Redis node"));
    parsed.map(|(host, port)| Master::OfCluster(host.to_owned(), port)).ok_or_else(error)
}

/// Returns the number of masters in the response of `CLUSTER SLOTS`: ranges of slots, each with the first and the last
/// slot, the master and its replicas.
fn count_masters(ranges: &[Vec<Value>]) -> usize {
    let mut masters: Vec<&Value> = Vec::new();
    for master in ranges.iter().filter_map(|range| range.get(2)) {
        if !masters.contains(&master) {
            masters.push(master);
        }
    }
    masters.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_with_several_ranges_count_once() {
        let range = |first: i64, master: &str| {
            let node = Value::Array(vec![Value::SimpleString(master.into()), Value::Int(6379)]);
            vec![Value::Int(first), Value::Int(first + 9), node.clone(), node]
        };
        assert_eq!(count_masters(&[range(0, "a"), range(10, "b"), range(20, "a")]), 2);
        assert_eq!(count_masters(&[]), 0);
    }

    #[test]
    fn addresses_may_be_ipv6() {
        let Master::OfCluster(host, port) = master("fe80::1:7000").unwrap() else { panic!() };
        assert_eq!((host.as_str(), port), ("fe80::1", 7000));
        master("cache").unwrap_err();
    }
}
