//! Scenarios of logistics that write: single loads, batches.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;

use super::loads_data::batch;
use super::report::Target;
use super::sample::Sample;
use super::stage::{Limit, Row, Stage};
use super::wrk::Requests;
use super::{limits, loads_fill};
use crate::random::{Random, SEED};
use crate::service::Service;

/// So many loads of different organisers are created in turn.
const LOADS: usize = 100;
/// Rows of a batch.
const ROWS: usize = 10_000;

/// Loads one by one, by 1, 16 and 64 clients, against as many rows in a transaction.
pub fn create(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.logistics()?, Random(SEED));
    let path = "/v1/loads/organiser".to_owned();
    let bodies = (0..LOADS).map(|n| {
        let organiser = random.below(1000);
        let body = json!({
            "organiserId": format!("org-{organiser}"), "organiserName": format!("Grain {organiser}"),
            "carrierId": format!("haul-{}", random.below(200)), "carrierName": "Haulage",
            "commodityId": 1 + random.below(40), "reference": format!("NEW-{n}"),
            "deliveryDateISO": format!("2026-{:02}-{:02}", 1 + random.below(12), 1 + random.below(28)),
            "weight": 28, "weightNet": null, "files": null, "tags": ["contract"],
        });
        let file = stage.path("load.json");
        fs::write(&file, body.to_string()).map(|()| file)
    });
    let bodies = bodies.collect::<Result<Vec<_>, _>>().context("cannot write a body")?;
    let bearer = format!("Bearer {}", service.token(None));
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let requests = bodies.into_iter().map(|body| (&path, Some(body)));
    let requests = Requests::write(stage.path("requests"), &headers, "POST", requests)?;
    for (clients, share) in [(1, 0.4), (16, 0.75), (64, 0.75)] {
        stage.measure(Row {
            name: format!("create-loads, {clients} clients"),
            service,
            run: Box::new(|| service.load(&requests, clients, stage.seconds)),
            limits: vec![limits::insert(stage, service, "loads", clients, stage.seconds)?],
            target: Target::Share(stage.either(share, 0.5)),
        })?;
    }
    Ok(())
}

/// 10,000 loads as one batch, against as many rows in one transaction, or `\copy`.
pub fn import(stage: &Stage) -> Result<()> {
    let (service, mut random, mut first) = (stage.logistics()?, Random(SEED), 10_000_000);
    let admin = service.token(None);
    let run = Box::new(|| {
        first += ROWS; // the same content would be refused
        let csv = batch(&mut random, first, ROWS);
        service.timed(|| timed(|| loads_fill::import(service, &admin, csv).map(drop)))
    });
    let limit = if stage.postgres.is_some() {
        copy(stage, service)?
    } else {
        limits::insert(stage, service, "loads", ROWS, 0)?
    };
    let target = stage.either(Target::Rate(28_000.0), Target::Share(0.5));
    stage.measure(Row {
        name: format!("import of {ROWS} loads, full-text index afterwards"),
        service,
        run,
        limits: vec![limit],
        target,
    })
}

/// Rows like those that there are, as text from a file.
fn copy<'a>(stage: &'a Stage, service: &'a Service) -> Result<Limit<'a>> {
    let postgres = stage.postgres.as_ref().context("only on PostgreSQL")?;
    let (columns, new) = postgres.columns(service.name, "loads")?;
    let file = stage.path("copied");
    let run = move || {
        let file = file.display();
        let rows = format!("SELECT {new}, {columns} FROM loads LIMIT {ROWS}");
        postgres.say(service.name, &format!("\\copy ({rows}) TO '{file}'\n"))?;
        let into = format!("\\copy loads (id, created_at, {columns}) FROM '{file}'\n");
        timed(|| postgres.say(service.name, &into).map(drop))
    };
    Ok(Limit { name: "\\copy", run: Box::new(run) })
}

/// A batch, and how long it took.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<Sample> {
    let begun = Instant::now();
    work()?;
    let us = begun.elapsed().as_secs_f64() * 1e6;
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let requests = ROWS as f64;
    Ok(Sample { requests, us, p50: us, p99: us, cpu_us: None })
}
