//! `faults`: databases and disks fail under traffic and recover. The services must refuse, never lie, and work again
//! without a restart. Failures of Redis, of the S3 server and of system are tested by the services' own tests.

mod databases;
mod fault;

use std::thread::scope;

use anyhow::Result;
use parking_lot::Mutex;
use testkit::market::batch_csv;
use testkit::processes::checkout::SERVICES;
use testkit::processes::http::Body;
use testkit::processes::trial::Trial;

use self::fault::Fault;
use crate::chaos::SmallDisk;
use crate::traffic::{Client, Target, WRITE_ORG, Workload};

type Part = fn(&Trial<'_>) -> Result<()>;

/// Independent parts. The short form runs them at the same time.
const PARTS: [Part; 3] = [databases::postgres, databases::citus, disks];

/// Runs all parts.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    // Says at once if this program may not mount disks.
    if SmallDisk::mount(trial, "mount-check")?.is_none() {
        trial.not_tried("disk full", "only root may mount a small disk: run this as root");
    }
    if !trial.short {
        return PARTS.into_iter().try_for_each(|part| part(trial));
    }
    let first_error = Mutex::new(None);
    scope(|scope| {
        for part in PARTS {
            let first_error = &first_error;
            scope.spawn(move || {
                if let Err(error) = part(trial) {
                    first_error.lock().get_or_insert(error);
                    trial.give_up();
                }
            });
        }
    });
    first_error.into_inner().map_or(Ok(()), Err)
}

/// Fills disks: first the one with databases, files and logs, then the one with temporary files only.
fn disks(trial: &Trial<'_>) -> Result<()> {
    let Some(disk) = SmallDisk::mount(trial, "disk")? else { return Ok(()) };
    let Some(temporary) = SmallDisk::mount(trial, "temporary")? else { return Ok(()) };
    let start = |name, folder: &str, disk: &SmallDisk| {
        let tmpdir = ("TMPDIR".to_owned(), disk.path().display().to_string());
        Target::new(trial.service(name, folder, None, vec![tmpdir])?)
    };
    let targets = SERVICES.map(|name| start(name, &format!("disk/{name}"), &disk));
    let targets = targets.into_iter().collect::<Result<Vec<_>>>()?;
    fill(trial, &disk, "disk full: database, files, log", targets.iter().collect(), &targets[1].client)?;
    drop(targets);
    // SQLite's statement journals are in this folder too: a write fails with the batch that shares its transaction.
    let target = start("logistics", "beside", &temporary)?;
    fill(trial, &temporary, "temporary folder full: batches", vec![&target], &target.client)
}

/// Fills a disk under traffic with batches. Reads need no space.
fn fill(
    trial: &Trial<'_>,
    disk: &SmallDisk,
    name: &str,
    targets: Vec<&Target>,
    logistics: &Client,
) -> Result<()> {
    let mut fault = Fault::new(trial, name, targets).refusing().unaffected(|workload| !workload.is_write());
    fault.workloads.push(batches(logistics, &format!("{}B", fault.prefix)));
    fault.run(|| disk.fill(), || disk.clear())
}

/// Batches of one load.
fn batches(client: &Client, prefix: &str) -> Workload {
    client.posts("batch", prefix, |marker| {
        let header = "reference,deliveryDateISO,organiserId,organiserName,commodityId";
        let csv = format!("{header}\r\n{marker},2026-08-01,{WRITE_ORG},Grain,1\r\n");
        ("/v1/loads/batch", Body::Form(batch_csv(csv)))
    })
}
