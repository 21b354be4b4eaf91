//! A disk without room: where a service keeps everything, its log too, and where batches wait.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::endure::Fault;
use crate::client::Body;
use crate::load::Work;
use crate::load::site::{NEW, Site};
use crate::multipart::Form;
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// Enough for a service that has little to keep.
const SIZE: &str = "size=48m";

/// Tells at once whether disks can be mounted.
pub fn look(trial: &Trial<'_>) -> Result<()> {
    if Disk::mount(trial, "look")?.is_none() {
        trial.not_tried("disk full", "only root mounts a small disk, so run this as root");
    }
    Ok(())
}

/// Everything on one small disk; then batches alone on another.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let Some(disk) = Disk::mount(trial, "disk")? else { return Ok(()) };
    let Some(other) = Disk::mount(trial, "temporary")? else { return Ok(()) };
    let temporary = |disk: &Disk| vec![("TMPDIR".to_owned(), disk.0.display().to_string())];
    let sites = SERVICES
        .map(|name| Site::new(trial.service(name, &format!("disk/{name}"), None, temporary(&disk))?));
    let sites = sites.into_iter().collect::<Result<Vec<_>>>()?;
    let fault =
        Fault { refuses: true, ..Fault::new("disk full: database, files, log", sites.iter().collect()) };
    let mut works: Vec<_> = sites.iter().flat_map(|site| site.works(&fault.run)).collect();
    works.push(batch(&sites[1], &fault.run));
    // Whoever only reads needs no room.
    for work in works.iter_mut().filter(|work| !is_write(work)) {
        work.apart = true;
    }
    Fault { works: Some(works), ..fault }.endure(trial, || disk.fill(), || disk.clear())?;
    drop(sites);

    let site = Site::new(trial.service("logistics", "beside", None, temporary(&other))?)?;
    let fault = Fault { refuses: true, ..Fault::new("temporary folder full: batches", vec![&site]) };
    let mut works = site.works(&fault.run);
    for work in &mut works {
        // What SQLite may have to undo is in that folder too: a write that shares a batch's transaction ends with it.
        work.apart = !is_write(work);
    }
    works.push(batch(&site, &fault.run));
    Fault { works: Some(works), ..fault }.endure(trial, || other.fill(), || other.clear()).map(drop)
}

fn is_write(work: &Work) -> bool {
    (work.ask)(0).mark.is_some()
}

/// A batch of one load.
fn batch(site: &Site, run: &str) -> Work {
    site.asker().write("batch", "/v1/loads/batch", &format!("{run}B"), |mark| {
        let head = "reference,deliveryDateISO,organiserId,organiserName,commodityId";
        Body::Form(Form {
            fields: Vec::new(),
            file_name: "loads.csv",
            media_type: "text/csv",
            content: format!("{head}\r\n{mark},2026-08-01,{NEW},Grain,1\r\n").into_bytes().into(),
        })
    })
}

/// A small disk of our own. Dropped, it goes.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one, which needs root. There is none for people who are not, in the short form.
    fn mount(trial: &Trial<'_>, name: &str) -> Result<Option<Self>> {
        let path = trial.path(name);
        fs::create_dir(&path).context("cannot make a folder to mount a disk at")?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&path).output();
        if mounted.as_ref().is_ok_and(|output| output.status.success()) {
            return Ok(Some(Self(path)));
        }
        let why = mounted
            .map_or_else(|e| e.to_string(), |out| String::from_utf8_lossy(&out.stderr).trim().to_owned());
        let is_ci = env::var("CI").is_ok_and(|ci| ci == "true");
        if !trial.short || is_ci || rustix::process::geteuid().is_root() {
            bail!(
                "a small disk cannot be mounted ({why}): run this as root where `mount` is allowed, in a container with \
                 CAP_SYS_ADMIN"
            );
        }
        Ok(None)
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Takes all the room that is left.
    fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler()).context("cannot begin to fill the disk")?;
        for size in [1 << 20, 1 << 12, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot make room again")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: whoever still has a file there ends in a moment.
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let path = self.0.display();
            eprintln!("a disk stays mounted at {path}: unmount it with `sudo umount -l {path}`");
        }
    }
}
