//! Full disks: first the one with databases, files and logs, then the one with temporary files only.

use anyhow::Result;
use stack::checkout::SERVICES;
use stack::http::Body;
use stack::multipart::Form;
use stack::trial::Trial;

use super::fault::Fault;
use crate::chaos::disk::SmallDisk;
use crate::traffic::{Client, Target, WRITE_ORG, Workload};

/// Reports at once if this program may not mount disks.
pub fn check_mount(trial: &Trial<'_>) -> Result<()> {
    if SmallDisk::mount(trial, "mount-check")?.is_none() {
        trial.not_tried("disk full", "only root may mount a small disk: run this as root");
    }
    Ok(())
}

/// Fills both disks, one after the other.
pub fn run(trial: &Trial<'_>) -> Result<()> {
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
    fault.run(|| disk.fill(), || disk.clear()).map(drop)
}

/// Batches of one load.
fn batches(client: &Client, prefix: &str) -> Workload {
    client.posts("batch", prefix, |marker| {
        let header = "reference,deliveryDateISO,organiserId,organiserName,commodityId";
        let csv = format!("{header}\r\n{marker},2026-08-01,{WRITE_ORG},Grain,1\r\n");
        let content = csv.into_bytes().into();
        let form = Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content };
        ("/v1/loads/batch", Body::Form(form))
    })
}
