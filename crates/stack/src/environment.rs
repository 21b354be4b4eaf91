//! Environment variables of services and tests.

/// Environment variables: names and values.
pub type Environment = Vec<(String, String)>;

/// Variable that names the worker of Citus, if the PostgreSQL server for tests is a coordinator.
pub const TEST_CITUS_WORKER: &str = "DROVER_TEST_CITUS_WORKER";

/// Variable that is `schema` if the tests let Citus place whole schemas instead of rows.
pub const TEST_CITUS_BY: &str = "DROVER_TEST_CITUS_BY";

/// Variables that name the servers for tests. The third is the path of redis-server, for tests that stop one.
pub const TEST_SERVERS: [&str; 4] =
    ["DROVER_TEST_POSTGRES", "DROVER_TEST_REDIS", "DROVER_TEST_REDIS_SERVER", "DROVER_TEST_S3"];

/// Names Drover's variables: `variables([("SERVER__HOST", "::1")])` sets `DROVER_SERVER__HOST`.
pub fn variables<'a>(settings: impl IntoIterator<Item = (&'a str, impl Into<String>)>) -> Environment {
    settings.into_iter().map(|(name, value)| (format!("DROVER_{name}"), value.into())).collect()
}
