//! Private servers for tests, PostgreSQL, Redis and S3: fast, unsafe on power failure, gone afterwards.

mod debian;
mod postgres;
mod programs;
mod redis;
mod s3;
mod server;

use std::panic::resume_unwind;
use std::thread::{ScopedJoinHandle, scope};

use anyhow::Result;

pub use self::debian::{Package, install, unpack};
pub use self::postgres::Cluster;
pub use self::postgres::find as find_postgres;
pub use self::programs::{Programs, on_path, path_with};
pub use self::redis::Redis;
pub use self::s3::{Ports as S3Ports, S3};
pub use self::server::{Farewell, Server, attempt, folder};
use crate::services::Environment;
use crate::stop::Stop;

/// The variables in which tests find the servers; the third is the program of the second, for tests that stop one.
pub const ENVIRONMENT: [&str; 4] =
    ["DROVER_TEST_POSTGRES", "DROVER_TEST_REDIS", "DROVER_TEST_REDIS_SERVER", "DROVER_TEST_S3"];

/// All servers, running. Dropped, they end and their data goes.
#[derive(Debug)]
pub struct Servers {
    programs: Programs,
    postgres: Cluster,
    redis: Redis,
    s3: S3,
}

impl Servers {
    /// Starts them side by side; what is missing is installed first where that is possible.
    pub fn start(stop: &Stop) -> Result<Self> {
        let programs = Programs::provide(stop)?;
        let (postgres, redis, s3) = scope(|scope| {
            let s3 = scope.spawn(|| S3::start(&programs.weed, stop));
            let redis = scope.spawn(|| Redis::start(&programs.redis, stop));
            let postgres = Cluster::start(&programs.postgres, stop);
            (postgres, joined(redis), joined(s3))
        });
        Ok(Self { postgres: postgres?, redis: redis?, s3: s3?, programs })
    }

    /// What tests are told.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let [postgres, redis, redis_server, s3] = ENVIRONMENT;
        let program = self.programs.redis.display().to_string();
        [
            (postgres, self.postgres.url()),
            (redis, self.redis.url()),
            (redis_server, program),
            (s3, self.s3.url()),
        ]
    }

    /// How the superuser of the PostgreSQL server connects.
    pub fn postgres_url(&self) -> String {
        self.postgres.url()
    }

    /// A bucket's place, with the keys to it, as `DROVER_TEST_S3` has it.
    pub fn s3_url(&self) -> String {
        self.s3.url()
    }

    /// What services are told that keep files there ([`S3::place`]).
    pub fn s3_variables(&self) -> Environment {
        self.s3.variables()
    }

    /// How clients of Redis connect.
    pub fn redis_url(&self) -> String {
        self.redis.url()
    }

    /// The programs, for those who want servers of their own to stop.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Fails if one of them has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        self.postgres.server.check()?;
        self.redis.server.check()?;
        self.s3.server.check()
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs the servers until Ctrl-C and prints how tests are told of them.
pub fn run(stop: &Stop) -> Result<()> {
    let mut servers = Servers::start(stop)?;
    for (name, value) in servers.environment() {
        println!("export {name}='{value}'");
    }
    eprintln!("PostgreSQL, Redis and S3 are running for tests; put the lines above into the shell that runs");
    eprintln!("`cargo test`. Ctrl-C stops them and removes their data.");
    while !stop.requested() {
        servers.check()?;
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    Ok(())
}
