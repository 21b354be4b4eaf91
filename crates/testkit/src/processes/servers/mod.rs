//! Private PostgreSQL, Redis and S3 servers for tests: fast, without durability, removed at the end.

mod postgres;
mod redis;
mod s3;
mod server;

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread::{ScopedJoinHandle, scope};

use anyhow::Result;

use self::postgres::CITUS_SETTINGS;
pub use self::postgres::{CitusCluster, Cluster, has_citus};
pub use self::redis::Redis;
pub use self::s3::{BUCKET, Ports as S3Ports, S3};
pub use self::server::{Server, ShutdownSignals, attempt, folder};
use crate::processes::environment::{self, Environment, TEST_CITUS_BY, TEST_CITUS_WORKER, TEST_SERVERS};
use crate::processes::interrupt::Interrupt;
use crate::processes::tools;

/// The running servers. They end and their data is removed when this is dropped.
#[derive(Debug)]
pub struct Servers {
    programs: Programs,
    postgres: Cluster,
    worker: Option<Cluster>,
    redis: Redis,
    s3: S3,
}

impl Servers {
    /// Starts all servers concurrently.
    pub fn start(stop: &Interrupt) -> Result<Self> {
        Self::start_with(&[], stop)
    }

    /// Starts all servers, PostgreSQL as a coordinator of Citus and a worker, which has the rows.
    pub fn start_with_citus(stop: &Interrupt) -> Result<Self> {
        let settings =
            [&CITUS_SETTINGS[..], &["citus.shard_count=4", "citus.enable_unsafe_triggers=on"]].concat();
        let mut servers = Self::start_with(&settings, stop)?;
        servers.worker = Some(servers.postgres.start_another(stop)?);
        Ok(servers)
    }

    fn start_with(postgres_settings: &[&'static str], stop: &Interrupt) -> Result<Self> {
        let programs = Programs::find()?;
        let (postgres, redis, s3) = scope(|scope| {
            let s3 = scope.spawn(|| S3::start(&programs.weed, stop));
            let redis = scope.spawn(|| Redis::start(&programs.redis, stop));
            let postgres = Cluster::start_with(&programs.postgres, postgres_settings, stop);
            (postgres, joined(redis), joined(s3))
        });
        Ok(Self { postgres: postgres?, worker: None, redis: redis?, s3: s3?, programs })
    }

    /// The variables for tests.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let [postgres, redis, redis_server, s3] = TEST_SERVERS;
        let program = self.programs.redis.display().to_string();
        let worker = self.worker.as_ref().map(|worker| (TEST_CITUS_WORKER, worker.url()));
        let all = [
            (postgres, self.postgres.url()),
            (redis, self.redis.url()),
            (redis_server, program),
            (s3, self.s3.url()),
        ];
        all.into_iter().chain(worker).collect()
    }

    /// URL of PostgreSQL's superuser.
    pub fn postgres_url(&self) -> String {
        self.postgres.url()
    }

    /// URL of the S3 server with key and secret, as in `DROVER_TEST_S3`.
    pub fn s3_url(&self) -> String {
        self.s3.url()
    }

    /// Variables of a service that stores files there (its URL: [`S3::place`]).
    pub fn s3_variables(&self) -> Environment {
        self.s3.variables()
    }

    /// URL of Redis.
    pub fn redis_url(&self) -> String {
        self.redis.url()
    }

    /// The programs, for trials that start their own servers.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Fails if a server has ended.
    pub fn check(&mut self) -> Result<()> {
        self.postgres.server.check()?;
        self.redis.server.check()?;
        self.s3.server.check()
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs the servers until Ctrl-C and prints the variables for tests. With `citus`, PostgreSQL has that extension. With
/// `schemas`, the tests let it place whole schemas.
pub fn run(citus: bool, schemas: bool, stop: &Interrupt) -> Result<()> {
    environment::use_memory();
    let mut servers = if citus { Servers::start_with_citus(stop)? } else { Servers::start(stop)? };
    let schemas = schemas.then(|| (TEST_CITUS_BY, "schema".to_owned()));
    for (name, value) in servers.environment().into_iter().chain(schemas) {
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

/// Paths of the servers' programs.
#[derive(Debug)]
pub struct Programs {
    /// The folder with `initdb` and `postgres`.
    pub postgres: PathBuf,
    /// `redis-server`.
    pub redis: PathBuf,
    /// `weed`, the program of SeaweedFS.
    pub weed: PathBuf,
}

impl Programs {
    /// Finds the programs.
    ///
    /// # Errors
    /// Programs are missing; the message names all of them.
    pub fn find() -> Result<Self> {
        tools::require(&tools::SERVERS)?;
        Ok(Self {
            postgres: tools::postgres_folder()?,
            redis: tools::find("redis-server")?,
            weed: tools::find("weed")?,
        })
    }
}
