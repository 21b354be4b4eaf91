//! A master with a replica, and sentinels that promote the replica when the master ends.

use super::{RedisProcess, WITHOUT_PERSISTENCE, free_ports, random_password};

/// The name of the master.
const MASTER: &str = "drover-cache";
/// Sentinels that must agree that the master is down.
const QUORUM: usize = 2;

/// A master, a replica and three sentinels on free ports, stopped when this is dropped. The sentinels have a password
/// of their own. They notice the end of the master within a second.
pub struct RedisSentinels {
    master: RedisProcess,
    replica: RedisProcess,
    sentinels: Vec<RedisProcess>,
    password: String,
    sentinel_password: String,
}

impl RedisSentinels {
    /// Starts the servers. Waits until the sentinels know each other and the replica.
    ///
    /// # Panics
    /// If `redis-server` cannot be run, or the servers are not ready within 20 s.
    pub fn start() -> Self {
        let (password, sentinel_password) = (random_password(), random_password());
        let ports = free_ports(5);
        let settings = format!("{WITHOUT_PERSISTENCE}masterauth {password}\n");
        let master = RedisProcess::start(ports[0], &password, &settings, &[]);
        let settings = format!("{settings}replicaof 127.0.0.1 {}\nrepl-diskless-sync-delay 0\n", master.port);
        let replica = RedisProcess::start(ports[1], &password, &settings, &[]);
        // Sentinels look for replicas when they start, and then every ten seconds.
        replica.wait_for("INFO replication", &["master_link_status:up"]);
        master.wait_for("INFO replication", &["state=online"]);
        let settings = format!(
            "sentinel monitor {MASTER} 127.0.0.1 {} {QUORUM}\nsentinel auth-pass {MASTER} {password}\n\
             sentinel down-after-milliseconds {MASTER} 800\nsentinel failover-timeout {MASTER} 3000\n",
            master.port
        );
        let start = |port: &u16| RedisProcess::start(*port, &sentinel_password, &settings, &["--sentinel"]);
        let sentinels: Vec<_> = ports[2..].iter().map(start).collect();
        for sentinel in &sentinels {
            let ready = [
                "num-slaves\r\n$1\r\n1\r\n",
                "num-other-sentinels\r\n$1\r\n2\r\n",
                "flags\r\n$6\r\nmaster\r\n",
            ];
            sentinel.wait_for(&format!("SENTINEL MASTER {MASTER}"), &ready);
        }
        Self { master, replica, sentinels, password, sentinel_password }
    }

    /// Returns the URL with the sentinels, `redis+sentinel://…`.
    pub fn url(&self) -> String {
        let hosts: Vec<_> =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!(
            "redis+sentinel://:{}@{}/{MASTER}/0?sentinel_password={}",
            self.password,
            hosts.join(","),
            self.sentinel_password
        )
    }

    /// Returns the URL of the server that is a replica until the master ends.
    pub fn replica_url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.replica.port)
    }

    /// Returns the passwords of the servers and of the sentinels.
    pub fn passwords(&self) -> [&str; 2] {
        [&self.password, &self.sentinel_password]
    }

    /// Kills the master, like a crash.
    pub fn stop_master(&mut self) {
        self.master.stop();
    }

    /// Kills the first sentinel of the URL, like a crash.
    pub fn stop_sentinel(&mut self) {
        self.sentinels[0].stop();
    }
}
