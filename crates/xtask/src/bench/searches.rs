//! What searches have in common: a page for each of many questions, and the SQL that finds the same documents.

use anyhow::{Context, Result, bail, ensure};

use super::limits;
use super::report::Target;
use super::stage::{Limit, Row, Stage};
use super::wrk::Requests;
use crate::service::Service;

/// So many different questions are asked in turn.
pub const QUESTIONS: usize = 300;
/// And from so many connections.
pub const CLIENTS: usize = 4;
/// So many answers are compared with what the SQL finds.
const COMPARED: usize = 40;

/// A page, and the SQL whose first column is its documents.
#[derive(Debug, Clone)]
pub struct Question {
    /// The path.
    pub path: String,
    /// The statement, in one line.
    pub sql: String,
}

/// Measures a search against its SQL and against constant bytes.
pub fn measure(
    stage: &Stage,
    service: &Service,
    name: &str,
    token: &str,
    asked: &[Question],
    target: Target,
) -> Result<()> {
    let (paths, sql): (Vec<_>, Vec<_>) = asked.iter().map(|q| (q.path.clone(), q.sql.clone())).unzip();
    let bytes = compare(stage, service, token, &paths, &sql)?;
    let requests = Requests::get(stage.path("requests"), token, &paths)?;
    let limits = vec![
        limits::sql(stage, service, &sql, CLIENTS)?,
        limits::constant(stage, bytes, &requests, CLIENTS)?,
    ];
    let run = Box::new(|| service.load(&requests, CLIENTS, stage.seconds));
    stage.measure(Row { name: name.to_owned(), service, run, limits, target })
}

/// Measures questions against constant bytes.
pub fn measure_alone(
    stage: &Stage,
    service: &Service,
    name: &str,
    token: &str,
    paths: &[String],
    target: Target,
) -> Result<()> {
    let bytes = size(service, token, paths)?;
    let requests = Requests::get(stage.path("requests"), token, paths)?;
    let limits = vec![limits::constant(stage, bytes, &requests, CLIENTS)?];
    let run = Box::new(|| service.load(&requests, CLIENTS, stage.seconds));
    stage.measure(Row { name: name.to_owned(), service, run, limits, target })
}

/// Measures compressed answers on kept connections against the same answers uncompressed.
pub fn measure_compressed(
    stage: &Stage,
    service: &Service,
    name: &str,
    token: &str,
    paths: &[String],
    target: Target,
) -> Result<()> {
    let gzip = [("Accept-Encoding", "gzip")];
    let compressed = Requests::get_with(stage.path("requests"), token, &gzip, paths)?;
    let plain = Requests::get(stage.path("requests"), token, paths)?;
    let identity = Box::new(|| service.load(&plain, CLIENTS, stage.seconds));
    let limits = vec![Limit { name: "the same, not compressed", run: identity }];
    let run = Box::new(|| service.load(&compressed, CLIENTS, stage.seconds));
    stage.measure(Row { name: name.to_owned(), service, run, limits, target })
}

/// Measures each of some questions by itself, against nothing.
pub fn measure_each(
    stage: &Stage,
    service: &Service,
    name: &str,
    asked: &[(&str, String, String)],
) -> Result<()> {
    for (kind, token, path) in asked {
        service.get(path, token)?;
        let requests = Requests::get(stage.path("requests"), token, std::slice::from_ref(path))?;
        let run = Box::new(|| service.load(&requests, CLIENTS, stage.seconds));
        stage.measure(Row {
            name: format!("{name}: {kind}"),
            service,
            run,
            limits: vec![],
            target: Target::None,
        })?;
    }
    Ok(())
}

/// How long answers to some of these are in the middle.
pub fn size(service: &Service, token: &str, paths: &[String]) -> Result<usize> {
    let some = paths.iter().take(COMPARED);
    let sizes = some.map(|path| Ok(service.get(path, token)?.bytes.len())).collect::<Result<Vec<_>>>()?;
    Ok(sizes.iter().sum::<usize>() / sizes.len().max(1))
}

/// Sees that pages and SQL have the same documents, and says how long the pages are.
fn compare(stage: &Stage, service: &Service, token: &str, paths: &[String], sql: &[String]) -> Result<usize> {
    let (mut bytes, mut rows) = (0, 0);
    let count = COMPARED.min(paths.len());
    let found = limits::documents(stage, service, &sql[..count])?;
    ensure!(found.len() == count, "{} statements of {count} were answered", found.len());
    for ((path, sql), found) in paths.iter().zip(sql).zip(&found) {
        let answer = service.get(path, token)?;
        let page = answer.json.as_array().with_context(|| format!("{path}: no array"))?;
        let ids = |ids: &mut dyn Iterator<Item = Option<&str>>| -> Vec<String> {
            ids.map(|id| id.unwrap_or("?").to_owned()).collect()
        };
        let own = ids(&mut page.iter().map(|document| document["id"].as_str()));
        let theirs = ids(&mut found.iter().map(|document| document["id"].as_str()));
        if own != theirs {
            bail!(
                "this SQL does not find what the service does: mend it in crates/xtask/src/bench\n{path}: {own:?}\n{sql}: {theirs:?}"
            );
        }
        bytes += answer.bytes.len();
        rows += own.len();
    }
    ensure!(rows > count, "the questions find next to nothing");
    Ok(bytes / count)
}
