//! Redis servers: one that all tests share, and private ones that a test can stop.

mod cluster;
mod process;
mod sentinel;

pub use cluster::RedisCluster;
use process::{RedisProcess, free_ports, random_password};
pub use sentinel::RedisSentinels;

use crate::server::url_from_env;

/// Settings of a server that stores nothing on the disk.
const WITHOUT_PERSISTENCE: &str = "save \"\"\nappendonly no\n";

/// Returns the URL of the server that all tests share, `redis://:PASSWORD@HOST:PORT`. Keys must be unique to the test.
pub fn redis_url() -> String {
    url_from_env("DROVER_TEST_REDIS")
}

/// A private Redis server on a constant port, stopped when this is dropped.
pub struct Redis {
    process: RedisProcess,
    password: String,
}

impl Redis {
    /// Starts an empty server on a free port.
    ///
    /// # Panics
    /// If `redis-server` cannot be run or does not answer within 20 s.
    pub fn start() -> Self {
        let password = random_password();
        let process = RedisProcess::start(free_ports(1)[0], &password, WITHOUT_PERSISTENCE, &[]);
        Self { process, password }
    }

    /// Returns the URL of the server, whether it runs or not.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.process.port)
    }

    /// Kills the server, like a crash: connections break and all data is lost.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Restarts the server on the same port, without data.
    pub fn restart(&mut self) {
        self.process.restart();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn stops_restarts_and_exits_on_drop() {
        let mut redis = Redis::start();
        assert!(redis.process.answers());
        redis.stop();
        assert!(!redis.process.answers());
        redis.restart();
        assert!(redis.process.answers());
        let port = redis.process.port;
        drop(redis);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}
