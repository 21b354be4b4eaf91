//! `fuzz`: schemathesis generates valid and invalid requests from the OpenAPI documents and checks the responses.
//!
//! All checks of schemathesis run. `rules.py` replaces two of them to allow for rules of docs/api that a schema cannot
//! express. `schemathesis.toml` is the configuration.

mod examples;
mod schemathesis;
mod service_run;

use std::fs;
use std::thread::{ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use stack::checkout;
use stack::keys::DevKeys;
use stack::token::Identity;
use stack::trial::Trial;

use self::service_run::ServiceRun;

/// Organisation of the user who sends the requests.
const ORG: &str = "penybont-farm";
/// Organisation whose listing that user may report.
const OTHER_ORG: &str = "cwm-farm";
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);

/// Runs the trial on SQLite, and in the long form on PostgreSQL too.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    schemathesis::prepare(trial.stop)?;
    fuzz(trial, "SQLite", false)?;
    if trial.short { Ok(()) } else { fuzz(trial, "PostgreSQL", true) }
}

/// Fuzzes the three services concurrently.
fn fuzz(trial: &Trial<'_>, database: &str, is_postgres: bool) -> Result<()> {
    let folder = database.to_lowercase();
    let services = trial.stack(&trial.stack_config(&folder, is_postgres)?)?.services;
    let token = admin_of_org(&DevKeys::load_or_create(&trial.path("keys"))?);
    let other_token = services[0].token(Some(OTHER_ORG));
    let examples = examples::create(&services, ORG, &token, &other_token)?;
    let webhooks = examples::create_webhooks(&services[1..], &token)?;

    let begun = Instant::now();
    let reports = checkout::target_dir()?.join("fuzz").join(&folder);
    let results: Vec<_> = scope(|scope| {
        let start = |service| {
            let (token, reports) = (&token, &reports);
            let examples = examples::of_service(service, &examples, &webhooks);
            scope.spawn(move || ServiceRun { trial, service, token, examples, reports }.run())
        };
        let threads: Vec<_> = services.iter().map(start).collect();
        let joined = threads.into_iter().map(ScopedJoinHandle::join);
        joined.map(|result| result.unwrap_or_else(|_| Err(anyhow!("a thread panicked")))).collect()
    });
    for service in &services {
        fs::write(reports.join(service.name).join("service.log"), service.log())?;
    }
    for (service, result) in services.iter().zip(results) {
        let check = format!("{} on {database}: generated requests", service.name);
        trial.note(check, result?, "all responses as documented");
    }
    let check = format!("duration of all three on {database}");
    trial.note(check, format!("{} s", begun.elapsed().as_secs()), "-");
    Ok(())
}

/// Signs a token of an administrator who acts for [`ORG`].
fn admin_of_org(keys: &DevKeys) -> String {
    let roles = ["admin".to_owned()];
    let identity = Identity {
        user: "carys",
        name: Some("Carys"),
        org: Some(ORG),
        org_name: Some("Farm"),
        roles: &roles,
    };
    identity.token(keys, TOKEN_TTL)
}
