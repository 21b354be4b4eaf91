//! A Redis cluster.

use super::{RedisProcess, WITHOUT_PERSISTENCE, free_ports, random_password};

/// Number of masters.
const MASTERS: usize = 3;
/// Number of slots of every cluster.
const SLOTS: usize = 16384;

/// A cluster of three masters on free ports, stopped when this is dropped. A master that ends is noticed after two
/// seconds.
pub struct RedisCluster {
    /// The masters, then the replica if there is one.
    nodes: Vec<RedisProcess>,
    password: String,
}

impl RedisCluster {
    /// Starts three masters. Waits until all slots can be used.
    ///
    /// # Panics
    /// If `redis-server` cannot be run, or the cluster is not ready within 20 s.
    pub fn start() -> Self {
        Self::start_nodes(MASTERS)
    }

    /// Starts three masters, and a replica of the first.
    ///
    /// # Panics
    /// If `redis-server` cannot be run, or the cluster is not ready within 20 s.
    pub fn start_with_replica() -> Self {
        let cluster = Self::start_nodes(MASTERS + 1);
        let (master, replica) = (&cluster.nodes[0], &cluster.nodes[MASTERS]);
        replica.send(&format!("CLUSTER REPLICATE {}", id(master)));
        replica.wait_for("INFO replication", &["role:slave", "master_link_status:up"]);
        let role = format!("{} 127.0.0.1:{}", id(replica), replica.port);
        for node in &cluster.nodes {
            node.wait_for("CLUSTER NODES", &[&role]);
            node.wait_for(&format!("CLUSTER REPLICAS {}", id(master)), &[&id(replica)]);
        }
        cluster
    }

    fn start_nodes(count: usize) -> Self {
        let password = random_password();
        let ports = free_ports(count * 2);
        let start = |ports: &[u16]| {
            let settings = format!(
                "{WITHOUT_PERSISTENCE}masterauth {password}\ncluster-enabled yes\ncluster-port {}\n\
                 cluster-node-timeout 2000\nrepl-diskless-sync-delay 0\n",
                ports[1]
            );
            RedisProcess::start(ports[0], &password, &settings, &[])
        };
        let nodes: Vec<_> = ports.chunks(2).map(start).collect();
        for (number, node) in nodes.iter().enumerate() {
            node.send(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1));
            if number < MASTERS {
                let [first, end] = [number, number + 1].map(|number| (SLOTS * number).div_ceil(MASTERS));
                node.send(&format!("CLUSTER ADDSLOTSRANGE {first} {}", end - 1));
            }
        }
        for ports in ports.chunks(2).skip(1) {
            nodes[0].send(&format!("CLUSTER MEET 127.0.0.1 {} {}", ports[0], ports[1]));
        }
        let known = format!("cluster_known_nodes:{count}");
        for node in &nodes {
            node.wait_for("CLUSTER INFO", &["cluster_state:ok", "cluster_slots_ok:16384", &known]);
        }
        Self { nodes, password }
    }

    /// Returns the URL with two of the nodes, `redis+cluster://…`.
    pub fn url(&self) -> String {
        let [first, second] = [0, 1].map(|node: usize| self.nodes[node].port);
        format!("redis+cluster://:{}@127.0.0.1:{first},127.0.0.1:{second}", self.password)
    }

    /// Returns the URL of each node.
    pub fn node_urls(&self) -> Vec<String> {
        let url = |node: &RedisProcess| format!("redis://:{}@127.0.0.1:{}", self.password, node.port);
        self.nodes.iter().map(url).collect()
    }

    /// Returns the password of all nodes.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Kills the first master, like a crash. A replica becomes a master.
    pub fn stop_first_master(&mut self) {
        self.nodes[0].stop();
    }

    /// Moves the slot of a key to the first master that does not have it. The slot must be empty.
    ///
    /// # Panics
    /// If a node refuses.
    pub fn move_slot_of(&self, key: &str) {
        let reply = self.nodes[0].send(&format!("CLUSTER KEYSLOT {key}"));
        let slot = reply.lines().find_map(|line| line.strip_prefix(':')).unwrap().to_owned();
        let owner = slot.parse::<usize>().unwrap() * MASTERS / SLOTS;
        let target = usize::from(owner == 0);
        let [from, to] = [owner, target].map(|node| (&self.nodes[node], id(&self.nodes[node])));
        to.0.send(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", from.1));
        from.0.send(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", to.1));
        for node in [to.0, from.0] {
            node.send(&format!("CLUSTER SETSLOT {slot} NODE {}", to.1));
        }
    }
}

/// Returns the id of a node.
fn id(node: &RedisProcess) -> String {
    let reply = node.send("CLUSTER MYID");
    reply.lines().find(|line| line.len() == 40).unwrap().to_owned()
}
