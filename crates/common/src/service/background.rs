//! Background tasks of every service.

use std::time::Duration;

use actix_web::web::Data;
use database::Database;
use tokio::task::JoinSet;

use super::{Service, ServiceContext};
use crate::extract::idempotency;
use crate::middleware::rate_limit::RateLimiter;
use crate::settings::RuntimeSettings;
use crate::telemetry::recorder;

/// How often expired idempotency keys are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);

/// Spawns the tasks. They are aborted when the set is dropped.
pub(super) fn spawn<S: Service>(
    service: Data<S>,
    settings: Data<RuntimeSettings>,
    limiter: Data<RateLimiter>,
    context: &ServiceContext,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(RuntimeSettings::watch(settings));
    tasks.spawn(S::background(service));
    tasks.spawn(async move { limiter.run_cleanup().await });
    tasks.spawn(prune_idempotency_keys(context.db.clone()));
    let verifier = context.verifier.clone();
    tasks.spawn(async move { verifier.fetch_first_keys().await });
    tasks.spawn(recorder::run_upkeep());
    tasks
}

async fn prune_idempotency_keys(db: Database) {
    loop {
        tokio::time::sleep(PRUNE_INTERVAL).await;
        if let Err(error) = db.write(idempotency::prune).await {
            tracing::warn!(error = format!("{error:?}"), "expired idempotency keys could not be removed");
        }
    }
}
