//! The floor: handlers of `limits` that do the least for a scenario, on a copy of the service's SQLite database.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testkit::market::loads::LARGE_ORGANISER;
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::service::ServiceProcess;

use super::limits;
use super::server::BaselineServer;
use crate::benchmark::Baseline;
use crate::documents::{COMPARED, ids};
use crate::environment::BenchEnvironment;
use crate::load::CLIENTS;
use crate::wrk::Requests;

/// Name of these baselines.
pub const FLOOR: &str = "floor";

/// Starts a floor and returns a baseline that sends it `requests`. Returns `None` on PostgreSQL.
///
/// # Errors
/// The floor finds other documents than the service.
pub fn get<'a>(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    token: &str,
    paths: &[String],
    requests: &'a Requests,
) -> Result<Option<Baseline<'a>>> {
    if env.postgres.is_some() {
        return Ok(None);
    }
    let kept = env.floor_databases.borrow().get(service.name).cloned();
    let database = match kept {
        Some(database) => database,
        None => copy(env, service)?,
    };
    env.floor_databases.borrow_mut().insert(service.name, database.clone());
    let server = BaselineServer::start(env, "limits", |_, port| {
        let mut command = limits::command(env);
        command.arg("floor-reads").arg(&database).args([&port.to_string(), LARGE_ORGANISER]);
        Ok(command)
    })?;
    let client = HttpClient::new(Duration::from_secs(60));
    for path in paths.iter().take(COMPARED) {
        let found = client.send("GET", &server.url(path), None, &Body::Empty)?;
        ensure!(found.status == 200, "the floor: {path}: {}", String::from_utf8_lossy(&found.bytes));
        let expected = service.get(path, token)?;
        let (actual, expected) = match (found.json.as_array(), expected.json.as_array()) {
            (Some(found), Some(expected)) => (ids(found).join("\n"), ids(expected).join("\n")),
            _ => (
                String::from_utf8_lossy(&found.bytes).into_owned(),
                String::from_utf8_lossy(&expected.bytes).into_owned(),
            ),
        };
        let difference = actual.lines().zip(expected.lines()).find(|(one, other)| one != other);
        ensure!(
            actual == expected,
            "the floor finds other documents than the service\n{path}: {} and {} lines, {difference:?}",
            actual.lines().count(),
            expected.lines().count()
        );
    }
    let seconds = env.seconds;
    Ok(Some(Baseline { name: FLOOR, run: Box::new(move || server.send(requests, CLIENTS, seconds)) }))
}

/// Starts a floor that creates loads and returns a baseline that sends it `requests`. Returns `None` on PostgreSQL.
pub fn create<'a>(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    requests: &'a Requests,
    clients: usize,
) -> Result<Option<Baseline<'a>>> {
    if env.postgres.is_some() {
        return Ok(None);
    }
    let database = copy(env, service)?;
    let server = BaselineServer::start(env, "limits", |_, port| {
        let mut command = limits::command(env);
        command.arg("floor-creates").arg(&database).arg(port.to_string());
        Ok(command)
    })?;
    let seconds = env.seconds;
    Ok(Some(Baseline { name: FLOOR, run: Box::new(move || server.send(requests, clients, seconds)) }))
}

/// Copies the SQLite database of a service.
pub fn copy(env: &BenchEnvironment, service: &ServiceProcess) -> Result<PathBuf> {
    let copy = env.temp_path("copy.sqlite");
    limits::output(limits::command(env).arg("sqlite-copy").arg(service.config().sqlite()).arg(&copy))
        .context("cannot copy the database")?;
    Ok(copy)
}
