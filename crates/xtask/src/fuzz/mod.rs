//! `fuzz`: requests made from the OpenAPI documents, good and bad ones, by schemathesis.
//!
//! Every check of schemathesis is on; `rules.py` checks the rules of docs/api that a schema cannot state, and
//! `schemathesis.toml` has the configuration.

mod asking;
pub mod install;
mod sample;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use self::asking::Asking;
use crate::keys::DevKeys;
use crate::token::Identity;
use crate::trial::Trial;
use crate::workspace;

/// Whom the requests are for.
const ORG: &str = "penybont-farm";
/// Whose a listing is that they may report.
const NEIGHBOUR: &str = "cwm-farm";

/// Asks every service all that its document allows, and much that it does not.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let program = install::find(trial.stop)?;
    over(trial, &program, "SQLite", |_| Ok(None))?;
    if trial.short {
        return Ok(());
    }
    over(trial, &program, "PostgreSQL", |service| trial.databases.create(service).map(Some))
}

/// All three services over one kind of database, side by side.
fn over(
    trial: &Trial<'_>,
    program: &Path,
    database: &str,
    url: impl Fn(&str) -> Result<Option<String>>,
) -> Result<()> {
    let folder = database.to_lowercase();
    let system = trial.service("system", &folder, url("system")?, Vec::new())?;
    let files = vec![("DROVER_SERVICE__SYSTEM_URL".to_owned(), system.url(""))];
    let logistics = trial.service("logistics", &folder, url("logistics")?, files.clone())?;
    let livestock = trial.service("livestock", &folder, url("livestock")?, files)?;
    let services = [system, logistics, livestock];
    let roles = ["admin".to_owned()];
    let who = Identity {
        user: "carys",
        name: Some("Carys"),
        org: Some(ORG),
        org_name: Some("Farm"),
        roles: &roles,
    };
    let day = Duration::from_secs(24 * 3600);
    let token = who.token(&DevKeys::load_or_create(&trial.path(&folder))?, day);
    let known = sample::fill(&services, ORG, [&token, &services[2].token(Some(NEIGHBOUR))])?.to_string();

    let begun = Instant::now();
    let reports = workspace::target_dir()?.join("fuzz").join(&folder);
    let (short, seed, stop) = (trial.short, trial.seed, trial.stop);
    let asked = std::thread::scope(|scope| {
        let threads = services.each_ref().map(|service| {
            let (folder, token, known) = (reports.join(service.name), &token, &known);
            let asking =
                move || Asking { short, seed, stop, program, service, token, known, folder: &folder }.run();
            scope.spawn(asking)
        });
        threads.map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread panicked"))))
    });
    for service in &services {
        fs::write(reports.join(service.name).join("service.log"), service.log())?;
    }
    for (service, asked) in services.iter().zip(asked) {
        let what = format!("{} over {database}: requests made from its document", service.name);
        trial.note(what, asked?, "each answered as documented");
    }
    trial.note(format!("all three over {database}"), format!("{} s", begun.elapsed().as_secs()), "");
    Ok(())
}
