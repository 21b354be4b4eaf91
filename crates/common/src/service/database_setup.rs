//! The database of a service: its options and migrations.

use std::time::Duration;

use database::{Migrations, Options, StandbyOptions};
use secrecy::ExposeSecret;

use super::Service;
use crate::config::DatabaseConfig;
use crate::migrations::COMMON;

/// Returns all migrations of a service, those of the common tables first.
pub fn migrations<S: Service>() -> Vec<Migrations> {
    let mut all = vec![COMMON, S::migrations()];
    all.extend(S::library_migrations());
    all
}

/// Returns the options of the service's database.
pub(super) fn options<S: Service>(config: &DatabaseConfig) -> Options {
    Options {
        url: config.url.clone(),
        schema: S::NAME,
        pool_size: config.pool_size.max(1),
        pooler: config.pooler,
        migrate: config.migrate,
        wait_timeout: Duration::from_millis(config.wait_ms),
    }
}

/// Returns the standby for exports, if there is one.
pub(super) fn standby(config: &DatabaseConfig) -> Option<StandbyOptions> {
    (!config.read_url.expose_secret().is_empty()).then(|| StandbyOptions {
        url: config.read_url.clone(),
        max_lag: Duration::from_millis(config.read_max_lag_ms),
    })
}
